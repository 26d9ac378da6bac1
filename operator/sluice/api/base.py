"""What all models share: Kubernetes' spelling, no unknown fields, rules of their own."""

from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler, model_validator
from pydantic.alias_generators import to_camel
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from sluice.api.rules import CelRule, Rule, TransitionRule


class Model(BaseModel):
    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        extra="forbid",
        frozen=True,
        use_attribute_docstrings=True,
    )

    rules: ClassVar[tuple[Rule, ...]] = ()
    transitions: ClassVar[tuple[TransitionRule, ...]] = ()

    @classmethod
    def as_stored(cls, given: Any) -> Self:
        """As Kubernetes spells it. The fields' names in this code are none that anybody may write: the API server's schema,
        or another version of it, may let them through all the same."""
        return cls.model_validate(given, by_alias=True, by_name=False)

    @model_validator(mode="before")
    @classmethod
    def _null_is_left_out(cls, given: Any) -> Any:
        """As the API server reads it: `sql: null` is the same as no sql."""
        if not isinstance(given, dict) or None not in given.values():
            return given
        known = {name for field, info in cls.model_fields.items() for name in (field, info.alias)}
        return {name: value for name, value in given.items() if value is not None or name not in known}

    @model_validator(mode="after")
    def _obeys_its_rules(self) -> Self:
        for rule in self.rules:
            rule.check(self)
        return self

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        json_schema = handler(schema)
        applying: tuple[CelRule, ...] = (*cls.rules, *cls.transitions)
        validations = [rule.as_schema() for rule in applying]
        if validations:
            handler.resolve_ref_schema(json_schema)["x-kubernetes-validations"] = validations
        return json_schema


def exactly_one(names: tuple[str, ...], message: str) -> Rule:
    """Exactly one of the named fields (as Kubernetes spells them) is set."""
    cel = f"[{', '.join(f'has(self.{name})' for name in names)}].exists_one(set, set)"

    def holds(model: Model) -> bool:
        given = {
            field.alias or name
            for name, field in type(model).model_fields.items()
            if getattr(model, name) is not None
        }
        return len(given.intersection(names)) == 1

    return Rule(cel, message, holds)
