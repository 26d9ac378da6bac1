"""What earlier attempts of a run have done, as the tables' logs tell: stamps prove, and nothing else does.

A statement is done if its stamp, or that of a later statement of the run, is in any target's log: a DELETE that matched
nothing leaves no trace, and to run it again after the INSERT that followed it would destroy data. A txn version without its
stamp proves nothing, because a log is cleaned up in time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sluice_runner import txn
from sluice_runner.commits import Commit
from sluice_runner.plan import Plan
from sluice_runner.stamp import Stamp, parsed

_WHOLE = frozenset(
    {
        "ADD COLUMNS",
        "ADD CONSTRAINT",
        "CHANGE COLUMN",
        "CHANGE COLUMNS",
        "CLONE",
        "CLUSTER BY",
        "CONVERT",
        "CREATE OR REPLACE TABLE",
        "CREATE OR REPLACE TABLE AS SELECT",
        "CREATE TABLE",
        "CREATE TABLE AS SELECT",
        "DELETE",
        "DROP COLUMNS",
        "DROP CONSTRAINT",
        "MERGE",
        "RENAME COLUMN",
        "REPLACE COLUMNS",
        "REPLACE TABLE",
        "REPLACE TABLE AS SELECT",
        "RESTORE",
        "SET TBLPROPERTIES",
        "TRUNCATE",
        "UNSET TBLPROPERTIES",
        "UPDATE",
        "WRITE",
    }
)
"""Operations of which a commit is the statement's last or only one, so that its stamp proves the statement done. Any other may
be a part of one (OPTIMIZE in batches, the protocol's upgrade before a property is set), or follow another statement's commit
and bear its stamp (auto-compaction): then the statement runs again."""


class RunKeyReused(Exception):  # noqa: N818 - the name under which the job's status knows it
    """Another spec has run under this run key."""


class HistoryLost(Exception):  # noqa: N818 - the name under which the job's status knows it
    """The log no longer tells what the run has done."""


class Superseded(Exception):  # noqa: N818 - the name under which the job's status knows it
    """A later attempt has fenced this one off."""


@dataclass(frozen=True)
class TableHistory:
    """What one table's log tells."""

    location: str
    highest: int | None
    """The highest txn version of the run's appId."""
    oldest: int
    """The oldest of the table's versions whose commit is still in the log."""
    commits: Sequence[Commit]


@dataclass(frozen=True)
class Done:
    last: int = 0
    """Up to this statement all are done."""
    commits: Sequence[tuple[int, Commit]] = field(default=())
    """With the number of the statement that made each of them."""

    def of(self, statement: int) -> list[Commit]:
        return [commit for number, commit in self.commits if number == statement]


def done(plan: Plan, last_statement: int, histories: Sequence[TableHistory]) -> Done:
    last, commits, gaps = 0, [], []
    for history in histories:
        for stamp, commit in _of_run(plan, history):
            _refuse_another_spec(
                plan, stamp.spec_hash == plan.spec_hash, history, f"its version {commit.version}"
            )
            last = max(last, _proved(stamp, commit))
            commits.append((stamp.statement, commit))
        if _is_closed(plan, history):
            last = last_statement
        else:
            gaps += list(_gaps(plan, history))
    if gaps and last < last_statement:
        raise HistoryLost(
            f"nothing was run, because nobody can tell what run {plan.run_key} has done: {'; '.join(gaps)}. Look into the tables, "
            "and run what is missing under another run key"
        )
    return Done(last, commits)


def _of_run(plan: Plan, history: TableHistory) -> Iterator[tuple[Stamp, Commit]]:
    """The commits of the run's statements, whichever attempt made them."""
    for commit in history.commits:
        stamp = parsed(commit.user_metadata)
        if stamp is None or stamp.is_closing or stamp.statement == txn.FENCE:
            continue
        if (stamp.namespace, stamp.run_key) == (plan.job.namespace, plan.run_key):
            yield stamp, commit


def _proved(stamp: Stamp, commit: Commit) -> int:
    return stamp.statement if commit.operation in _WHOLE else stamp.statement - 1


def _is_closed(plan: Plan, history: TableHistory) -> bool:
    if history.highest is None or not txn.is_closing(history.highest):
        return False
    is_same = history.highest == txn.closing(plan.spec_hash)
    _refuse_another_spec(plan, is_same, history, "the closing commit")
    return True


def _refuse_another_spec(plan: Plan, is_same: bool, history: TableHistory, where: str) -> None:
    if not is_same:
        raise RunKeyReused(
            f"nothing was run, because run {plan.run_key} has run with another spec already ({where} of {history.location} is of "
            "that run): give this job a run key of its own, or the spec of that run"
        )


def _gaps(plan: Plan, history: TableHistory) -> Iterator[str]:
    """Goes back from fence to fence; each tells what it replaced, so that a gap shows. A statement's stamp ends the way:
    who ran it had read what was done before it."""
    assert plan.run is not None  # noqa: S101 - only such runs have a past
    stamps = {
        stamp.txn_version: stamp
        for stamp, commit in ((parsed(commit.user_metadata), commit) for commit in history.commits)
        if stamp is not None and commit.operation in _WHOLE
    }
    version = history.highest
    while version is not None and (plan.run.closes or txn.token(version) >= plan.run.first_token):
        stamp = stamps.get(version)
        if stamp is None:
            yield (
                f"the commit with txn version {version} under the run's id {plan.run.app_id} is no longer in the log of "
                f"{history.location}, or another writer made it under that id, which is Sluice's alone"
            )
            return
        if stamp.look is None:
            return
        if stamp.look.version + 1 < history.oldest:
            yield (
                f"the log of {history.location} begins at version {history.oldest}, and commits from version "
                f"{stamp.look.version + 1} on count"
            )
            return
        version = stamp.look.replaced
