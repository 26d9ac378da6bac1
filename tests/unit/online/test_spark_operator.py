"""A namespace in which no Spark operator runs applications is told, as far as that can be seen."""

from typing import Any

import pytest

from sluice.online.access.connection import Installation
from sluice.online.doctor.findings import Finding, FindingLevel
from sluice.online.doctor.spark_operator import unserved
from unit.kube.served import served, told


def _listed(*items: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {}, "items": list(items)}


def _deployment(name: str, *arguments: str) -> dict[str, Any]:
    containers = [{"name": "spark-operator-controller", "args": ["controller", "start", *arguments]}]
    return {
        "metadata": {"namespace": "spark", "name": name},
        "spec": {"template": {"spec": {"containers": containers}}},
    }


async def _found(*answers: Any, watched: tuple[str, ...] = ()) -> list[Finding]:
    async with served(*answers) as server:
        return [one async for one in unserved(server.kube, Installation("ops", "sluice", None, watched))]


@pytest.mark.parametrize("watched", [(), ("a", "b", "c")])
async def test_each_namespace_that_no_spark_operator_serves_is_told(watched: tuple[str, ...]) -> None:
    deployments = _listed(_deployment("one", "--namespaces=a,default"), _deployment("two", "--namespaces=b"))
    jobs = _listed(*({"metadata": {"namespace": name, "name": "job"}} for name in ("a", "b", "c")))
    [one] = await _found(told(deployments), told(jobs), watched=watched)
    assert (one.level, one.subject) == (FindingLevel.FAIL, "namespace c")
    assert "Deployment spark/one (a, default); Deployment spark/two (b)" in one.message
    assert "spark.jobNamespaces" in one.cure


@pytest.mark.parametrize(
    "deployments",
    [
        [],
        [_deployment("silent")],
        [_deployment("one", "--namespaces=a"), _deployment("all", '--namespaces=""')],
        [_deployment("one", "--namespaces=a"), _deployment("silent")],
    ],
)
async def test_nothing_is_said_where_it_is_not_known(deployments: list[dict[str, Any]]) -> None:
    assert await _found(told(_listed(*deployments)), watched=("c",)) == []


async def test_nothing_is_said_to_whoever_may_not_see_it() -> None:
    refused = told({"kind": "Status", "message": "no", "reason": "Forbidden"}, 403)
    assert await _found(refused, watched=("c",)) == []
    assert await _found(told(_listed(_deployment("one", "--namespaces=a"))), refused) == []
