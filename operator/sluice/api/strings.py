"""Strings as objects can hold them; imports no models, so that programs that only need these start soon."""

from collections.abc import Iterable
from itertools import islice


def without_surrogates(text: str) -> str:
    """Replaces lone surrogates, halves of characters, which people may write into objects and no JSON takes."""
    return text.encode("utf-8", "replace").decode("utf-8")


def first_of(texts: Iterable[str], most: int = 3) -> str:
    """The first of them, and that there are others: not how many, so that it stays as it is when there is one more."""
    found = list(islice(texts, most + 1))
    return ", ".join(found[:most]) + (" and others" if len(found) > most else "")


def shortened(text: str, maximum: int) -> str:
    return text if len(text) <= maximum else text[: maximum - 1] + "…"
