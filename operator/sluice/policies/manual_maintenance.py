"""What becomes of a person's word that maintenance is to be done now, whatever its schedule says.

The word names the kind; what follows a dot tells one word from another, so that it can be said again: vacuum, vacuum.2."""

from collections.abc import Collection
from dataclasses import dataclass

from sluice.api import names
from sluice.policies.maintenance import MaintenanceKind

ENFORCE = "enforce"
"""By which it is said that changes of the table are to be tried again: it asks for no maintenance."""
_LONGEST = 100


@dataclass(frozen=True)
class MaintenanceRequest:
    kind: MaintenanceKind
    word: str


@dataclass(frozen=True)
class NotAsked:
    """Nothing follows; it is told once."""

    word: str
    why: str


def asked_for(
    said: str | None, heeded: str | None, wanted: Collection[MaintenanceKind]
) -> MaintenanceRequest | NotAsked | None:
    """What follows from the annotation, where the policy wants these kinds; None: nothing is asked for that isn't heeded yet."""
    word = (said or "")[:_LONGEST]
    if not word or word == heeded:
        return None
    kind = word.partition(".")[0]
    if kind == ENFORCE:
        return None
    begins = f"{names.ANNOTATION_RUN}={word}: nothing is run"
    if kind not in tuple(MaintenanceKind):
        return NotAsked(
            word,
            f"{begins}, because it must begin with {' or '.join(MaintenanceKind)}, such as {MaintenanceKind.OPTIMIZE}.2",
        )
    if kind not in wanted:
        return NotAsked(
            word, f"{begins}, because the policy has no spec.maintenance.{kind}: write it, or create a job"
        )
    return MaintenanceRequest(MaintenanceKind(kind), word)


def asked_to_go_on(said: str | None) -> str | None:
    """The word by which somebody says that changes of the table are to be tried again, heeded or not."""
    word = (said or "")[:_LONGEST]
    return word if word.partition(".")[0] == ENFORCE else None
