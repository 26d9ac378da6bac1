"""Numbers of a template, which may say anything."""

from typing import Any


def count_in(given: Any) -> int:
    return given if type(given) is int and given > 0 else 1
