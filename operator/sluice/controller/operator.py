"""The running operator: watches mark what changed, on every replica; the leader alone acts."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from functools import partial
from typing import Any

from sluice.api.durations import seconds
from sluice.api.operator_status import OperatorConditionType
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.cache.job_counts import OF_STREAMS
from sluice.controller.leader import Shared, loop_of
from sluice.controller.leadership.election import Election
from sluice.controller.leadership.election_thread import ElectionThread
from sluice.controller.leadership.installation_claim import InstallationClaim
from sluice.controller.leadership.prerequisites import Prerequisites, Refusals
from sluice.controller.lease_table.table import REFUSES_US
from sluice.controller.policy_tasks import Work, at_work
from sluice.controller.policy_work import policy_watch
from sluice.controller.policy_work.change_gate import ChangeGate
from sluice.controller.policy_work.policy_status import PolicyStatuses
from sluice.controller.policy_work.table_observations import TableObservations
from sluice.controller.process.configuration import OperatorConfig
from sluice.controller.process.health import Health, Pulse, beat_while_turning
from sluice.controller.process.http import served
from sluice.controller.process.metrics import GaugeValues, Metrics, WorkDone
from sluice.controller.process.operator_conditions import OperatorConditions
from sluice.controller.process.redis_client import connected
from sluice.controller.process.shutdown import end, heed_signals
from sluice.controller.readers.quarantine import Quarantine
from sluice.controller.readers.run_commits import RunCommits
from sluice.controller.readers.spec_reader import SpecReader
from sluice.controller.readers.table_processes import TableProcesses
from sluice.controller.readers.table_reader import TableReader
from sluice.controller.reporting.condition_events import tell_transitions
from sluice.controller.reporting.events import EventWriter
from sluice.controller.scheduling.loop import Loop
from sluice.kube.client import Kube
from sluice.kube.rate_limit import RateLimit
from sluice.kube.watch_loop import Watcher
from sluice.lifecycle.job.visible_blockers import VisibleBlockers

logger = logging.getLogger(__name__)


async def run(config: OperatorConfig) -> None:
    heed_signals(stop := asyncio.Event())
    metrics, refusals = Metrics(), Refusals()

    def asked(verb: str, resource: str, code: int, seconds: float) -> None:
        metrics.asked_api(verb, resource, code, seconds)
        refusals.asked(verb, resource, code, seconds)

    redis = connected(config.redis, metrics.asked_redis)
    kube = await Kube.connect(asked=asked, pace=RateLimit(config.api_qps, config.api_burst))
    world = ClusterCache(config.runtimes, config.engines, config.owners)
    namespaces: tuple[str | None, ...] = config.watch_namespaces or (None,)
    logs_of_tables = TableProcesses()
    looks = TableObservations(world, logs_of_tables.look, every=seconds(config.policy_look))
    tables = TableReader(world, logs_of_tables.facts, told=looks.changed)
    specs = SpecReader(world)
    logs = RunCommits(logs_of_tables.commits, world.mark)
    conditions = OperatorConditions()
    leadership = await ElectionThread.connect(conditions, config, partial(Kube.connect, asked=asked))
    watchers = tuple(
        Watcher(kube, mirror, namespace)
        for mirror in world.mirrors
        if mirror is not world.policies  # which kopf brings
        for namespace in namespaces
    )
    pulse, main = Pulse(), Pulse()
    surroundings = Prerequisites(kube, world, config, refusals)

    def missing() -> list[str]:
        refused = conditions.failing(OperatorConditionType.LEASE_TABLE_USABLE, REFUSES_US)
        return surroundings.not_ready() + ([] if refused is None else [refused])

    metrics.count(WorkDone.TABLE_READS, lambda: tables.reads)
    metrics.count_deaths(tables=lambda: logs_of_tables.deaths, specs=lambda: specs.deaths)
    metrics.tell_of(partial(_standing, world, leadership, conditions))
    health = Health(
        asks_the_lease=partial(conditions.is_well, OperatorConditionType.API_SERVER_REACHABLE),
        leads=leadership.leads,
        has_listed=partial(conditions.is_well, OperatorConditionType.LISTS_COMPLETE),
        lease=leadership.pulse,
        main=main,
        loop=pulse,
        watchers=watchers,
        missing=missing,
    )
    brought = policy_watch.follow(world, kube, config.watch_namespaces, stop)
    tasks = [asyncio.create_task(brought, name="kopf")]
    tasks += [asyncio.create_task(watcher.run(), name="watch") for watcher in watchers]

    claiming = InstallationClaim(kube, config, conditions)
    events = EventWriter(kube, leadership.identity, metrics.dropped_event)

    shared = Shared(
        config=config,
        kube=kube,
        redis=redis,
        world=world,
        specs=specs,
        tables=tables,
        logs=logs,
        conditions=conditions,
        leadership=leadership,
        events=events,
        metrics=metrics,
        pulse=pulse,
        surroundings=surroundings,
        own_changes=ChangeGate(world, looks),
    )

    async def lead() -> None:
        await surroundings.begin()
        await _lead(
            leadership,
            claiming,
            conditions,
            partial(loop_of, shared),
            _beside_the_loop(shared, looks, logs_of_tables),
        )

    beside: dict[str, Coroutine[Any, Any, None]] = {
        "lead": lead(),
        "claim": claiming.keep(leadership.leads),
        "surroundings": surroundings.run(),
        "tell": tell_transitions(conditions, leadership, events),
        "events": events.run(),
        "turns": beat_while_turning(main),
    }
    tasks += [asyncio.create_task(work, name=name) for name, work in beside.items()]
    stopping = asyncio.create_task(stop.wait(), name="stop")
    try:
        async with served(config.http_address, health, metrics):
            done, _ = await asyncio.wait([*tasks, stopping], return_when=asyncio.FIRST_COMPLETED)
            for task in done - {stopping}:
                task.result()  # a task that ends by itself has failed: say how
    finally:
        await end((*tasks, stopping))
        await leadership.release()
        await events.finish()
        await leadership.close()
        for readers in (logs, specs, tables, looks, logs_of_tables):
            readers.close()
        await redis.aclose()
        await kube.close()


def _beside_the_loop(
    shared: Shared, looks: TableObservations, logs_of_tables: TableProcesses
) -> Callable[[Loop], Work]:
    """What a leader does beside its loop: for tables in quarantine, and for policies."""
    statuses = PolicyStatuses(
        shared.kube,
        shared.world,
        shared.leadership,
        looks=looks,
        neighbours=VisibleBlockers.of(shared.config.shared_namespaces),
    )
    shared.metrics.count(WorkDone.POLICY_LOOKS, lambda: looks.looks)
    shared.metrics.count(WorkDone.POLICY_STATUSES, lambda: statuses.written)

    def work(loop: Loop) -> Work:
        quarantine = Quarantine(
            processes=logs_of_tables,
            leadership=shared.leadership,
            world=shared.world,
            tables=shared.tables,
            events=shared.events,
        )
        return {"quarantine": quarantine.run, **at_work(shared, looks, statuses, loop)}

    return work


def _standing(world: ClusterCache, leadership: Election, conditions: OperatorConditions) -> GaugeValues:
    leads = leadership.leads()
    tally = world.tally
    phases = {phase: count for phase, count in tally.phases.items() if count}
    now = datetime.now(UTC)
    return GaugeValues(
        leads,
        leadership.epoch if leads else 0,
        phases,
        conditions.all(),
        tally.need_a_person,
        _seconds_since(tally.oldest_queued_at, now),
        {labels: count for labels, count in tally.streams.items() if count or labels in OF_STREAMS},
        _seconds_since(tally.paused.at, now),
        tally.failures_in_a_row,
        {labels: count for labels, count in tally.policies.items() if count},
    )


def _seconds_since(at: datetime | None, now: datetime) -> float:
    return max(0.0, (now - at).total_seconds()) if at is not None else 0.0


async def _lead(
    leadership: Election,
    claiming: InstallationClaim,
    conditions: OperatorConditions,
    loop: Callable[[str], Loop],
    beside: Callable[[Loop], Work],
) -> None:
    await claiming.check()
    while True:
        await leadership.acquire()
        tasks = [asyncio.create_task(leadership.keep(), name="renew")]
        try:
            installation = await claiming.claim(leadership.leads)
            if installation is not None:
                acting = loop(installation)
                tasks += [asyncio.create_task(work(), name=name) for name, work in beside(acting).items()]
                await acting.run()
        finally:
            await end(tasks)
        conditions.leads_no_more()
        logger.warning("no longer leading; waiting to lead again")
