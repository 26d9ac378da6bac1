"""Puts together what policies have done, beside the acting loop of one leader."""

from collections.abc import Callable, Coroutine, Mapping
from datetime import UTC, datetime
from typing import Any

from sluice.controller.leader import Shared
from sluice.controller.policy_work.maintenance import PolicyMaintenance
from sluice.controller.policy_work.policy_jobs import PolicyJobs
from sluice.controller.policy_work.policy_reconciler import PolicyReconciler, Visit
from sluice.controller.policy_work.policy_status import PolicyStatuses
from sluice.controller.policy_work.remediation_jobs import RemediationJobs
from sluice.controller.policy_work.table_observations import TableObservations
from sluice.controller.scheduling.loop import Loop
from sluice.lifecycle.job.visible_blockers import VisibleBlockers

Work = Mapping[str, Callable[[], Coroutine[Any, Any, None]]]


def at_work(shared: Shared, looks: TableObservations, statuses: PolicyStatuses, loop: Loop) -> Work:
    """What runs as long as this replica leads, by its name."""
    jobs = PolicyJobs(shared.kube, shared.world, loop.epochs, refused=loop.guard.told)
    neighbours = VisibleBlockers.of(shared.config.shared_namespaces)
    remedies = RemediationJobs(
        world=shared.world,
        looks=looks,
        jobs=jobs,
        statuses=statuses,
        events=shared.events,
        neighbours=neighbours,
        profiles=shared.config.runtimes,
        began=datetime.now(UTC),
    )
    maintenance = PolicyMaintenance(
        world=shared.world,
        looks=looks,
        jobs=jobs,
        statuses=statuses,
        events=shared.events,
        neighbours=neighbours,
    )

    def rounds(visit: Visit, what: str) -> PolicyReconciler:
        return PolicyReconciler(
            visit,
            what,
            world=shared.world,
            looks=looks,
            leadership=shared.leadership,
            has_listed=lambda: loop.relist.listed_at is not None,
        )

    return {
        "looks": looks.run,
        "policies": statuses.run,
        "remedies": rounds(remedies.visit, "what changes its table").run,
        "maintenance": rounds(maintenance.visit, "its maintenance").run,
    }
