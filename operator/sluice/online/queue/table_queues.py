"""The queue of each table, as the jobs' statuses and the tables' policies tell it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sluice.api.base import Json
from sluice.api.durations import seconds
from sluice.api.job_status import OVER, Phase
from sluice.api.policy import AGE_AFTER
from sluice.controller.cache.policy_declarations import declarations
from sluice.lifecycle.job.table_rules import ages_after, writers_at_a_time
from sluice.lifecycle.spec.yield_time import counts_from
from sluice.online.access.job_objects import (
    HOLDING,
    attempts_of,
    key_of,
    object_in,
    objects_in,
    phase_of,
    status_in,
    time_in,
    whole_number,
)
from sluice.online.queue.start_estimates import Estimates, usual_times
from sluice.tables import Declarations, TableKey, key_of_name, key_of_path

_UNLESS_CONFIGURED = timedelta(seconds=seconds(AGE_AFTER))
"""The time after which a waiting job has aged, where no policy says it. An operator may be configured to another one."""

Rank = tuple[bool, int, datetime, str]


@dataclass(frozen=True)
class Queued:
    """A waiting job."""

    body: Json
    queued_at: datetime
    counts_from: datetime
    """The same, or later where it leaves others ahead of it for longer than it takes to age."""
    priority: int
    has_aged: bool

    @property
    def rank(self) -> Rank:
        """Those that have aged go first, by age alone; the others by priority, and then by age."""
        uid = str(self.body["metadata"]["uid"])
        return not self.has_aged, 0 if self.has_aged else -self.priority, self.counts_from, uid


@dataclass
class TableQueue:
    table: str
    names: tuple[str, ...] = ()
    policy: str | None = None
    """The policy whose word counts, as namespace/name."""
    max_writers: int | None = None
    holders: list[Json] = field(default_factory=list)
    """By when their leases were granted."""
    waiters: list[Queued] = field(default_factory=list)
    """In the order of the queue."""
    aside: list[Json] = field(default_factory=list)
    """Suspended, or between two attempts: they hold no place and are in nobody's way."""


@dataclass(frozen=True)
class Queues:
    tables: tuple[TableQueue, ...]
    estimates: Estimates
    by_uid: Mapping[str, Json]
    not_judged: tuple[str, ...]
    """Jobs of which it isn't known yet which tables they touch."""
    unwatched: tuple[str, ...] = ()
    """The namespaces of such jobs that no operator watches, as far as that can be seen."""


class Policies:
    """What the policies say of tables."""

    def __init__(self, bodies: Iterable[Json]) -> None:
        self._declarations: Declarations = declarations(bodies)[0]
        self._writers = writers_at_a_time(self._declarations)

    def one_key(self, key: TableKey) -> TableKey:
        return self._declarations.names.key_of(key)

    def policy(self, key: TableKey) -> str | None:
        found = self._declarations.by_table.get(key)
        return None if found is None else found.policy

    def max_writers(self, key: TableKey) -> int | None:
        return self._writers.get(key)

    def age_after(self, keys: Iterable[TableKey]) -> timedelta:
        return ages_after(keys, self._declarations, _UNLESS_CONFIGURED)


def queues_of(jobs: Iterable[Json], policies: Policies, now: datetime, table: str | None = None) -> Queues:
    """All queues, or that of one table, by its path or its name."""
    by_uid = {str(job["metadata"]["uid"]): job for job in jobs}
    found: dict[TableKey, TableQueue] = {}
    not_judged: list[str] = []
    waiting: list[Queued] = []
    for job in by_uid.values():
        phase = phase_of(job)
        if phase in OVER:
            continue
        keys = _tables_of(job, policies)
        if not keys:
            not_judged.append(key_of(job))
        waiter = _waiter(job, keys, policies, now) if phase == Phase.WAITING.value else None
        if waiter is not None:
            waiting.append(waiter)
        for key in keys:
            queue = found.get(key) or found.setdefault(key, _queue(key, policies))
            if phase in HOLDING:
                queue.holders.append(job)
            elif waiter is not None:
                queue.waiters.append(waiter)
            else:
                queue.aside.append(job)
    for queue in found.values():
        queue.holders.sort(key=granted_at)
        queue.waiters.sort(key=lambda one: one.rank)
        queue.aside.sort(key=key_of)
    waiting.sort(key=lambda one: one.rank)
    estimates = Estimates(by_uid, (one.body for one in waiting), usual_times(by_uid.values()), now)
    shown = [(key, queue) for key, queue in found.items() if table is None or _is_meant(key, table, policies)]
    shown.sort(key=lambda one: (-len(one[1].waiters), one[1].table))
    return Queues(tuple(queue for _, queue in shown), estimates, by_uid, tuple(sorted(not_judged)))


def granted_at(job: Json) -> str:
    attempts = attempts_of(job)
    return str(attempts[-1].get("grantedAt") or "") if attempts else ""


def _queue(key: TableKey, policies: Policies) -> TableQueue:
    return TableQueue(key.text, tuple(sorted(key.bound)), policies.policy(key), policies.max_writers(key))


def _tables_of(job: Json, policies: Policies) -> tuple[TableKey, ...]:
    texts = dict.fromkeys(str(one.get("table")) for one in objects_in(status_in(job).get("footprint")))
    return tuple(dict.fromkeys(policies.one_key(TableKey.parse(text)) for text in texts))


def _waiter(job: Json, keys: tuple[TableKey, ...], policies: Policies, now: datetime) -> Queued | None:
    since = time_in(status_in(job).get("queuedAt")) or time_in(job["metadata"].get("creationTimestamp"))
    if since is None:
        return None
    priority = whole_number(object_in(job.get("spec")).get("priority")) or 0
    age = policies.age_after(keys)
    counts = counts_from(since, age, job["metadata"].get("annotations"))
    return Queued(job, since, counts, priority, now - counts >= age)


def _is_meant(key: TableKey, text: str, policies: Policies) -> bool:
    """Whether somebody who writes this means that table. A name may leave out catalog and schema, as in a session."""
    if "/" in text:
        return policies.one_key(key_of_path(text)) == key
    named = key_of_name(text)
    names = [key.text] if key.is_name else sorted(key.bound)
    return policies.one_key(named) == key or any(
        named.may_equal(TableKey(one, is_name=True)) for one in names
    )
