"""Reads what documents say: jobs, policies and facts about tables, each checked as the API server would."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

from pydantic import ValidationError

from sluice.api import names
from sluice.api.job import DeltaWriteJobSpec
from sluice.api.policy import DeltaTablePolicySpec
from sluice.api.problems import Place, problems_of
from sluice.footprint import NotUnderstoodError, Texts, texts_of
from sluice.offline.given_names import why_no_name
from sluice.offline.manifests import Document, Documents, Trouble
from sluice.tables import Policy
from sluice.templates import problems_in, settings_in

_KINDS = (names.JOB_KIND, names.POLICY_KIND)


@dataclass(frozen=True, eq=False)
class Job:
    name: str
    """The name, with its namespace if the manifest says one."""
    place: str
    spec: DeltaWriteJobSpec

    @property
    def namespace(self) -> str:
        return self.name.rpartition("/")[0]

    line_of: Callable[[Place], int | None] = field(default=lambda _: None, compare=False)
    """Finds the line of its file in which a field of the spec stands."""

    @cached_property
    def conf(self) -> dict[str, str]:
        """Spark's settings that it says itself. Raises NotUnderstoodError if its application's template is refused."""
        return settings_of(self.spec, self.line_of)

    @cached_property
    def texts(self) -> Texts:
        """Its texts, cut and read once however often it is judged. Raises NotUnderstoodError, with the place in the job."""
        return texts_of(self.spec)


def settings_of(
    spec: DeltaWriteJobSpec, line_of: Callable[[Place], int | None] = lambda _: None
) -> dict[str, str]:
    if spec.application is None:
        return dict(spec.runtime.spark_conf or {}) if spec.runtime is not None else {}
    problems = problems_in(spec.application, lambda place: line_of(("application", "template", *place)))
    if problems:
        raise NotUnderstoodError(*problems)
    return settings_in(spec.application)


@dataclass
class Manifests:
    jobs: list[Job] = field(default_factory=list)
    policies: list[tuple[Policy, str]] = field(default_factory=list)
    """Policies, each with its place."""
    facts: list[Document] = field(default_factory=list)
    """Documents without a kind that have a schema: facts about a table."""
    troubles: list[Trouble] = field(default_factory=list)


def manifests_of(documents: Documents) -> Manifests:
    found = Manifests(troubles=list(documents.troubles))
    places: dict[tuple[str, str], str] = {}
    for document in documents.found:
        kind = document.body.get("kind")
        if kind is None and "schema" in document.body:
            found.facts.append(document)
        elif kind in _KINDS and _is_ours(document, found.troubles):
            _keep(document, kind, places, found)
        elif kind is None and ("spec" in document.body or "apiVersion" in document.body):
            found.troubles.append(Trouble(document.place, f"has no kind: set it to {' or '.join(_KINDS)}"))
        elif kind not in _KINDS and str(document.body.get("apiVersion")).startswith(f"{names.GROUP}/"):
            found.troubles.append(
                Trouble(document.place, f"there is no kind {kind}: use {' or '.join(_KINDS)}")
            )
    return found


def _is_ours(document: Document, troubles: list[Trouble]) -> bool:
    version = document.body.get("apiVersion", names.API_VERSION)
    if version == names.API_VERSION:
        return True
    if str(version).startswith(f"{names.GROUP}/"):
        troubles.append(
            Trouble(document.place, f"apiVersion {version} is not known here: use {names.API_VERSION}")
        )
    return False


def _keep(document: Document, kind: str, places: dict[tuple[str, str], str], found: Manifests) -> None:
    name = _name(document)
    if (kind, name) in places:
        first = places[kind, name]
        found.troubles.append(
            Trouble(document.place, f"{kind} {name} is already in {first}: rename one; this one is left out")
        )
        return
    places[kind, name] = document.place
    if (why := why_no_name(document)) is not None:  # it is answered all the same
        found.troubles.append(Trouble(document.place, why))
    spec = document.body.get("spec")

    def line_of(place: Place) -> int | None:
        return document.line_of(("spec", *place))

    try:
        if kind == names.JOB_KIND:
            found.jobs.append(Job(name, document.place, DeltaWriteJobSpec.model_validate(spec), line_of))
        else:
            found.policies.append((_policy(document, spec), document.place))
    except ValidationError as error:
        model = DeltaWriteJobSpec if kind == names.JOB_KIND else DeltaTablePolicySpec
        why = problems_of(error, of=model, line_of=line_of)
        found.troubles.append(Trouble(document.place, f"{name}: {why}"))


def _policy(document: Document, spec: object) -> Policy:
    metadata = _metadata(document)
    created = metadata.get("creationTimestamp")
    if isinstance(created, datetime):  # YAML reads it as one where it stands without quotes
        created = f"{created:%Y-%m-%dT%H:%M:%SZ}"
    return Policy(
        _own_name(document),
        str(metadata.get("namespace") or ""),
        DeltaTablePolicySpec.model_validate(spec),
        None if created is None else str(created),
    )


def _name(document: Document) -> str:
    namespace = _metadata(document).get("namespace")
    return f"{namespace}/{_own_name(document)}" if namespace else _own_name(document)


def _own_name(document: Document) -> str:
    """The document's own name. Jobs that get their name when they are created are told apart by their place."""
    metadata = _metadata(document)
    return str(metadata.get("name") or f"{metadata.get('generateName', '')}({document.place})")


def _metadata(document: Document) -> dict[str, Any]:
    metadata = document.body.get("metadata")
    return metadata if isinstance(metadata, dict) else {}
