"""The base of all models: Kubernetes' spelling, no unknown fields, and validations of their own."""

from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler, model_validator
from pydantic.alias_generators import to_camel
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from sluice.api.validation import CelValidation, TransitionValidation, Validation

Json = dict[str, Any]
"""A JSON object: what the API server sends, a log holds, or people's tools read."""


class Model(BaseModel):
    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        extra="forbid",
        frozen=True,
        use_attribute_docstrings=True,
    )

    validations: ClassVar[tuple[Validation, ...]] = ()
    transitions: ClassVar[tuple[TransitionValidation, ...]] = ()

    @classmethod
    def as_stored(cls, given: Any) -> Self:
        """Refuses the names that fields have in this code: manifests must use Kubernetes' spelling. The API server's
        schema, or another version of it, may still let them through."""
        return cls.model_validate(given, by_alias=True, by_name=False)

    @model_validator(mode="before")
    @classmethod
    def _null_is_left_out(cls, given: Any) -> Any:
        """Drops nulls, as the API server does: `sql: null` is the same as no sql."""
        if not isinstance(given, dict) or None not in given.values():
            return given
        known = {name for field, info in cls.model_fields.items() for name in (field, info.alias)}
        return {name: value for name, value in given.items() if value is not None or name not in known}

    @model_validator(mode="after")
    def _obeys_its_validations(self) -> Self:
        for validation in self.validations:
            validation.check(self)
        return self

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        json_schema = handler(schema)
        applying: tuple[CelValidation, ...] = (*cls.validations, *cls.transitions)
        if applying:
            handler.resolve_ref_schema(json_schema)["x-kubernetes-validations"] = [
                one.as_schema() for one in applying
            ]
        return json_schema


def exactly_one(names: tuple[str, ...], message: str) -> Validation:
    """Requires exactly one of the named fields (in Kubernetes' spelling) to be set."""
    cel = f"[{', '.join(f'has(self.{name})' for name in names)}].exists_one(set, set)"

    def holds(model: Model) -> bool:
        given = {
            field.alias or name
            for name, field in type(model).model_fields.items()
            if getattr(model, name) is not None
        }
        return len(given.intersection(names)) == 1

    return Validation(cel, message, holds)
