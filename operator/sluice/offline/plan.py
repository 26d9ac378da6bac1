"""Compares all jobs of some folders with each other: who is in whose way, who can run together, and what would help most."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sluice.api.manifests import ManifestError
from sluice.conflicts import Level
from sluice.offline.assumptions import Assumption
from sluice.offline.checkpoint_conflicts import CheckpointConflict, who_share_one
from sluice.offline.graph import Widest, widest_set
from sluice.offline.improvements import Edge, Improvement, savings_of
from sluice.offline.pair_verdicts import edges_between
from sluice.offline.pairs import Understood, assumptions_about_stores
from sluice.offline.stream_starvation import Starvation, waits_for_ever
from sluice.offline.workspace import Workspace
from sluice.templates import NO_ENTRIES, Permissions, asks_of

UNNAMED = "default"
"""The namespace of a job that says none."""


@dataclass(frozen=True)
class Plan:
    jobs: tuple[Understood, ...]
    edges: tuple[Edge, ...]
    widest: Widest
    savings: tuple[Improvement, ...]
    untried: int
    """The pairs of which it isn't known whether more would help: there were too many."""
    endless: tuple[Starvation, ...]
    """Who would wait for ever."""
    refused: tuple[CheckpointConflict, ...]
    """Who would be refused."""
    assumptions: tuple[Assumption, ...]
    troubles: tuple[ManifestError, ...]
    by_default_refused: tuple[str, ...] = ()
    """Whom an operator would refuse whose configuration permits nothing more. It isn't known whether this one's does."""

    @property
    def worst(self) -> Level:
        return max((edge.level for edge in self.edges), default=Level.NEVER)

    @property
    def warnings(self) -> tuple[str, ...]:
        of_jobs = (f"{job.name}: {warning}" for job in self.jobs for warning in job.warnings)
        return (*of_jobs, *self.by_default_refused)

    @property
    def pairs(self) -> int:
        return len(self.jobs) * (len(self.jobs) - 1) // 2


def planned(workspace: Workspace, permissions: Permissions | None = None) -> Plan:
    """`permissions`: what the operator's configuration lets jobs ask for; None: it isn't known."""
    jobs = tuple(workspace.jobs)
    edges = tuple(edges_between(jobs))
    widest = widest_set(len(jobs), [(edge.first, edge.second) for edge in edges])
    savings = savings_of(jobs, edges, workspace.knowledge)
    stores = assumptions_about_stores((jobs[edge.first], jobs[edge.second], edge.pair) for edge in edges)
    assumptions = (*workspace.assumptions, *stores)
    endless = [one for edge in edges for one in waits_for_ever(jobs[edge.first], jobs[edge.second])]
    refused = tuple(who_share_one(jobs))
    return Plan(
        jobs,
        edges,
        widest,
        tuple(savings.found),
        len(savings.untried),
        tuple(endless),
        refused,
        assumptions,
        (*workspace.troubles, *(() if permissions is None else _not_permitted(jobs, permissions))),
        tuple(_refused_by_default(jobs)) if permissions is None else (),
    )


def _not_permitted(jobs: Iterable[Understood], permissions: Permissions) -> Iterator[ManifestError]:
    for one in jobs:
        why = permissions.why_not(one.job.namespace or UNNAMED, asks_of(one.job.spec))
        if why is not None:
            yield ManifestError(one.job.place, f"{one.name}: {why}")


def _refused_by_default(jobs: Iterable[Understood]) -> Iterator[str]:
    for one in jobs:
        refused = NO_ENTRIES.refused(one.job.namespace or UNNAMED, asks_of(one.job.spec))
        if refused is not None:
            yield (
                f"{one.name}: the operator refuses {refused}, unless its configuration (jobPermissions) permits it: name that by "
                "--config"
            )
