"""A list is of one moment, and is merged into what goes on meanwhile."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial

import pytest

from sluice.api.base import Json
from sluice.kube.client import ExpiredError, KindMissingError, Kube
from sluice.kube.mirror import Mirror
from sluice.kube.paged_list import MERGED_AT_ONCE, TRIES, list_each_into, list_into
from sluice.kube.resources import JOBS, KUBEFLOW_APPLICATIONS, PODS, Resource
from unit.kube.bodies import Pages, Part, Told, body, page

ALL = ["deltawritejobs", "sparkapplications", "pods"]
EXPIRED = ExpiredError(410, "Expired", "the continue token is too old")


async def test_a_list_removes_what_is_gone_but_not_what_is_younger_or_elsewhere() -> None:
    told = Told()
    for one in (body("gone", 3), body("stays", 4), body("away", 5, namespace="other")):
        told.mirror.seen(one)
    younger = partial(told.mirror.seen, body("younger", 12))
    kube = Pages([page(10, body("stays", 4)), younger, page(10, body("found", 8))])
    version = await list_into(told.mirror, kube, "etl")
    assert version == "10"
    assert told.known == {"stays": 4, "younger": 12, "away": 5, "found": 8}


async def test_what_happens_between_two_pages_is_newer_than_both() -> None:
    told = Told()
    told.mirror.seen(body("ended", 2))
    told.mirror.seen(body("moved", 3))
    kube = Pages(
        [
            page(10, body("ended", 2), body("moved", 3)),
            partial(told.mirror.gone, "uid-ended"),
            partial(told.mirror.seen, body("moved", 11)),
            partial(told.mirror.seen, body("late", 12)),
            partial(told.mirror.seen, body("young", 13)),
            page(10, body("late", 4)),
        ]
    )
    await list_into(told.mirror, kube, None)
    assert told.known == {"moved": 11, "late": 12, "young": 13}


async def test_a_list_whose_moment_is_forgotten_begins_anew_and_ends_nothing_meanwhile() -> None:
    told = Told()
    told.mirror.seen(body("z", 3))
    kube = Pages([page(10, body("a", 2)), EXPIRED], [page(20, body("a", 15)), page(20, body("z", 3))])
    assert await list_into(told.mirror, kube, None) == "20"
    assert told.known == {"a": 15, "z": 3}
    assert ("3", None) not in told.changes


async def test_a_list_that_is_forgotten_again_and_again_is_given_up() -> None:
    cut_off: list[Part] = [page(10), EXPIRED]
    kube = Pages(*[cut_off] * TRIES)
    with pytest.raises(ExpiredError):
        await list_into(Told().mirror, kube, None)
    assert kube.asked == TRIES


async def test_objects_arrive_in_the_order_of_their_age_whatever_pages_they_are_on() -> None:
    told = Told()
    await list_into(told.mirror, Pages([page(10, body("a", 9), body("b", 4)), page(10, body("c", 7))]), None)
    assert told.changes == [(None, "4"), (None, "7"), (None, "9")]


async def test_a_list_of_before_everything_was_forgotten_brings_nothing_back() -> None:
    told = Told()
    told.mirror.seen(body("a", 90))
    kube = Pages([page(99, body("a", 98)), told.mirror.forget], [page(9, body("b", 8))])
    assert await list_into(told.mirror, kube, None) == "9"
    assert told.known == {"b": 8}
    assert told.mirror.highest == 9


async def test_others_have_their_turn_while_a_long_list_is_merged() -> None:
    told, turns = Told(), 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(others())
    await list_into(
        told.mirror, Pages([page(9999, *(body(f"n-{number}", number) for number in range(1, 2001)))]), None
    )
    task.cancel()
    assert len(told.changes) == 2000
    assert turns >= 2000 / MERGED_AT_ONCE


async def test_a_list_of_an_earlier_time_than_was_known_is_of_a_store_that_went_back() -> None:
    told = Told()
    told.mirror.seen(body("ended", 90))
    kube = Pages([page(50, body("ended", 40))], [page(50, body("ended", 40), body("gone", 45))])
    assert await list_into(told.mirror, kube, None) == "50"
    assert told.known == {"ended": 40, "gone": 45}
    assert told.mirror.forgotten == 1


async def test_a_store_that_went_back_is_noticed_though_it_counts_on_from_above() -> None:
    """The store counts on from above after `etcdutl snapshot restore --bump-revision`."""
    told = Told()
    told.mirror.seen(body("ended", 90))
    restored = page(10_000, body("ended", 40))
    await list_into(told.mirror, Pages([restored], [restored]), None)
    assert told.known == {"ended": 40}
    assert told.mirror.forgotten == 1


async def test_an_answer_that_comes_late_is_no_store_that_went_back() -> None:
    told = Told()
    told.mirror.seen(body("a", 3))
    kube = Pages([page(10), partial(told.mirror.seen, body("a", 12)), page(10, body("a", 3))])
    await list_into(told.mirror, kube, None)
    assert told.known == {"a": 12}
    assert told.mirror.forgotten == 0


class Kinds(Kube):
    """An API server that answers for each page when it is let, and notes what it is asked for."""

    def __init__(self, **pages: list[Part]) -> None:
        self._pages = pages
        self.asked: list[str] = []
        self.let = {kind: asyncio.Semaphore(0) for kind in pages}

    async def pages(self, resource: Resource, *_: str | None, **__: str | None) -> AsyncIterator[Json]:
        kind = resource.plural
        self.asked.append(kind)
        for part in self._pages[kind]:
            await self.let[kind].acquire()
            if isinstance(part, Exception):
                raise part
            assert isinstance(part, dict)
            yield part


def of_each() -> dict[str, Mirror]:
    return {
        resource.plural: Mirror(resource, lambda *_: None) for resource in (JOBS, KUBEFLOW_APPLICATIONS, PODS)
    }


async def others_go_on() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_a_kind_is_asked_for_once_those_before_it_show_their_moment_and_not_only_when_they_have_ended() -> (
    None
):
    mirrors = of_each()
    kube = Kinds(
        deltawritejobs=[page(10, body("a", 1)), page(10, body("b", 2))],
        sparkapplications=[page(11, body("c", 3))],
        pods=[page(12, body("d", 4))],
    )
    listing = asyncio.create_task(list_each_into(list(mirrors.values()), kube, None))
    await others_go_on()
    assert kube.asked == ["deltawritejobs"]
    kube.let["sparkapplications"].release()
    kube.let["deltawritejobs"].release()
    await others_go_on()
    assert kube.asked == ALL
    assert [len(mirror) for mirror in mirrors.values()] == [0, 1, 0], "jobs have another page to come"
    kube.let["pods"].release()
    await others_go_on()
    assert not listing.done()
    kube.let["deltawritejobs"].release()
    assert await listing == ["10", "11", "12"]
    assert [len(mirror) for mirror in mirrors.values()] == [2, 1, 1]


async def test_if_one_kind_has_to_begin_anew_all_do_in_their_order() -> None:
    """Else the jobs would show a later moment than the applications: an intent that has become an application would be missed."""
    mirrors = of_each()
    kube = Kinds(
        deltawritejobs=[page(10, body("a", 1)), EXPIRED],
        sparkapplications=[page(11, body("c", 3))],
        pods=[page(12)],
    )
    listing = asyncio.create_task(list_each_into(list(mirrors.values()), kube, None))
    for number in range(1, TRIES + 1):
        await others_go_on()
        assert kube.asked == [*ALL * (number - 1), "deltawritejobs"]
        for kind in ALL:
            kube.let[kind].release()
            await others_go_on()
        assert kube.asked == ALL * number
        kube.let["deltawritejobs"].release()
    with pytest.raises(ExpiredError):
        await listing


async def test_where_one_kind_is_not_served_no_other_list_goes_on() -> None:
    mirrors = of_each()
    kube = Kinds(
        deltawritejobs=[page(10, body("a", 1)), page(10, body("b", 2))],
        sparkapplications=[
            KindMissingError(404, "KindMissing", "the API server serves no sparkapplications")
        ],
        pods=[page(12)],
    )
    kube.let["deltawritejobs"].release()
    kube.let["sparkapplications"].release()
    with pytest.raises(KindMissingError):
        await list_each_into(list(mirrors.values()), kube, None)
    assert [one.get_name() for one in asyncio.all_tasks() if one is not asyncio.current_task()] == []
    assert mirrors["sparkapplications"].is_served is False
    assert len(mirrors["deltawritejobs"]) == 0
