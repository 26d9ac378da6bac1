"""Puts together what a leader is made of: it is built anew whenever this process comes to lead, and remembers nothing from an
earlier time."""

from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from redis.asyncio import Redis

from sluice.api import names
from sluice.api.durations import seconds
from sluice.controller.applications.applications import Applications
from sluice.controller.applications.restored_applications import CameBack
from sluice.controller.cache.cluster_cache import World
from sluice.controller.cache.full_list import Relist
from sluice.controller.execution.attempts import Attempts
from sluice.controller.execution.cleanup import Leftovers
from sluice.controller.execution.job_figures import Figures
from sluice.controller.execution.lease_revocation import Revoking
from sluice.controller.execution.manual_retries import ByHand
from sluice.controller.leadership.election import Leadership
from sluice.controller.leadership.epoch_policy import EpochPolicy
from sluice.controller.leadership.prerequisites import Surroundings
from sluice.controller.lease_table.table import LeaseTable
from sluice.controller.lease_table.unexplained_leases import Unexplained
from sluice.controller.policy_work.change_gate import OwnChanges
from sluice.controller.process.configuration import OperatorConfig
from sluice.controller.process.health import Pulse
from sluice.controller.process.metrics import Metrics, WorkDone
from sluice.controller.process.object_workers import Workers
from sluice.controller.process.operator_conditions import Conditions
from sluice.controller.process.timers import Timers
from sluice.controller.readers.name_bindings import NamesFromReports
from sluice.controller.readers.run_commits import RunLogs
from sluice.controller.readers.spec_reader import SpecReader
from sluice.controller.readers.table_reader import TableReader
from sluice.controller.reporting.error_isolation import Guard
from sluice.controller.reporting.events import EventWriter
from sluice.controller.reporting.status_writer import StatusWriter
from sluice.controller.scheduling.admission import Admitting
from sluice.controller.scheduling.holders import Holders
from sluice.controller.scheduling.loop import Loop
from sluice.installations.reported_names import ReportedNamesMap
from sluice.installations.unexplained_leases import UnexplainedLeases
from sluice.kube.client import ApiError, Kube
from sluice.leases import ForgottenError, LeaseStore
from sluice.lifecycle.job.visible_blockers import Neighbours


@dataclass(frozen=True, kw_only=True)
class Shared:
    """What the process has whether it leads or not."""

    config: OperatorConfig
    kube: Kube
    redis: "Redis"
    world: World
    specs: SpecReader
    tables: TableReader
    logs: RunLogs
    conditions: Conditions
    leadership: Leadership
    events: EventWriter
    metrics: Metrics
    pulse: Pulse
    surroundings: Surroundings
    own_changes: OwnChanges


def loop_of(shared: Shared, installation: str) -> Loop:
    config, kube, world = shared.config, shared.kube, shared.world
    relist = Relist(kube, world, config.watch_namespaces or (None,))
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
    neighbours = Neighbours.of(config.shared_namespaces)

    def refused(error: ApiError) -> None:
        if epochs.says_it_is_over(error):
            leases.mistrust(ForgottenError(f"the API server says that another leader has begun: {error}"))

    guard = Guard(world, relist, statuses, events, timers, refused=refused)
    workers = Workers(guard.on)
    reported = NamesFromReports(
        ReportedNamesMap(kube, config.namespace, config.deployment), world, config.owners
    )
    leases = LeaseTable(
        LeaseStore(shared.redis, config.deployment, installation),
        world=world,
        relist=relist,
        leadership=shared.leadership,
        statuses=statuses,
        unexplained=Unexplained(
            UnexplainedLeases(kube, config.namespace, config.deployment),
            world=world,
            relist=relist,
            conditions=shared.conditions,
            revoke_command=partial(
                names.revoke_command, namespace=config.namespace, deployment=config.deployment
            ),
        ),
        came_back=CameBack(world, applications),
        names=reported,
        redis=config.redis,
        conditions=shared.conditions,
        guard=guard,
        epochs=epochs,
    )
    leftovers = Leftovers(
        world,
        leases,
        applications,
        statuses,
        changed=shared.tables.changed,
        ttl=config.ttl_seconds_after_finished,
    )
    figures = Figures(shared.metrics, world, leases)
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
    admitting = Admitting(
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
        by_hand=ByHand(world, statuses, events, figures, neighbours),
        revoking=Revoking(
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
