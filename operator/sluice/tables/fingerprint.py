"""One fingerprint for values that are equal in everything, including what `==` leaves out: in many records it leaves
out fields that don't tell one table from another but do decide verdicts."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from hashlib import blake2b
from typing import Any

_PLAIN = frozenset({str, int, bool, float, bytes, type(None)})


class NoFingerprintError(TypeError):
    """A value of a kind that is not known here."""


def fingerprint_of(value: object) -> bytes:
    text = repr(_plain(value, {}))
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=32).digest()


def _plain(value: Any, known: dict[int, object]) -> object:
    """The same value made of parts whose text tells them apart. The order of a mapping counts, because it decides
    what is reported first. `known` are objects that were met before: most appear in several places."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is tuple or kind is list:
        return tuple([one if type(one) in _PLAIN else _plain(one, known) for one in value])
    found = known.get(id(value))
    if found is None:
        found = known[id(value)] = _told(value, kind, known)
    return found


def _told(value: Any, kind: type, known: dict[int, object]) -> object:
    names = _fields(kind)
    if names is not None:
        given = getattr(value, "fingerprint", None)
        return (kind.__name__, given) if given is not None else _told_by_fields(value, kind, known)
    if isinstance(value, Enum):
        return kind.__name__, value.name
    if kind is frozenset or kind is set:
        return "set", sorted(repr(_plain(one, known)) for one in value)
    if isinstance(value, Mapping):
        return "mapping", tuple([(_plain(key, known), _plain(one, known)) for key, one in value.items()])
    raise NoFingerprintError(f"{kind.__module__}.{kind.__qualname__} has no fingerprint")


def _told_by_fields(value: Any, kind: type, known: dict[int, object]) -> object:
    """Leaves out fields that have their default, which most do."""
    told: list[object] = [kind.__name__]
    for name, default in _fields(kind) or ():
        one = getattr(value, name)
        if one is not default:
            told.append((name, one if type(one) in _PLAIN else _plain(one, known)))
    return tuple(told)


@cache
def _fields(kind: Any) -> tuple[tuple[str, object], ...] | None:
    return tuple((one.name, one.default) for one in fields(kind)) if is_dataclass(kind) else None
