"""The running operator: kopf and the watches mark what changed, on every replica; the leader alone acts."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import ExponentialBackoff

from sluice.controller import our_kinds
from sluice.controller.admitting import Admitting
from sluice.controller.applications import Applications
from sluice.controller.attempts import Attempts
from sluice.controller.claiming import Claiming
from sluice.controller.conditions import Conditions
from sluice.controller.config import OperatorConfig
from sluice.controller.events import EventWriter
from sluice.controller.guard import Guard
from sluice.controller.leadership import Leadership
from sluice.controller.lease_table import LeaseTable
from sluice.controller.leftovers import Leftovers
from sluice.controller.loop import Loop
from sluice.controller.policies import PolicyStatuses
from sluice.controller.relist import Relist
from sluice.controller.run_commits import RunLogs
from sluice.controller.status import StatusWriter
from sluice.controller.stopping import heed_signals
from sluice.controller.table_reader import TableReader
from sluice.controller.telling import tell_transitions
from sluice.controller.world import World
from sluice.kube.client import Kube
from sluice.kube.watching import Watcher
from sluice.leases import LeaseStore
from sluice.tables.open_tables import OpenTables

logger = logging.getLogger(__name__)

REDIS_PATIENCE = 3.0


async def run(config: OperatorConfig) -> None:
    stop = asyncio.Event()
    heed_signals(stop)
    kube = await Kube.connect()
    redis = Redis.from_url(
        config.redis_url,
        decode_responses=True,
        socket_timeout=REDIS_PATIENCE,
        socket_connect_timeout=REDIS_PATIENCE,
        retry=Retry(ExponentialBackoff(cap=0.5, base=0.05), 2),
    )
    world = World(config.runtimes)
    namespaces: tuple[str | None, ...] = config.watch_namespaces or (None,)
    tables = TableReader(world, OpenTables().facts)
    logs = RunLogs(world.mark)
    conditions = Conditions()
    leadership = Leadership(kube, conditions, config.namespace, config.deployment)
    watchers = [
        Watcher(kube, mirror, namespace)
        for mirror in (world.applications, world.pods)  # kopf would pull every pod of the cluster
        for namespace in namespaces
    ]
    tasks = [asyncio.create_task(watcher.run(), name="watch") for watcher in watchers]
    tasks.append(asyncio.create_task(our_kinds.follow(world, config.watch_namespaces, stop), name="kopf"))

    claiming = Claiming(kube, config)

    def loop(installation: str) -> Loop:
        """Whoever leads begins with nothing remembered from an earlier time."""
        relist = Relist(kube, world, namespaces)
        statuses = StatusWriter(kube, world)
        events = EventWriter(kube, leadership.identity)
        applications = Applications(kube, world)
        guard = Guard(world, relist, statuses)
        leases = LeaseTable(
            LeaseStore(redis, config.deployment, installation),
            world=world,
            relist=relist,
            leadership=leadership,
            statuses=statuses,
            conditions=conditions,
            guard=guard,
        )
        leftovers = Leftovers(world, leases, applications, statuses)
        attempts = Attempts(
            world=world,
            leases=leases,
            applications=applications,
            leftovers=leftovers,
            statuses=statuses,
            events=events,
            tables=tables,
            logs=logs,
        )
        admitting = Admitting(
            world=world,
            leases=leases,
            leadership=leadership,
            attempts=attempts,
            applications=applications,
            guard=guard,
            statuses=statuses,
            events=events,
            tables=tables,
            conditions=conditions,
        )
        return Loop(
            world=world,
            relist=relist,
            leadership=leadership,
            leases=leases,
            leftovers=leftovers,
            attempts=attempts,
            admitting=admitting,
            guard=guard,
            tables=tables,
            conditions=conditions,
        )

    def policies() -> Coroutine[Any, Any, None]:
        return PolicyStatuses(kube, world, leadership).run()

    tasks.append(asyncio.create_task(_lead(leadership, claiming, conditions, loop, policies), name="lead"))
    tasks.append(asyncio.create_task(claiming.keep(leadership.leads), name="claim"))
    telling = tell_transitions(conditions, leadership, EventWriter(kube, leadership.identity))
    tasks.append(asyncio.create_task(telling, name="tell"))
    stopping = asyncio.create_task(stop.wait(), name="stop")
    try:
        done, _ = await asyncio.wait([*tasks, stopping], return_when=asyncio.FIRST_COMPLETED)
        for task in done - {stopping}:
            task.result()  # a task that ends by itself has failed: say how
    finally:
        for task in (*tasks, stopping):
            task.cancel()
        await asyncio.gather(*tasks, stopping, return_exceptions=True)
        await leadership.release()
        logs.close()
        tables.close()
        await redis.aclose()
        await kube.close()


async def _lead(
    leadership: Leadership,
    claiming: Claiming,
    conditions: Conditions,
    loop: Callable[[str], Loop],
    beside: Callable[[], Coroutine[Any, Any, None]],
) -> None:
    await claiming.check()
    while True:
        await leadership.acquire()
        tasks = [asyncio.create_task(leadership.keep(), name="renew")]
        try:
            installation = await claiming.claim(leadership.leads)
            if installation is not None:
                tasks.append(asyncio.create_task(beside(), name="policies"))
                await loop(installation).run()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        conditions.leads_no_more()
        logger.warning("no longer leading; waiting to lead again")
