"""By which rule a commit was lost that Delta aborted: told from its exception and the two operations, and only where they leave
no other rule.

Runs commit through open-source Delta, whatever their tables' policies say of other writers, so its rules are meant.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from sluice.conflicts import oss, stores_and_runs
from sluice.conflicts.advice_texts import (
    CHANGES_APART,
    CREATE_FIRST,
    LET_IT_WAIT,
    OTHERS_OWN_TXN_APP_ID,
    OWN_CHECKPOINT,
    OWN_TXN_APP_ID,
    run_alone,
)
from sluice.conflicts.rule import Rule

_STREAM = "STREAMING UPDATE"
_OTHER_DOMAIN = "A conflicting metadata domain"
_ADDS_FEATURES = frozenset({"ADD FEATURE", "SET TBLPROPERTIES", "UPGRADE PROTOCOL", "SetTableProperties"})
"""What delta-rs, Delta and Spark call that which can add features to the protocol but removes none."""
_PROPERTIES = "TBLPROPERTIES"
_REVALIDATED = "DELTA_FEATURE_DROP_CONFLICT_REVALIDATION_FAIL"
_AN_OPERATION = re.compile(r"[A-Za-z]+( [A-Za-z]+)*")


class LostCommit(NamedTuple):
    """A commit that Delta aborted, and the one that it lost to."""

    exception: str
    error_class: str | None
    message: str
    loser: str | None
    """The operation as Delta or Spark calls it."""
    winner: str
    winners_version: int | None


class LossExplanation(NamedTuple):
    rule: str
    advice: str | None


def explained(lost: LostCommit) -> LossExplanation | None:
    """Returns the one rule that can have decided, and what to change; None if there may be several."""
    if not _AN_OPERATION.fullmatch(lost.winner):
        return None
    if (lost.error_class or "") == _REVALIDATED:
        return _by(oss.feature_dropped_under_writers, run_alone("DROP FEATURE"))
    decide = _DECIDING.get(lost.exception)
    return None if decide is None else decide(lost)


def advice_on_others(lost: LostCommit) -> str:
    """Returns what to change if no Sluice job made the commit that won."""
    if lost.exception == "ProtocolChangedException" and lost.winners_version == 0:
        return CREATE_FIRST
    if lost.exception == "ConcurrentTransactionException" and not lost.message.startswith(_OTHER_DOMAIN):
        return OTHERS_OWN_TXN_APP_ID
    return LET_IT_WAIT


def _by(rule: Rule, advice: str | None = None) -> LossExplanation:
    return LossExplanation(rule.id, advice)


def _write(lost: LostCommit) -> LossExplanation | None:
    if lost.loser not in ("RESTORE", "CLONE"):
        return None
    return _by(oss.single_attempt, run_alone(lost.loser))


def _metadata(lost: LostCommit) -> LossExplanation | None:
    advice = run_alone(lost.winner)
    return _by(
        oss.metadata_changed, f"{advice}, and {CHANGES_APART}" if _PROPERTIES in lost.winner else advice
    )


def _protocol(lost: LostCommit) -> LossExplanation | None:
    if lost.winners_version == 0:
        return _by(oss.first_commit, CREATE_FIRST)
    if lost.winner == "DROP FEATURE":
        return _by(oss.feature_removed, run_alone(lost.winner))
    if lost.winner in _ADDS_FEATURES and lost.loser in _ADDS_FEATURES:
        return _by(oss.two_protocols, CHANGES_APART)
    return None


def _transaction(lost: LostCommit) -> LossExplanation | None:
    if lost.message.startswith(_OTHER_DOMAIN):
        return _by(oss.same_domain)
    streams = (lost.loser == _STREAM, lost.winner == _STREAM)
    if all(streams):
        return _by(stores_and_runs.same_checkpoint, OWN_CHECKPOINT)
    if lost.loser is None or any(streams):
        return None
    return _by(oss.same_transaction_id, OWN_TXN_APP_ID)


_DECIDING: dict[str, Callable[[LostCommit], LossExplanation | None]] = {
    "ConcurrentAppendException": lambda _: _by(oss.added_files),
    "ConcurrentDeleteReadException": lambda _: _by(oss.removed_files),
    "ConcurrentDeleteDeleteException": lambda _: _by(oss.removed_twice),
    "ConcurrentTransactionException": _transaction,
    "ConcurrentWriteException": _write,
    "MetadataChangedException": _metadata,
    "ProtocolChangedException": _protocol,
}

EXCEPTIONS = tuple(_DECIDING)
"""Delta's exceptions for a commit that was lost to another one."""
