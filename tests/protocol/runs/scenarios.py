"""The run model under chosen faults: which statements, and what befalls them."""

from collections.abc import Iterator
from functools import cached_property

from protocol.runs import invariants
from protocol.runs.driver import Drivers
from protocol.runs.state import Budget, Job, Setting, State, Table
from protocol.runs.surroundings import Surroundings
from protocol.search import Step

DELETE, INSERT, CREATE = "delete", "insert", "create"


class Runs(Setting):
    """A model for the search: one job is there, its first attempt not started."""

    def initial(self) -> State:
        tables = 1 + max(table for program in self.programs for _, table in program)
        created = {table for program in self.programs for what, table in program if what == CREATE}
        key = "run key" if self.keyed else "uid0"
        there = tuple(Table(exists=at not in created) for at in range(tables))
        return State(there, (), (Job(0, key, 0),), 1, self.budget)

    @cached_property
    def actors(self) -> tuple[Drivers, Surroundings]:
        return Drivers(self), Surroundings(self)

    def steps(self, state: State) -> Iterator[Step]:
        for actor in self.actors:
            yield from actor.steps(state)

    def violated(self, state: State) -> tuple[str, str] | None:
        return state.broken

    def unfinished(self, state: State) -> str | None:
        return invariants.unfinished(state, untouched=state.budget == self.budget)

    def unmet(self, states: list[State]) -> str:
        return "" if any(not any(s.budget) for s in states) else "in no state have all its faults happened"


DELETE_THEN_INSERT = ((DELETE, 0), (INSERT, 0))
TWO_INSERTS = ((INSERT, 0), (INSERT, 0))
TWO_TABLES = ((INSERT, 0), (INSERT, 1))
ACROSS = ((DELETE, 0), (INSERT, 1), (INSERT, 0))
INSERT_THEN_DELETE = ((INSERT, 0), (DELETE, 1))

ZOMBIE = Runs(
    "a zombie, its first statement may match nothing",
    (DELETE_THEN_INSERT,),
    Budget(deaths=1, suspicions=1, foreign=2),  # so that a DELETE could take effect twice
)
ZOMBIE_TWO_TABLES = Runs("a zombie on two tables", (TWO_TABLES,), Budget(deaths=1, suspicions=1))
ZOMBIE_ACROSS = Runs("a zombie, three statements on two tables", (ACROSS,), Budget(suspicions=1, foreign=1))
RECREATED = Runs(
    "re-created with the same run key", (TWO_INSERTS,), Budget(suspicions=1, creations=1, deaths=1)
)
REUSED = Runs(
    "re-created with another spec",
    (TWO_INSERTS, DELETE_THEN_INSERT),
    Budget(creations=1, respecs=1, deaths=1),
)
CLEANED_UP = Runs(
    "the log is cleaned up", (INSERT_THEN_DELETE,), Budget(cleanups=1, creations=1, foreign=1, deaths=1)
)
CLEANED_UP_REUSED = Runs(
    "cleaned up, then another spec", (TWO_INSERTS, TWO_TABLES), Budget(cleanups=1, creations=1, respecs=1)
)
CLEANED_UP_ZOMBIE = Runs(
    "cleaned up under a zombie", (TWO_INSERTS,), Budget(cleanups=1, suspicions=1, deaths=1), attempts=3
)
CREATES = Runs("the table doesn't exist yet", (((CREATE, 0), (INSERT, 0)),), Budget(suspicions=1, deaths=1))
TWINS = Runs(
    "the Spark operator starts a driver twice", (DELETE_THEN_INSERT,), Budget(resubmissions=1, deaths=1)
)
BACKUP = Runs(
    "the cluster is restored from an old backup",
    (TWO_INSERTS,),
    Budget(backups=1, suspicions=1, creations=1),
    attempts=3,
)
SLOT = Runs(
    "slots: a zombie, then another run on its slot",
    (TWO_INSERTS,),
    Budget(deaths=1, suspicions=1, creations=1),
    durable=False,
    keyed=False,
)
SLOT_CLEANED_UP = Runs(
    "slots: the log is cleaned up between attempts",
    (TWO_INSERTS,),
    Budget(deaths=1, cleanups=1),
    durable=False,
    keyed=False,
)

SLOT_KEYED = Runs(
    "slots for a run key: re-created after the log is cleaned up",
    (TWO_INSERTS,),
    Budget(cleanups=1, creations=1),
    durable=False,
)

ALL = tuple(
    value for value in list(globals().values()) if isinstance(value, Runs) and value is not SLOT_KEYED
)

LONG = (
    Runs("two zombies", (DELETE_THEN_INSERT,), Budget(deaths=1, suspicions=2, foreign=2), attempts=3),
    Runs("two zombies on two tables", (ACROSS,), Budget(deaths=1, suspicions=2, foreign=1), attempts=3),
    Runs("re-created twice, a zombie", (TWO_TABLES,), Budget(suspicions=1, creations=2, deaths=1)),
    Runs(
        "re-created with either spec, a zombie, a clean-up",
        (TWO_INSERTS, DELETE_THEN_INSERT),
        Budget(suspicions=1, creations=1, respecs=1, cleanups=1),
    ),
    Runs(
        "created, re-created, cleaned up",
        (((CREATE, 0), (INSERT, 0)),),
        Budget(suspicions=1, creations=1, cleanups=1, deaths=1),
    ),
    Runs(
        "three statements, re-created, a zombie",
        (((DELETE, 0), (INSERT, 0), (DELETE, 1)),),
        Budget(suspicions=1, foreign=1, creations=1),
    ),
    Runs("a zombie, a twin, a clean-up", (TWO_TABLES,), Budget(suspicions=1, resubmissions=1, cleanups=1)),
    Runs(
        "slots: zombies and two more runs",
        (TWO_INSERTS,),
        Budget(suspicions=2, creations=2),
        attempts=3,
        durable=False,
        keyed=False,
    ),
)
