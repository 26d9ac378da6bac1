"""Texts, numbers and lists within bounds, each refused with advice.

Bounds are part of the API: the API server estimates what a CEL rule can cost from them, and a whole manifest must fit
the 256 KiB of the annotation in which kubectl keeps it.
"""

from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, Strict
from pydantic_core import PydanticCustomError

from sluice.api.strings import shortened
from sluice.api.validation import Validation, matching

NOT_BLANK = matching(r"[^\t-\r ]", "must not be empty: leave the field out or fill it in")
NOT_EMPTY = Validation(
    "size(self) > 0",
    "must not be empty: leave the field out or fill it in",
    lambda items: len(items) > 0,
)
EACH_ONCE = Validation(
    "self.all(a, self.exists_one(b, a == b))",
    "must not repeat an entry: remove the repeated one",
    lambda items: len(set(items)) == len(items),
)

Int32 = Annotated[int, Strict(), Field(json_schema_extra={"format": "int32"})]
Int64 = Annotated[int, Strict(), Field(json_schema_extra={"format": "int64"})]


def _within_64_bits(value: int) -> int:
    """Checks the range that the API server knows from the format; a bound in the schema cannot hold 2^63-1."""
    if not -(2**63) <= value < 2**63:
        raise PydanticCustomError("rule", "must be a whole number of at most 64 bits")
    return value


WITHIN_64_BITS = AfterValidator(_within_64_bits)


def cut_to(maximum: int) -> BeforeValidator:
    """Cuts what Sluice says itself to this length, because a status that can't be written helps nobody."""

    def cut(said: Any) -> Any:
        if isinstance(said, str):
            return shortened(said, maximum)
        if isinstance(said, tuple | list) and len(said) > maximum:
            return said[:maximum]
        return said

    return BeforeValidator(cut)


SHORT = 256
ShortText = Annotated[str, Field(max_length=SHORT), cut_to(SHORT)]
Text = Annotated[str, Field(max_length=2048), cut_to(2048)]


def bounded_int(minimum: int, maximum: int) -> Any:
    return Field(ge=minimum, le=maximum)
