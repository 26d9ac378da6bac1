"""Reads what each installation of a cluster claims for itself, and finds claims that cannot stand beside each other."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Self

_TYPES = {
    "cluster": str,
    "namespace": str,
    "deployment": str,
    "namespaces": list,
    "redis": str,
    "keys": str,
    "since": str,
    "version": str,
}

MOST_NAMED = 5


@dataclass(frozen=True)
class Identity:
    """An installation's identity. A cluster that was built anew has another one, even if all its objects came back."""

    cluster: str
    """The uid of the namespace kube-system."""
    namespace: str
    deployment: str

    def __str__(self) -> str:
        return f"{self.cluster}/{self.namespace}/{self.deployment}"

    @property
    def key(self) -> str:
        return claim_key(self.namespace, self.deployment)


def claim_key(namespace: str, deployment: str) -> str:
    """The key of an installation's claim. No namespace has a dot in its name."""
    return f"{namespace}.{deployment}"


@dataclass(frozen=True)
class Claim:
    identity: Identity
    namespaces: tuple[str, ...]
    """The namespaces whose jobs it runs; empty: all."""
    redis: str
    """Servers and database, without credentials."""
    keys: str
    """The prefix of its keys in Redis."""
    since: str
    version: str

    def covers(self, namespace: str) -> bool:
        return not self.namespaces or namespace in self.namespaces

    def to_json(self) -> str:
        fields = asdict(self)
        return json.dumps({**fields.pop("identity"), **fields}, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Raises ValueError if the text is not a claim."""
        fields = json.loads(text)
        if not isinstance(fields, dict) or {*fields} != {*_TYPES}:
            raise ValueError("not the fields of a claim")
        if not all(type(fields[name]) is type_ for name, type_ in _TYPES.items()):
            raise ValueError("not the types of a claim's fields")
        if not all(isinstance(name, str) for name in fields["namespaces"]):
            raise ValueError("not all of its namespaces are texts")
        try:
            "".join(_texts(fields)).encode()
        except UnicodeEncodeError as error:  # its parts are asked for, written and told
            raise ValueError("one of its texts holds half a character, which nothing can write") from error
        identity = Identity(*(fields.pop(name) for name in ("cluster", "namespace", "deployment")))
        return cls(identity, **fields | {"namespaces": tuple(fields["namespaces"])})


def _texts(fields: Mapping[str, str | list[str]]) -> Iterator[str]:
    for given in fields.values():
        yield from [given] if isinstance(given, str) else given


@dataclass(frozen=True)
class Overlap:
    """A claim that cannot stand beside the own one."""

    key: str
    other: Claim | None
    """The other claim; None if it can't be read."""
    why: str


def overlaps(own: Claim, data: Mapping[str, str]) -> list[Overlap]:
    """Compares all claims with the own claim."""
    found = []
    for key, text in sorted(data.items()):
        if key == own.identity.key:
            continue
        try:
            other = Claim.from_json(text)
        except (ValueError, RecursionError) as error:
            found.append(Overlap(key, None, f"its claim cannot be read: {error}"))
            continue
        why = _overlap(own, other)
        if other.identity.cluster == own.identity.cluster and why is not None:  # else it came with a backup
            found.append(Overlap(key, other, why))
    return found


def unclaimed(namespaces: Iterable[str], data: Mapping[str, str]) -> tuple[str, ...]:
    """Those of the namespaces that no claim covers; none if a claim can't be read."""
    try:
        claims = [Claim.from_json(text) for text in data.values()]
    except (ValueError, RecursionError):
        return ()
    return tuple(one for one in sorted(set(namespaces)) if not any(claim.covers(one) for claim in claims))


def other_claims(own_key: str, data: Mapping[str, str]) -> list[Claim]:
    """The claims of other installations of this cluster. Those of another cluster came with a backup, as far as the own claim
    tells. Raises ValueError with the entry that can't be read."""
    found = {}
    for key, text in sorted(data.items()):
        try:
            found[key] = Claim.from_json(text)
        except (ValueError, RecursionError) as error:
            if key != own_key:
                raise ValueError(f"the entry {key} cannot be read ({error})") from error
    own = found.pop(own_key, None)
    return [one for one in found.values() if own is None or one.identity.cluster == own.identity.cluster]


def claimed(own: Claim, data: Mapping[str, str], void: set[str]) -> dict[str, str]:
    """Returns all claims with the own one among them, and without the void ones."""
    since = own.since
    try:
        former = Claim.from_json(data.get(own.identity.key, ""))
    except (ValueError, RecursionError):
        pass
    else:
        since = former.since if former.identity == own.identity else since
    kept = {key: text for key, text in data.items() if key not in void}
    return kept | {
        own.identity.key: Claim(
            own.identity, own.namespaces, own.redis, own.keys, since, own.version
        ).to_json()
    }


def first_of(names: Sequence[str]) -> str:
    """The first of them in words, and how many more there are."""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"{', '.join(names[:MOST_NAMED])}{more}"


def _overlap(one: Claim, other: Claim) -> str | None:
    reasons = []
    if not one.namespaces or not other.namespaces:
        both = one.namespaces or other.namespaces
        reasons.append(f"both run the jobs of {_namespaces(both) if both else 'all namespaces'}")
    elif shared := sorted({*one.namespaces} & {*other.namespaces}):
        reasons.append(f"both run the jobs of {_namespaces(shared)}")
    if (one.redis, one.keys) == (other.redis, other.keys):
        reasons.append(f"both keep their leases in Redis {one.redis} under {one.keys}")
    return " and ".join(reasons) or None


def _namespaces(names: tuple[str, ...] | list[str]) -> str:
    return f"namespace{'s' if len(names) > 1 else ''} {first_of(names)}"
