"""Puts together what a leader is made of: it is built anew whenever this process comes to lead, and remembers nothing from an
earlier time."""

from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from redis.asyncio import Redis

from sluice.api import names
from sluice.api.durations import seconds
from sluice.controller.applications.applications import Applications
from sluice.controller.applications.restored_applications import RestoredApplications
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.cache.full_list import FullList
from sluice.controller.execution.attempts import Attempts
from sluice.controller.execution.cleanup import Cleanup
from sluice.controller.execution.job_figures import JobFigures
from sluice.controller.execution.lease_revocation import LeaseRevocation
from sluice.controller.execution.manual_retries import ManualRetries
from sluice.controller.leadership.election import Election
from sluice.controller.leadership.epoch_policy import EpochPolicy
from sluice.controller.leadership.prerequisites import Prerequisites
from sluice.controller.lease_table.table import LeaseTable
from sluice.controller.lease_table.unexplained_leases import UnexplainedLeaseKeeper
from sluice.controller.policy_work.change_gate import ChangeGate
from sluice.controller.process.configuration import OperatorConfig
from sluice.controller.process.health import Pulse
from sluice.controller.process.metrics import Metrics, WorkDone
from sluice.controller.process.object_workers import ObjectWorkers
from sluice.controller.process.operator_conditions import OperatorConditions
from sluice.controller.process.timers import Timers
from sluice.controller.readers.name_bindings import NameBindings
from sluice.controller.readers.run_commits import RunCommits
from sluice.controller.readers.spec_reader import SpecReader
from sluice.controller.readers.table_reader import TableReader
from sluice.controller.reporting.error_isolation import ErrorIsolation
from sluice.controller.reporting.events import EventWriter
from sluice.controller.reporting.status_writer import StatusWriter
from sluice.controller.scheduling.admission import JobAdmission
from sluice.controller.scheduling.holders import Holders
from sluice.controller.scheduling.loop import Loop
from sluice.installations.reported_names import ReportedNamesMap
from sluice.installations.unexplained_leases import UnexplainedLeases
from sluice.kube.client import ApiError, Kube
from sluice.leases import ForgottenError, LeaseStore
from sluice.lifecycle.job.visible_blockers import VisibleBlockers


@dataclass(frozen=True, kw_only=True)
class Shared:
    """What the process has whether it leads or not."""

    config: OperatorConfig
    kube: Kube
    redis: "Redis"
    world: ClusterCache
    specs: SpecReader
    tables: TableReader
    logs: RunCommits
    conditions: OperatorConditions
    leadership: Election
    events: EventWriter
    metrics: Metrics
    pulse: Pulse
    surroundings: Prerequisites
    own_changes: ChangeGate


def loop_of(shared: Shared, installation: str) -> Loop:
    config, kube, world = shared.config, shared.kube, shared.world
    relist = FullList(kube, world, config.watch_namespaces or (None,))
    epochs = EpochPolicy(
        kube,
        shared.conditions,
        config.namespace,
        config.deployment,
        is_expected=config.admission_policy,
    )
    statuses = StatusWriter(kube, world, epochs, shared.events)
    events = shared.events
    applications = Applications(kube, world, epochs)
    timers = Timers()
    neighbours = VisibleBlockers.of(config.shared_namespaces)

    def refused(error: ApiError) -> None:
        if epochs.says_it_is_over(error):
            leases.mistrust(ForgottenError(f"the API server says that another leader has begun: {error}"))

    guard = ErrorIsolation(world, relist, statuses, events, timers, refused=refused)
    workers = ObjectWorkers(guard.on)
    reported = NameBindings(ReportedNamesMap(kube, config.namespace, config.deployment), world, config.owners)
    leases = LeaseTable(
        LeaseStore(shared.redis, config.deployment, installation),
        world=world,
        relist=relist,
        leadership=shared.leadership,
        statuses=statuses,
        unexplained=UnexplainedLeaseKeeper(
            UnexplainedLeases(kube, config.namespace, config.deployment),
            world=world,
            relist=relist,
            conditions=shared.conditions,
            revoke_command=partial(
                names.revoke_command, namespace=config.namespace, deployment=config.deployment
            ),
        ),
        came_back=RestoredApplications(world, applications),
        names=reported,
        redis=config.redis,
        conditions=shared.conditions,
        guard=guard,
        epochs=epochs,
    )
    leftovers = Cleanup(
        world,
        leases,
        applications,
        statuses,
        changed=shared.tables.changed,
        ttl=config.ttl_seconds_after_finished,
    )
    figures = JobFigures(shared.metrics, world, leases)
    attempts = Attempts(
        world=world,
        leases=leases,
        applications=applications,
        leftovers=leftovers,
        statuses=statuses,
        events=events,
        figures=figures,
        tables=shared.tables,
        logs=shared.logs,
        timers=timers,
        neighbours=neighbours,
    )
    admitting = JobAdmission(
        world=world,
        leases=leases,
        holders=Holders(world, leases),
        leadership=shared.leadership,
        attempts=attempts,
        applications=applications,
        workers=workers,
        statuses=statuses,
        events=events,
        specs=shared.specs,
        tables=shared.tables,
        conditions=shared.conditions,
        metrics=shared.metrics,
        figures=figures,
        timers=timers,
        surroundings=shared.surroundings,
        own_changes=shared.own_changes,
        age_after=timedelta(seconds=seconds(config.age_after)),
        neighbours=neighbours,
        permissions=config.permissions,
    )
    loop = Loop(
        world=world,
        relist=relist,
        leadership=shared.leadership,
        leases=leases,
        leftovers=leftovers,
        attempts=attempts,
        admitting=admitting,
        by_hand=ManualRetries(world, statuses, events, figures, neighbours),
        revoking=LeaseRevocation(
            world=world,
            applications=applications,
            leases=leases,
            leadership=shared.leadership,
            events=events,
            tables=shared.tables,
        ),
        names=reported,
        guard=guard,
        tables=shared.tables,
        conditions=shared.conditions,
        metrics=shared.metrics,
        pulse=shared.pulse,
        timers=timers,
        workers=workers,
        surroundings=shared.surroundings,
        epochs=epochs,
    )
    workers.serve(loop.step, loop.worker_done)
    queue = admitting.queue
    shared.metrics.count(WorkDone.JOBS_LOOKED_AT, lambda: loop.looked_at)
    shared.metrics.count(WorkDone.WAITERS_JUDGED, lambda: queue.judged)
    shared.metrics.count(WorkDone.VERDICTS_ASKED_FOR, lambda: queue.compared)
    shared.metrics.count(WorkDone.VERDICTS_WORKED_OUT, lambda: queue.worked_out)
    return loop
