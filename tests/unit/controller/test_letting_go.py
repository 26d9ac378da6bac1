"""An attempt's application and its driver's pod go one after the other, and whatever comes between them, what is left
proves the end: to this leader, which tries again, and to one that comes after it."""

import contextlib
from typing import Any

import pytest

from sluice.api.base import Json
from sluice.controller.applications.applications import TESTS_FAILED
from sluice.kube.client import ApiError
from sluice.kube.mirror import uid_of
from unit.controller.test_cleanup import LEASE, NAME, Api, made
from unit.lifecycle.objects import RUNNING, TERMINATED, application, declared_dead, loss, pod, told_there

GOING: Json = {"deletionTimestamp": "2026-11-19T10:06:00Z"}
RECORD = application("COMPLETED")["metadata"]["annotations"]
NODE_LOST = {"status": {"phase": "Failed", "reason": "NodeLost"}}
NO_NODE: Json = {"spec": {}}


def app(state: str, **changed: Any) -> Json:
    return application(state, name=NAME, lease=LEASE, **(GOING | changed))


def driver(state: Json | None = None, **changed: Any) -> Json:
    return pod(state, NAME, lease=LEASE, **(GOING | changed))


LOSS = loss(driver())
DEAD = RECORD | told_there(LOSS) | declared_dead(LOSS, NAME)


OVER = {
    "its driver has ended": (app("COMPLETED"), driver(TERMINATED)),
    "nobody has told yet that its driver has ended": (app("RUNNING"), driver(TERMINATED)),
    "its driver has failed": (app("FAILED"), driver(TERMINATED)),
    "its driver's pod had no node": (app("RUNNING"), driver() | NO_NODE),
    "the application says that its driver is dead": (app("RUNNING", annotations=DEAD), driver() | NODE_LOST),
    "the pod, which is all that is left, says that its driver is dead": (
        driver(annotations=DEAD) | NODE_LOST,
    ),
}


class Dies(BaseException):
    """The leader does, before the request is sent."""


class Server(Api):
    """Carries out what the requests ask for, but for those that fail."""

    def __init__(self, *objects: Json) -> None:
        super().__init__()
        self.there = {body["metadata"]["name"]: body for body in objects}
        self.let_go: list[str] = []
        self.fails: dict[int, BaseException] = {}
        """Maps the number of objects let go before to the failure of the next."""

    async def patch(self, resource: Any, namespace: str, name: str, body: Json) -> Json:
        if "finalizers" not in body["metadata"]:
            patched: Json = await super().patch(resource, namespace, name, body)
            return patched
        return await self.patch_by_tests(resource, namespace, name, body)

    async def patch_by_tests(self, _: Any, __: str, name: str, ___: Any) -> Json:
        failure = self.fails.pop(len(self.let_go), None)
        if failure is not None:
            raise failure
        body: Json = self.there[name]
        self.let_go.append(name)
        metadata = {key: value for key, value in body["metadata"].items() if key != "finalizers"}
        after = body | {"metadata": metadata | {"resourceVersion": "9"}}
        self.there[name] = after
        if "deletionTimestamp" in metadata:
            del self.there[name]
        return after


class Leader:
    """One that has listed what there is."""

    def __init__(self, server: Server) -> None:
        _, applications, self.leftovers, self.released = made()
        self._server = applications._kube = self.leftovers._applications._kube = server  # type: ignore[assignment]
        self._world = self.leftovers._world
        for body in server.there.values():
            (self._world.applications if "kind" in body else self._world.pods).seen(body)

    async def retires(self) -> None:
        """Until nothing more can come of it."""
        for _ in range(4):
            with contextlib.suppress(ApiError):  # as a worker does, which comes again
                await self.leftovers.retire(LEASE.uid)
            for mirror in (*self._world.applications.mirrors, self._world.pods):  # as its watch brings it
                for body in mirror.values():
                    if body["metadata"]["name"] not in self._server.there:
                        mirror.gone(uid_of(body))


@pytest.mark.parametrize("what", OVER)
@pytest.mark.parametrize("before", [0, 1])
@pytest.mark.parametrize("failure", [ApiError(0, "NoAnswer", "lost"), Dies()], ids=["fails", "leader dies"])
async def test_a_deleted_jobs_lease_goes_wherever_letting_go_of_it_is_cut_off(
    what: str, before: int, failure: BaseException
) -> None:
    server = Server(*OVER[what])
    server.fails = {before: failure}
    leader = Leader(server)
    try:
        await leader.retires()
    except Dies:
        leader = Leader(server)
        await leader.retires()
    assert server.there == {}
    assert leader.released[-1:] == [LEASE]


async def test_the_driver_that_has_ended_is_not_let_go_while_its_application_is_held() -> None:
    """Somebody else's finalizer came before ours, so that it is elsewhere than it was."""
    server = Server(*OVER["its driver has ended"])
    server.fails = {0: ApiError(TESTS_FAILED, "Invalid", "the test failed")}
    leader = Leader(server)
    await leader.leftovers.retire(LEASE.uid)
    assert server.let_go == []
    await leader.retires()
    assert server.let_go == [NAME, f"{NAME}-driver"]


async def test_a_driver_whose_record_is_damaged_is_let_go_before_its_application_which_tells_whose_it_is() -> (
    None
):
    server = Server(app("COMPLETED"), driver(TERMINATED, annotations=None))
    leader = Leader(server)
    await leader.retires()
    assert server.let_go == [f"{NAME}-driver", NAME]
    assert leader.released[-1:] == [LEASE]


async def test_nothing_of_a_driver_that_runs_is_let_go() -> None:
    server = Server(app("RUNNING"), driver(RUNNING))
    leader = Leader(server)
    await leader.retires()
    assert server.let_go == []
    assert leader.released == []
