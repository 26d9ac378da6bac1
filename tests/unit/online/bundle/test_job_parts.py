"""Which of a cluster's objects a job's bundle holds."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime

from sluice.api.base import Json
from sluice.kube.resources import POLICIES, Resource
from sluice.online.access.job_names import JobName
from sluice.online.bundle.archive import Bundle
from sluice.online.bundle.collection import MOST_OBJECTS, Collection
from sluice.online.bundle.job_parts import JobParts, collect_policies
from sluice.online.bundle.masked_objects import ObjectMasking

PAGE = 150


class ApiServer:
    """Lists policies page by page."""

    def __init__(self, policies: list[Json]) -> None:
        self._policies = policies

    async def pages(self, resource: Resource, *_: str | None) -> AsyncIterator[Json]:
        assert resource is POLICIES
        for start in range(0, len(self._policies), PAGE):
            yield {"items": self._policies[start : start + PAGE]}


def policy(name: str) -> Json:
    return {
        "metadata": {"namespace": "etl", "name": name, "uid": name},
        "spec": {"table": {"path": f"/lake/{name}"}},
    }


async def test_a_job_s_policy_is_in_its_bundle_however_many_others_come_before_it() -> None:
    policies = [policy(f"table-{number}") for number in range(MOST_OBJECTS + PAGE)]
    bundle = Bundle("etl/nightly", datetime.now(UTC), "test", ObjectMasking())
    kube = ApiServer([*policies, policy("orders")])
    body = {"status": {"footprint": [{"table": "file:/lake/orders"}]}}
    await collect_policies(
        Collection(kube, bundle, print),  # type: ignore[arg-type]  # an API server of the test's own
        JobParts(JobName("etl", "nightly"), body),
    )
    assert [part.file for part in bundle.parts] == ["policies/etl.orders.json"]
    assert bundle.not_collected == []
