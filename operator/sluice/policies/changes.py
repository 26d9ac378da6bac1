"""The policy's fields that a job carries out, as its annotation lists them: names of properties may have commas, too."""

from collections.abc import Iterable
from urllib.parse import quote, unquote

_AS_THEY_ARE = " !\"#$&'()*+-./:;<=>?@[\\]^_`{|}~"


def listed(fields: Iterable[str]) -> str:
    return ",".join(quote(field, safe=_AS_THEY_ARE) for field in fields)


def fields_in(text: str) -> tuple[str, ...]:
    return tuple(map(unquote, text.split(","))) if text else ()
