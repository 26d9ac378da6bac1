"""Reads fields of decoded JSON and says, if one is wrong, which one and what it holds.

The runner has no validation library: it may use only what every Spark image has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, NoReturn


class PlanError(Exception):
    """The plan is not understood, so nothing of it was run."""


class Fields:
    """A JSON object whose fields must all be read once: a field that was not read is an error, because it would be
    ignored."""

    def __init__(self, value: Any, place: str) -> None:
        if not isinstance(value, dict):
            raise PlanError(f"{place}: expected an object, found {_shown(value)}")
        self._left: dict[str, Any] = dict(value)
        self._place = place

    def place(self, name: str) -> str:
        return f"{self._place}.{name}"

    def has(self, name: str) -> bool:
        return self._left.get(name) is not None

    def names(self) -> list[str]:
        return sorted(self._left)

    def text(self, name: str) -> str:
        value = self._required(name)
        if not isinstance(value, str):
            self._expected("a string", name, value)
        return value

    def day(self, name: str) -> date:
        value = self._required(name)
        try:
            return date.fromisoformat(value)
        except (TypeError, ValueError):
            self._expected("a date such as 2026-11-19", name, value)

    def optional_text(self, name: str) -> str | None:
        return self.text(name) if self._skip_null(name) else None

    def integer(self, name: str, minimum: int = -(2**63), maximum: int = 2**63 - 1) -> int:
        value = self._required(name)
        if isinstance(value, bool) or not isinstance(value, int) or not minimum <= value <= maximum:
            self._expected(f"an integer of {minimum} to {maximum}", name, value)
        return value

    def optional_integer(self, name: str, minimum: int, maximum: int) -> int | None:
        return self.integer(name, minimum, maximum) if self._skip_null(name) else None

    def boolean(self, name: str) -> bool:
        value = self._required(name)
        if not isinstance(value, bool):
            self._expected("true or false", name, value)
        return value

    def optional_boolean(self, name: str) -> bool:
        return self._skip_null(name) and self.boolean(name)

    def one_of(self, name: str, allowed: Sequence[str], default: str) -> str:
        value = self.text(name) if self._skip_null(name) else default
        if value not in allowed:
            self._expected("one of " + ", ".join(allowed), name, value)
        return value

    def object(self, name: str) -> Fields:
        return Fields(self._required(name), self.place(name))

    def objects(self, name: str) -> list[Fields]:
        value = self._required(name)
        if not isinstance(value, list) or not value:
            self._expected("a list that is not empty", name, value)
        return [Fields(item, f"{self.place(name)}[{index}]") for index, item in enumerate(value)]

    def texts(self, name: str) -> tuple[str, ...]:
        value = self._required(name)
        if not isinstance(value, list) or not value:
            self._expected("a list that is not empty", name, value)
        for index, item in enumerate(value):
            if not isinstance(item, str):
                raise PlanError(f"{self.place(name)}[{index}]: expected a string, found {_shown(item)}")
        return tuple(value)

    def optional_texts_by_name(self, name: str) -> Mapping[str, str]:
        if not self._skip_null(name):
            return {}
        value = self._mapping(name)
        for key, item in value.items():
            if not isinstance(item, str):
                raise PlanError(f"{self.place(name)}[{key!r}]: expected a string, found {_shown(item)}")
        return value

    def end(self) -> None:
        if self._left:
            unknown = ", ".join(sorted(self._left))
            raise PlanError(
                f"{self._place}: unknown field {unknown}: this runner cannot do what the operator asks for: use an "
                "image of the operator's version"
            )

    def _mapping(self, name: str) -> dict[str, Any]:
        value = self._required(name)
        if not isinstance(value, dict):
            self._expected("an object", name, value)
        return value

    def _skip_null(self, name: str) -> bool:
        """Whether the field is there; a null is treated as no field."""
        if self.has(name):
            return True
        self._left.pop(name, None)
        return False

    def _required(self, name: str) -> Any:
        if name not in self._left:
            raise PlanError(f"{self.place(name)}: is missing")
        return self._left.pop(name)

    def _expected(self, what: str, name: str, value: Any) -> NoReturn:
        raise PlanError(f"{self.place(name)}: expected {what}, found {_shown(value)}")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
