"""Policies, as kopf brings them: it discovers their kind, logs in, lists, watches, and calls a handler for each event.

They are few and change seldom; all other kinds are followed by sluice.kube.watch_loop. What kopf would do for handlers of
changes is turned off: it would copy each body twice per event to compare it with what it wrote into the object's annotations,
and no handler here asks for the difference.
"""

import asyncio
import logging
from collections.abc import Collection
from contextlib import suppress
from typing import Any, NoReturn

import aiohttp
import kopf
from kopf._cogs.clients.errors import APIError  # kopf raises it, and exports it nowhere else
from kopf._cogs.structs.credentials import Vault  # kopf takes one, and exports it nowhere else

from sluice.api import names
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.process.shutdown import end, heed_signals
from sluice.kube.client import PAGE, REQUEST_TIMEOUT, WATCH_GRACE, WATCH_SECONDS, ApiError, Kube
from sluice.kube.connection import Connector
from sluice.kube.resources import POLICIES

logger = logging.getLogger(__name__)
_kopf_log = logging.getLogger("kopf")

LOOK_EVERY = 1.0
PAUSE = 5.0
"""Seconds until kopf is started anew, after the API server refused it something."""


async def follow(world: ClusterCache, kube: Kube, namespaces: tuple[str, ...], stop: asyncio.Event) -> None:
    """Follows policies in these namespaces, or in all."""
    refused, level = None, _kopf_log.level
    while not stop.is_set():
        _kopf_log.setLevel(level)
        world.forgotten.clear()
        if not await are_discovered(kube, stop):
            return
        connection = Vault()
        try:
            tasks = await kopf.spawn_tasks(
                registry=_registry(world, namespaces),
                namespaces=namespaces,
                clusterwide=not namespaces,
                standalone=True,
                vault=connection,
            )
            heed_signals(stop)  # kopf has taken them for itself, and fails on the second
            await _run_until(tasks, stop, world.forgotten)
        except APIError as error:  # a right that was taken away, or a definition that went
            if str(error) != refused:
                logger.warning("the API server refuses policies: %s; asking again", error)
                refused = str(error)
            await _sleep(PAUSE, stop)
        finally:
            await connection.close()  # kopf does so as the last of its tasks, unless that is cancelled twice


def _registry(world: ClusterCache, namespaces: tuple[str, ...]) -> kopf.OperatorRegistry:
    registry = kopf.OperatorRegistry()
    logins: list[tuple[kopf.ConnectionInfo, kopf.AiohttpSession]] = []

    @kopf.on.login(registry=registry)
    async def login(**kwargs: Any) -> kopf.AiohttpSession | None:
        found = await asyncio.to_thread(kopf.login_via_client, **kwargs)
        if found is None:
            return None
        if (
            not logins or logins[-1][0] != found
        ):  # kopf finds by the same session that what was refused is all there is
            logins.append((found, _session(found)))
        return logins[-1][1]

    @kopf.on.startup(registry=registry)
    def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
        settle(settings)
        settings.scanning.disabled = bool(namespaces)

    # Coroutines: kopf would call plain functions in threads, beside the acting task, which reads the world.
    @kopf.on.event(names.GROUP, names.VERSION, names.POLICY_PLURAL, registry=registry)
    async def policy_event(event: kopf.RawEvent, **_: Any) -> None:
        body: dict[str, Any] = dict(event["object"])
        if event["type"] == "DELETED":
            world.policy_gone(body["metadata"]["uid"])
        else:
            world.policy_seen(body)

    return registry


def _session(found: kopf.ConnectionInfo) -> kopf.AiohttpSession:
    """As kopf's own, but for the connections, which are all closed when kopf has closed it."""
    session = aiohttp.ClientSession(
        connector=Connector(found.as_ssl_context()),
        headers=found.as_http_headers(),
        proxy=found.proxy_url,
        trust_env=found.trust_env,
    )
    return kopf.AiohttpSession(
        server=found.server,
        priority=found.priority,
        default_namespace=found.default_namespace,
        aiohttp_session=session,
    )


async def are_discovered(kube: Kube, stop: asyncio.Event) -> bool:
    """Waits until the kind of policies is discovered; False if it is to stop before. kopf looks once which kinds there are,
    and never watches a kind that isn't named then, as can happen when an API server has just come back, or the definitions are
    applied later."""
    told = None
    while not stop.is_set():
        try:
            is_known = await kube.is_discovered(POLICIES)
            why = f"the API server knows no {POLICIES.plural} of {names.GROUP}: is their definition applied?"
        except ApiError as error:
            why = f"the API server does not say which kinds it serves: {error}"
        else:
            if is_known:
                return True
        if why != told:
            logger.warning("%s; looking again", why)
            told = why
        await _sleep(LOOK_EVERY, stop)
    return False


async def _sleep(seconds: float, stop: asyncio.Event) -> None:
    with suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), seconds)


async def _run_until(tasks: Collection["asyncio.Task[None]"], *ends: asyncio.Event) -> None:
    """Runs kopf's tasks. kopf's own way of running them cancels at its end all others that began meanwhile, the acting one
    among them."""
    ending = [asyncio.create_task(event.wait()) for event in ends]
    try:
        done, _ = await asyncio.wait([*tasks, *ending], return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()  # one of kopf's that ends by itself has failed: say how
    finally:
        # kopf closes its connection before all of its requests have ended, and logs each of those as an error. The reason for
        # the end should be the last that is said.
        _kopf_log.setLevel(logging.CRITICAL)
        await end((*tasks, *ending))


def settle(settings: kopf.OperatorSettings) -> None:
    settings.posting.enabled = False  # events are written by the acting task
    # Watches are short for the same reason as our own: see sluice.kube.watch_loop.
    settings.watching.server_timeout = WATCH_SECONDS
    settings.watching.client_timeout = WATCH_SECONDS + WATCH_GRACE
    settings.watching.connect_timeout = REQUEST_TIMEOUT
    settings.watching.chunk_size = PAGE
    settings.networking.request_timeout = REQUEST_TIMEOUT
    settings.process.ultimate_exiting_timeout = None  # the end of its tasks isn't the process's
    settings.persistence.finalizer = names.FINALIZER_KOPF
    settings.persistence.diffbase_storage = NoDiffBase()
    settings.persistence.progress_storage = NoProgress()


class NoDiffBase(kopf.DiffBaseStorage):
    """Takes each event as it is: nothing is remembered to compare the next one with."""

    def build(self, **_: Any) -> kopf.BodyEssence:
        return kopf.BodyEssence()

    def fetch(self, **_: Any) -> None:
        return None

    def store(self, **_: Any) -> NoReturn:
        raise NotImplementedError(_NEEDED)


class NoProgress(kopf.ProgressStorage):
    """Keeps no record in the object: a handler of an event is called once."""

    def clear(self, *, essence: kopf.BodyEssence) -> kopf.BodyEssence:
        return essence

    def fetch(self, **_: Any) -> None:
        return None

    def store(self, **_: Any) -> NoReturn:
        raise NotImplementedError(_NEEDED)

    def purge(self, **_: Any) -> NoReturn:
        raise NotImplementedError(_NEEDED)

    def touch(self, **_: Any) -> NoReturn:
        raise NotImplementedError(_NEEDED)


_NEEDED = "kopf wants to keep a record in an object: only handlers of events may be registered here"
