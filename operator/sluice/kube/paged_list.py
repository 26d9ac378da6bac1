"""Full lists, page by page, merged into what is known."""

import asyncio
import logging
from collections.abc import Callable, Sequence

from sluice.api.base import Json
from sluice.kube.client import ApiError, ExpiredError, KindMissingError, Kube, NotFoundError
from sluice.kube.mirror import Mirror, uid_of, version_of
from sluice.kube.resources import DEFINITIONS, Resource

logger = logging.getLogger(__name__)

TRIES = 3
MERGED_AT_ONCE = 100
"""Objects that are merged before others have their turn: what follows from a change is worked out as it is merged."""


async def list_into(mirror: Mirror, kube: Kube, namespace: str | None) -> str:
    """Lists into the mirror and returns the version from which a watch may go on. What the list does not show is gone, unless
    it is younger.

    A rebuild rests on it, so it must show all that was stored before it was asked for: no resourceVersion is sent, for with
    `0` the API server answers from a cache that may be behind. All pages show the moment of the first one. If the server
    forgets that moment before the last page, the list begins anew: the token that the server offers for going on would lead to
    a later moment, at which an object may have moved from pages to come to pages that were read.
    """
    (version,) = await list_each_into([mirror], kube, namespace)
    if not version:
        raise KindMissingError(
            404, "KindMissing", f"there is no {mirror.resource.plural}.{mirror.resource.group}"
        )
    return version


async def list_each_into(mirrors: Sequence[Mirror], kube: Kube, namespace: str | None) -> list[str]:
    """Lists kinds beside one another, so that one is parsed while the API server puts the next one together. None shows an
    earlier moment than those before it: it is asked for once they have answered with their first pages, whose moment all of their
    pages show. So if the server forgets the moment of one, all begin anew."""
    for _ in range(TRIES - 1):
        try:
            return await _list_each(mirrors, kube, namespace)
        except ExpiredError:
            continue
    return await _list_each(mirrors, kube, namespace)


async def _list_each(mirrors: Sequence[Mirror], kube: Kube, namespace: str | None) -> list[str]:
    lists: list[asyncio.Task[str]] = []
    try:
        async with asyncio.TaskGroup() as group:
            for mirror in mirrors:
                answered = asyncio.Event()
                lists.append(group.create_task(_list(mirror, kube, namespace, answered.set)))
                await answered.wait()
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from failed  # which has ended the others
    return [listed.result() for listed in lists]


async def _list(mirror: Mirror, kube: Kube, namespace: str | None, answered: Callable[[], None]) -> str:
    """`answered` is called once the first page is there. Returns no version where there is no such kind, and none has to be."""
    try:
        return await _list_pages(mirror, kube, namespace, answered)
    except KindMissingError:
        mirror.is_served = False
        mirror.is_undefined = mirror.may_be_undefined and await is_undefined(mirror.resource, kube)
        if not mirror.is_undefined:
            raise
        for body in mirror.values():
            mirror.gone(uid_of(body))
        answered()
        return ""


async def is_undefined(resource: Resource, kube: Kube) -> bool:
    """Whether there is no definition of the kind. One that is deleted goes after all objects of its kind. False also where that
    may not be asked."""
    try:
        await kube.get(DEFINITIONS, None, f"{resource.plural}.{resource.group}")
    except NotFoundError:
        return True
    except ApiError as error:
        if not error.is_definite:
            raise
    return False


async def _list_pages(mirror: Mirror, kube: Kube, namespace: str | None, answered: Callable[[], None]) -> str:
    forgotten, floor = mirror.forgotten, mirror.highest
    there: set[str] = set()
    news: list[Json] = []
    version = ""
    with mirror.being_listed():
        async for page in kube.pages(mirror.resource, namespace, mirror.selector):
            version = str(page["metadata"]["resourceVersion"])
            _must_go_on(mirror, page, floor)
            _must_be_wanted(mirror, forgotten)
            answered()
            there.update(map(uid_of, page["items"]))
            news += map(mirror.keep, filter(mirror.is_news, page["items"]))
        _must_be_wanted(mirror, forgotten)
        for uid in mirror.not_in(there, int(version), namespace):
            mirror.gone(uid, int(version))
        news.sort(key=_age)
        for start in range(0, len(news), MERGED_AT_ONCE):
            for body in news[start : start + MERGED_AT_ONCE]:
                mirror.seen_kept(body)
            await asyncio.sleep(0)
            _must_be_wanted(mirror, forgotten)
    mirror.highest = max(mirror.highest, int(version))
    mirror.is_served, mirror.is_undefined = True, False
    return version


def _must_go_on(mirror: Mirror, page: Json, floor: int) -> None:
    """The version that a list must at least have: it is at least what was known when the list was asked for, unless the store
    is an older one."""
    version = int(page["metadata"]["resourceVersion"])
    if version < floor or any(mirror.is_of_the_past(body, version) for body in page["items"]):
        logger.warning(
            "%s: the API server went back to an earlier state: it shows version %d after %d; listing everything anew",
            mirror.resource.plural,
            version,
            max(floor, mirror.highest),
        )
        mirror.went_back()


def _must_be_wanted(mirror: Mirror, forgotten: int) -> None:
    if mirror.forgotten != forgotten:
        raise ExpiredError(
            410, "Forgotten", f"{mirror.resource.plural}: what was known was forgotten meanwhile"
        )


def _age(body: Json) -> tuple[str, int]:
    """The order of creation. Objects created within one second keep the order of their first writes, as far as it can still be
    told."""
    return body["metadata"]["creationTimestamp"], version_of(body)
