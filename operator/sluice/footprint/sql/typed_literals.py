"""Writes a parameter's value as a literal of SQL: nothing of it can become another part of a statement."""

from decimal import Decimal

from sluice.api.parameters import Parameter
from sluice.predicates import quoted


def typed(parameter: Parameter, *, in_partition: bool = False) -> str:
    """The literal of the parameter's own type, whatever stands around it."""
    if parameter.string is not None:
        return quoted(parameter.string)
    if parameter.boolean is not None:
        return "TRUE" if parameter.boolean else "FALSE"
    if parameter.date is not None:
        return f"DATE'{parameter.date}'"
    if parameter.timestamp is not None:
        return f"TIMESTAMP_LTZ'{parameter.timestamp}'"
    if parameter.timestamp_ntz is not None:
        return f"TIMESTAMP_NTZ'{parameter.timestamp_ntz}'"
    number = f"{_number(parameter)}{_suffix(parameter)}"
    return f"({number})" if number.startswith("-") and not in_partition else number


def bare(parameter: Parameter) -> str:
    """The value where SQL takes only a plain number or a text: LIMIT 5, VERSION AS OF 5."""
    if parameter.string is not None:
        return quoted(parameter.string)
    text = parameter.date or parameter.timestamp or parameter.timestamp_ntz
    if text is not None:
        return quoted(text)
    return typed(parameter) if parameter.boolean is not None else _number(parameter)


def _number(parameter: Parameter) -> str:
    if parameter.integer is not None:
        return str(parameter.integer)
    if parameter.decimal is not None:
        return f"{Decimal(parameter.decimal):f}"
    return repr(parameter.double)


def _suffix(parameter: Parameter) -> str:
    if parameter.integer is not None:
        return "L"
    return "BD" if parameter.decimal is not None else "D"
