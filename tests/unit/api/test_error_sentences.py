"""No sentence of pydantic's own reaches people: each kind of error that a manifest or a configuration can have is worded here."""

import math
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from typing import Any, get_args

import pytest
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, core_schema

from sluice.api.error_sentences import SENTENCES, why
from sluice.api.job import DeltaWriteJob
from sluice.api.operator_status import OperatorCondition
from sluice.api.policy import DeltaTablePolicy
from sluice.controller.process.configuration import OperatorConfig

OWN = "rule"
READ = (DeltaWriteJob, DeltaTablePolicy, OperatorConfig, OperatorCondition)
BOUNDS = {
    "max_length": "too_long",
    "min_length": "too_short",
    "ge": "greater_than_equal",
    "gt": "greater_than",
    "le": "less_than_equal",
    "lt": "less_than",
    "multiple_of": "multiple_of",
}
WHOLE = {"int_type", "int_parsing", "int_parsing_size", "int_from_float", "finite_number"}
MOMENT = {"datetime_type", "datetime_parsing", "datetime_from_date_parsing"}
RAISED: Mapping[str, set[str]] = {
    "any": set(),
    "bool": {"bool_type"},
    "datetime": MOMENT,
    "default": set(),
    "definition-ref": set(),
    "definitions": set(),
    "dict": {"dict_type"},
    "enum": {"enum"},
    "float": {"float_type", "float_parsing", "finite_number"},
    "function-after": {OWN},
    "function-before": {OWN},
    "int": WHOLE,
    "list": {"list_type"},
    "literal": {"literal_error"},
    "model": {"model_type"},
    "model-field": {"missing"},
    "model-fields": {"model_type", "extra_forbidden", "invalid_key"},
    "none": {"none_required"},
    "nullable": set(),
    "str": {"string_type", "string_unicode"},
    "tuple": {"tuple_type"},
}
"""What each part of a schema may find wrong; of pydantic's other errors none is there. A new part fails the test."""

HALF = "\ud800"
NASTY: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 2**31, 2**63, 10**5000, 1.5, -1e300, math.nan, math.inf),
    *("", " ", "x", "yes", "12", "1" * 5000, HALF, "x" * 200_000, "0000-01-01T00:00:00Z", b"\xff", b"x"),
    *([], [1], ["x"] * 300, [HALF], [None], {}, {"x": 1}, {1: 2}, {HALF: HALF}, {None: None}, {"x": [{}]}),
    *({f"key{number}": "x" for number in range(300)}, [{"x": 1}], [{1: 2}], [{}] * 300),
    *(date(2026, 11, 19), datetime(2026, 11, 19, 8), {"x"}, object()),
)
PYDANTICS = (
    "Input should",
    "Field required",
    "should have",
    "should match",
    "Extra inputs",
    "Keys should",
    "error:",
)


def parts(schema: object) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        is_part = isinstance(schema.get("type"), str)  # else it holds fields by their names
        if is_part:
            yield schema
        for name, value in schema.items():
            if not (is_part and name == "metadata"):
                yield from parts(value)
    elif isinstance(schema, list | tuple):
        for value in schema:
            yield from parts(value)


def raised_by(part: Mapping[str, Any]) -> set[str]:
    bounds = {name for limit, name in BOUNDS.items() if limit in part}
    if part["type"] == "str":
        bounds = {f"string_{name}" for name in bounds} | (
            {"string_pattern_mismatch"} if "pattern" in part else set()
        )
    assert part["type"] != "bool" or part["strict"]
    assert part["type"] != "str" or not part.get("strict")
    return RAISED[part["type"]] | bounds


def models(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for part in parts(model.__pydantic_core_schema__):
        if part["type"] == "model":
            yield part["cls"]


ALL = sorted({one for model in READ for one in models(model)}, key=lambda model: model.__name__)


@pytest.mark.parametrize("model", READ, ids=lambda model: model.__name__)
def test_each_kind_of_error_that_a_schema_can_raise_has_a_sentence(model: type[BaseModel]) -> None:
    found: set[str] = set()
    for part in parts(model.__pydantic_core_schema__):
        if part["type"] != "no-info":  # how a validator is called
            found |= raised_by(part)
    assert found - {OWN} <= set(SENTENCES)
    assert len(found) > 10


def test_there_is_no_sentence_for_what_is_no_error() -> None:
    assert set(SENTENCES) <= set(get_args(core_schema.ErrorType))


def test_whatever_is_given_is_told_in_our_words() -> None:
    seen: set[str] = set()
    for model in ALL:
        for name, field in model.model_fields.items():
            for value in NASTY:
                for problem in errors_of(model, {field.alias or name: value}):
                    seen.add(problem["type"])
                    told = why(problem)
                    assert problem["type"] in {OWN, *SENTENCES}, (model, name, problem["type"], value)
                    assert not any(words in told for words in PYDANTICS), (model, name, told)
                    assert len(told) < 700, (model, name, told)
                    told.encode()
    assert seen == {OWN, *SENTENCES}


def errors_of(model: type[BaseModel], given: dict[Any, Any]) -> list[ErrorDetails]:
    try:
        model.model_validate(given, by_alias=True, by_name=False)
    except ValidationError as error:
        return error.errors(include_url=False)
    return []
