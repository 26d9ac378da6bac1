"""The pod templates of a profile: what is read of them when an application is made is held against its types before anything
starts, and what would have one pod taken for another, or a driver's end go unseen, is refused. All else is the API server's to
judge."""

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    ValidationError,
)
from pydantic_core import CoreSchema, InitErrorDetails, PydanticCustomError, core_schema

from sluice.api import reserved_names
from sluice.api.base import Json, Model

DRIVER_CONTAINER = "spark-kubernetes-driver"
EXECUTOR_CONTAINER = "spark-kubernetes-executor"
RESULT_FILE = "/dev/termination-log"
"""Where the runner leaves its result: Kubernetes' own place."""

ACCOUNT_FIELDS = ("serviceAccountName", "serviceAccount")

_RESERVED = "Sluice, Spark and the Spark operator tell pods apart by it, and set it themselves: remove it"
_NAMED = "Sluice and Spark give each pod its name, in the namespace of its job: remove it"
_OWNED = "each pod belongs to the objects of its run: remove it"
_RESTARTED = "a run is over when its container has ended once: remove it"

Objects = list[Json]
Place = tuple[int | str, ...]


def problems_at(title: str, found: Sequence[tuple[Place, str, Any]]) -> ValidationError:
    """The error of several problems, each at a place of its own below the field that is being read."""
    details = [
        InitErrorDetails(type=PydanticCustomError("rule", "{why}", {"why": why}), loc=place, input=given)
        for place, why, given in found
    ]
    return ValidationError.from_exception_data(title, details)


def all_well(title: str, wrong: Callable[[Any], Iterator[tuple[Place, str, Any]]]) -> AfterValidator:
    def check(given: Any) -> Any:
        found = [] if given is None else list(wrong(given))
        if found:
            raise problems_at(title, found)
        return given

    return AfterValidator(check)


def _reserved_keys(given: dict[str, str]) -> Iterator[tuple[Place, str, Any]]:
    return (
        ((key,), _RESERVED, value) for key, value in given.items() if reserved_names.is_reserved(key, value)
    )


def _reserved_items(given: list[str]) -> Iterator[tuple[Place, str, Any]]:
    return (((at,), _RESERVED, one) for at, one in enumerate(given) if reserved_names.is_reserved(one))


def _reserved_gates(given: Objects) -> Iterator[tuple[Place, str, Any]]:
    for at, gate in enumerate(given):
        if reserved_names.is_reserved(str(gate.get("name", ""))):
            yield (at, "name"), _RESERVED, gate


def refused(why: str) -> BeforeValidator:
    def check(_given: Any) -> None:
        raise PydanticCustomError("rule", "{why}", {"why": why})

    return BeforeValidator(check)


_Named = Annotated[None, refused(_NAMED)]
_Owned = Annotated[None, refused(_OWNED)]
_NOT_RESERVED: Json = {"not": {"pattern": reserved_names.KEYS}}
Keyed = Annotated[
    dict[str, str],
    Field(json_schema_extra={"patternProperties": {reserved_names.KEYS: False}}),
    all_well("keys", _reserved_keys),
]
_Listed = Annotated[
    list[Annotated[str, Field(json_schema_extra=_NOT_RESERVED)]],
    all_well("items", _reserved_items),
]
_Gates = Annotated[
    Objects,
    Field(json_schema_extra={"items": {"type": "object", "properties": {"name": _NOT_RESERVED}}}),
    all_well("gates", _reserved_gates),
]


class Part(Model):
    model_config = ConfigDict(extra="allow")


class _Container(Part):
    model_config = ConfigDict(
        json_schema_extra={
            "required": ["name"],
            "if": {"not": {"properties": {"name": {"enum": [DRIVER_CONTAINER, EXECUTOR_CONTAINER]}}}},
            "then": {"required": ["image"]},
        }
    )

    name: Annotated[str, Field(min_length=1)] | None = None
    image: str | None = None
    env: Objects | None = None
    env_from: Objects | None = None
    volume_mounts: Objects | None = None
    resources: Json | None = None
    security_context: Json | None = None


class _Metadata(Model):
    labels: Keyed | None = None
    annotations: Keyed | None = None
    finalizers: _Listed | None = None
    name: _Named = None
    generate_name: _Named = None
    namespace: _Named = None
    owner_references: _Owned = None
    creation_timestamp: None = None
    """kubectl writes it as null."""


class _Spec(Part):
    containers: list[_Container] | None = None
    init_containers: list[_Container] | None = None
    volumes: Objects | None = None
    tolerations: Objects | None = None
    image_pull_secrets: Objects | None = None
    node_selector: dict[str, str] | None = None
    affinity: Json | None = None
    security_context: Json | None = None
    scheduling_gates: _Gates | None = None
    restart_policy: Literal["Never"] | None = None


class _Template(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: _Metadata | None = None
    spec: _Spec | None = None


def _wrong_containers(template: Json, own: str) -> Iterator[tuple[Place, str, Any]]:
    seen = set()
    for at, container in enumerate((template.get("spec") or {}).get("containers") or ()):
        name = container.get("name")
        if name is None:
            why = f"a container needs a name: {own} for Spark's own, any other for one that runs beside it"
            yield ("spec", "containers", at, "name"), why, container
        elif name in seen:
            yield ("spec", "containers", at, "name"), f"two containers are called {name}: rename one", name
        elif name == own:
            yield from (
                (("spec", "containers", at, *place), why, given)
                for place, why, given in _wrong_in_own(container)
            )
        elif not container.get("image"):
            why = f"{name} runs beside Spark's own container, and needs an image; Spark's own is called {own}: rename it"
            yield ("spec", "containers", at, "image"), why, container
        seen.add(name)


def _wrong_in_own(container: Json) -> Iterator[tuple[Place, str, Any]]:
    for field in ("restartPolicy", "restartPolicyRules"):
        if container.get(field) not in (None, "Never", []):
            yield (field,), _RESTARTED, container[field]
    file = container.get("terminationMessagePath")
    if file not in (None, RESULT_FILE):
        yield ("terminationMessagePath",), f"a run's result is read from {RESULT_FILE}: remove it", file


class _AsGiven:
    """Checked as a template, and kept as the object that was given, without the nulls that the API server would drop."""

    def __init__(self, container: str) -> None:
        self._container = container

    def __get_pydantic_core_schema__(self, _source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        def given(template: _Template) -> Json:
            plain = template.model_dump(by_alias=True, exclude_unset=True)
            found = list(_wrong_containers(plain, self._container))
            if found:
                raise problems_at("template", found)
            return plain

        return core_schema.no_info_after_validator_function(given, handler.generate_schema(_Template))


DriverPod = Annotated[Json, _AsGiven(DRIVER_CONTAINER)]
ExecutorPod = Annotated[Json, _AsGiven(EXECUTOR_CONTAINER)]
