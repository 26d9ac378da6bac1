"""Words what is wrong with a manifest for the people who wrote it."""

from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from sluice.api.error_sentences import MAPPING, kind, why

_MOST_NAMED = 20
_MOST_INSTEAD = 10
"""Of more fields than this none is named in the place of one that isn't there."""
_FOR_NOBODY = "Do not use it"

Place = tuple[int | str, ...]


def problems_of(
    error: ValidationError,
    within: str = "spec",
    *,
    most: int = 3,
    of: type[BaseModel] | None = None,
    line_of: Callable[[Place], int | None] = lambda _: None,
) -> str:
    """Lists the first few problems, each with its place. `of` is the model of the manifest; `line_of` finds a field's
    line in its file."""
    return listed(each_problem(error, within, of=of, line_of=line_of), most)


def each_problem(
    error: ValidationError,
    within: str = "spec",
    *,
    of: type[BaseModel] | None = None,
    line_of: Callable[[Place], int | None] = lambda _: None,
    counts: Callable[[ErrorDetails], bool] = lambda _: True,
) -> list[str]:
    found = (
        f"{_said_place((within, *problem['loc']), line_of(problem['loc']))}{_why(problem, of)}"
        for problem in error.errors(include_url=False)
        if counts(problem)
    )
    return list(dict.fromkeys(found))


def is_unknown_field(problem: ErrorDetails) -> bool:
    return problem["type"] == "extra_forbidden"


def listed(problems: Sequence[str], most: int) -> str:
    """The first of them on one line, and how many more there are."""
    more = f"; and {len(problems) - most} more" if len(problems) > most else ""
    return "; ".join(problems[:most]) + more


def problem_at(place: Place, line: int | None, why: str) -> str:
    return f"{_said_place(place, line)}{why}"


def _said_place(place: Place, line: int | None) -> str:
    said = ""
    for part in place:
        said += f"[{part}]" if isinstance(part, int) else f".{part}" if part != "" else ""
    if line is not None:
        return f"{said.removeprefix('.')} (line {line}): "
    return f"{said.removeprefix('.')}: " if said else ""


def _why(problem: ErrorDetails, model: type[BaseModel] | None) -> str:
    """Says what is wrong, and names the field that was probably meant, or all fields that exist."""
    if model is None:
        return why(problem)
    loc = problem["loc"]
    if problem["type"] == "model_type":
        names = _fields(_model_at(model, loc))
        if 0 < len(names) <= _MOST_NAMED:
            return f"{MAPPING}: {', '.join(names)} (given: {kind(problem['input'])})"
    if is_unknown_field(problem):
        names = _fields(_model_at(model, loc[:-1]))
        meant = get_close_matches(str(loc[-1]), names, n=1)
        if meant:
            return f"{why(problem)}; did you mean {meant[0]}?"
        if 0 < len(names) <= _MOST_INSTEAD:
            return f"{why(problem)}, only {', '.join(names)}"
    return why(problem)


def _fields(model: type[BaseModel] | None) -> list[str]:
    fields = {} if model is None else model.model_fields
    return [
        field.alias or name
        for name, field in fields.items()
        if not (field.description or "").startswith(_FOR_NOBODY)
    ]


def _model_at(model: type[BaseModel] | None, loc: Sequence[int | str]) -> type[BaseModel] | None:
    """Finds the model at a place; keys of maps and positions in lists have the model of what they hold."""
    for part in loc:
        fields = {} if model is None else {f.alias or name: f for name, f in model.model_fields.items()}
        if part in fields:
            model = next(_models(fields[str(part)].annotation), None)
    return model


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models(part)
