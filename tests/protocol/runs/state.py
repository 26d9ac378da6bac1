"""What there is: Delta tables with their logs, the drivers that write them, and what the operator knows of jobs.

A table's content is told by two numbers: rows that the run's own INSERTs put there, and rows of others that the
run's DELETE matches. A run's statements are DELETEs and INSERTs, each on one table.
"""

from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from protocol.design import DESIGN, Design

FENCE = 0
CLOSING = 2**62  # above every version that a statement can have

Statement = tuple[str, int]  # ("delete" | "insert" | "create" (or replace, as select), table)
Owner = tuple[int, int]  # the uid and attempt in a commit's stamp


class Version(NamedTuple):
    """The highest SetTransaction of an appId: all that is left once the log is cleaned up.

    In the log it is one number, `generation << 12 | statement`; a closing append's is CLOSING + the spec's hash.
    """

    generation: int
    statement: int


class Commit(NamedTuple):
    """A commit as its stamp tells it, as long as the log is kept."""

    run_key: str
    spec: int
    owner: Owner
    version: Version
    replaced: Version | None = None  # by a fence, as its driver saw it when it looked
    looked: int = 0  # and the table's number of commits then


class Table(NamedTuple):
    exists: bool = True
    log: tuple[Commit, ...] = ()
    removed: int = 0  # commits that the clean-up has taken from the log's beginning
    highest: tuple[tuple[str, Version], ...] = ()  # by appId
    changes: int = 0
    matching: int = 0  # rows of others that a DELETE matches
    inserted: tuple[tuple[str, int], ...] = ()  # by run key: its statements whose rows are there
    fences: tuple[tuple[str, Owner], ...] = ()  # by run key: the last fence's attempt

    def version(self, app: str) -> Version | None:
        return next((version for name, version in self.highest if name == app), None)

    @property
    def commits(self) -> int:
        return self.removed + len(self.log)

    def stamp(self, version: Version) -> Commit | None:
        return next((commit for commit in self.log if commit.version == version), None)


class Driver(NamedTuple):
    job: int
    uid: int
    attempt: int
    token: int
    app: str
    at: str = "start"
    """start | fence | fencing | read | run | commit | check | close | closing | report | dead"""
    table: int = 0
    statement: int = 0
    generation: int = 0
    done: frozenset[int] = frozenset()
    seen: Version | None = None  # of my appId: in the snapshot that the statement reads, or at a fence's look
    seen_changes: int = 0
    looked: int = 0  # at a fence's look: the table's number of commits
    lost: bool = False  # the history of a table is cut off
    succeeded: bool = False

    @property
    def owner(self) -> Owner:
        return (self.uid, self.attempt)

    @property
    def alive(self) -> bool:
        return self.at != "dead"


class Job(NamedTuple):
    uid: int
    run_key: str
    spec: int
    attempts: int = 0
    first_token: int = 0
    outcome: str = ""  # Succeeded | Failed | RunKeyReused | HistoryLost


class Budget(NamedTuple):
    deaths: int = 0
    suspicions: int = 0  # a driver that lives is thought lost
    creations: int = 0  # the same run key, once its job has ended or was deleted
    respecs: int = 0  # of those, with another spec
    foreign: int = 0
    cleanups: int = 0
    resubmissions: int = 0  # the Spark operator starts an attempt's driver twice
    backups: int = 0  # the operator's state goes back: tokens start again


NO_FAULTS = Budget()


@dataclass(frozen=True)
class Setting:
    """What one scenario allows; the actors read it, and nothing in it changes."""

    name: str
    programs: tuple[tuple[Statement, ...], ...]  # by spec
    budget: Budget = NO_FAULTS
    attempts: int = 2
    durable: bool = True  # the appId is the run key's own; else it is a slot that runs share
    keyed: bool = True  # the job names its run key, so that a job created again is the same run
    design: Design = DESIGN


class State(NamedTuple):
    tables: tuple[Table, ...]
    drivers: tuple[Driver, ...]
    jobs: tuple[Job, ...]
    tokens: int
    budget: Budget
    settled: frozenset[tuple[str, int, int]] = (
        frozenset()
    )  # (run key, spec, statement): took effect or matched nothing
    effects: frozenset[tuple[str, int, int]] = frozenset()  # of those, what took effect
    succeeded: frozenset[str] = frozenset()  # run keys
    broken: tuple[str, str] | None = None


def with_driver(s: State, at: int, driver: Driver) -> State:
    return s._replace(drivers=(*s.drivers[:at], driver, *s.drivers[at + 1 :]))


def with_table(s: State, at: int, table: Table) -> State:
    return s._replace(tables=(*s.tables[:at], table, *s.tables[at + 1 :]))


def with_job(s: State, at: int, job: Job) -> State:
    return s._replace(jobs=(*s.jobs[:at], job, *s.jobs[at + 1 :]))


def spend(s: State, **costs: int) -> State:
    return s._replace(budget=s.budget._replace(**{k: getattr(s.budget, k) - v for k, v in costs.items()}))


V = TypeVar("V")


def keyed(pairs: tuple[tuple[str, V], ...], key: str, value: V) -> tuple[tuple[str, V], ...]:
    return tuple(sorted((*(pair for pair in pairs if pair[0] != key), (key, value))))
