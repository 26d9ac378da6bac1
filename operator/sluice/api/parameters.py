"""Typed parameters, which the oracle and Spark's parameterized SQL bind in the same way."""

from typing import Annotated

from pydantic import Field, Strict, StrictBool

from sluice.api.base import Model, exactly_one
from sluice.api.bounds import NOT_EMPTY, WITHIN_64_BITS, Int64
from sluice.api.validation import Checked, all_keys, matching

_TYPES = ("string", "boolean", "integer", "decimal", "double", "date", "timestamp", "timestampNtz")

_NAME = r"^[A-Za-z_][A-Za-z0-9_]{0,63}$"

# Matches calendar dates only, 0001-01-01 to 9999-12-31, with syntax that RE2 and Python share.
_YEAR = r"([1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])"
_LEAP_YEAR = (
    r"([0-9]{2}(0[48]|[2468][048]|[13579][26])|(0[48]|[2468][048]|[13579][26])00)"  # 0000 is not a year
)
_DATE = (
    rf"({_YEAR}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)"
    rf"|02-(0[1-9]|1[0-9]|2[0-8]))|{_LEAP_YEAR}-02-29)"
)
_TIME = r"([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{1,6})?"
_OFFSET = r"(Z|[+-](0[0-9]|1[0-7]):[0-5][0-9]|[+-]18:00)"

_Decimal = Annotated[
    str,
    Field(max_length=40),
    Checked(
        matching(
            r"^[+-]?[0-9]+([.][0-9]+)?$", "must be a decimal number in quotes, such as '12.50' (no exponent)"
        ),
        matching(r"^[+-]?([.]?[0-9]){1,38}$", "takes at most 38 digits, as Spark's DECIMAL does: round it"),
    ),
]
_Date = Annotated[
    str,
    Field(max_length=10),
    Checked(matching(f"^{_DATE}$", "must be a calendar date such as '2026-11-19'")),
]
_Timestamp = Annotated[
    str,
    Field(max_length=35),
    Checked(
        matching(
            f"^{_DATE}T{_TIME}{_OFFSET}$",
            "must be an instant with its UTC offset, such as '2026-11-19T08:00:00Z'",
        )
    ),
]
_TimestampNtz = Annotated[
    str,
    Field(max_length=29),
    Checked(
        matching(
            f"^{_DATE}T{_TIME}$", "must be a date and time without UTC offset, such as '2026-11-19T08:00:00'"
        )
    ),
]


class Parameter(Model):
    """A value under its type, such as {date: "2026-11-19"}."""

    string: Annotated[str, Field(max_length=1024)] | None = None
    """Text (STRING)."""
    boolean: StrictBool | None = None
    """true or false (BOOLEAN)."""
    integer: Annotated[Int64, WITHIN_64_BITS] | None = None
    """A whole number of 64 bits (BIGINT)."""
    decimal: _Decimal | None = None
    """An exact decimal number of at most 38 digits (DECIMAL), in quotes, such as "12.50"."""
    double: Annotated[float, Strict(), Field(allow_inf_nan=False)] | None = None
    """A floating-point number (DOUBLE)."""
    date: _Date | None = None
    """A date (DATE), such as "2026-11-19"."""
    timestamp: _Timestamp | None = None
    """An instant with its UTC offset (TIMESTAMP), such as "2026-11-19T08:00:00Z"."""
    timestamp_ntz: _TimestampNtz | None = None
    """A date and time without time zone (TIMESTAMP_NTZ), such as "2026-11-19T08:00:00"."""

    validations = (
        exactly_one(
            _TYPES, f"a parameter must have exactly one type: {', '.join(_TYPES[:-1])} or {_TYPES[-1]}"
        ),
    )


Parameters = Annotated[
    dict[str, Parameter],
    Field(max_length=64),
    Checked(
        NOT_EMPTY,
        all_keys(
            matching(
                _NAME,
                "a parameter's name must be a letter or '_' followed by letters, digits or '_', 64 characters at most",
            )
        ),
    ),
]
