"""What the cluster's definitions lack of what this version writes."""

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from sluice.api.served_fields import KINDS, missing_in, unknown_in
from sluice.kube.client import ApiError
from sluice.kube.definitions import DefinitionDifference, look_at_definitions
from unit.kube.served import served, told

CRDS = {
    body["spec"]["names"]["kind"]: body["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    for body in (
        yaml.load(file.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
        for file in (Path(__file__).parents[3] / "crds").glob("*.yaml")
    )
}


STATUSES = {
    f"/apis/sluice.dev/v1alpha1/namespaces/{{namespace}}/{plural}/{{name}}/status"
    for plural in ("deltawritejobs", "deltatablepolicies")
}


def _published(**changed: Any) -> Any:
    schemas = {
        f"dev.sluice.v1alpha1.{kind}": schema
        | {"x-kubernetes-group-version-kind": [{"group": "sluice.dev", "version": "v1alpha1", "kind": kind}]}
        for kind, schema in {**CRDS, **changed}.items()
        if schema is not None
    }
    return {
        "components": {"schemas": schemas | {"io.k8s.Status": {"type": "object"}}},
        "paths": dict.fromkeys(STATUSES),
    }


@pytest.mark.parametrize("kind", list(KINDS))
def test_what_is_generated_is_neither_older_nor_later_than_the_models(kind: str) -> None:
    assert missing_in(kind, CRDS[kind]) == unknown_in(kind, CRDS[kind]) == ()


def test_a_field_within_lists_and_a_value_that_lack_are_named() -> None:
    older = copy.deepcopy(CRDS["DeltaWriteJob"])
    status = older["properties"]["status"]["properties"]
    del status["attempts"]["items"]["properties"]["token"]
    status["phase"]["enum"].remove("Skipped")
    assert missing_in("DeltaWriteJob", older) == ("status.attempts[].token", "status.phase=Skipped")


def test_what_is_kept_though_it_is_not_described_does_not_lack() -> None:
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    assert missing_in("DeltaWriteJob", anything) == ()
    partly = copy.deepcopy(CRDS["DeltaWriteJob"])
    partly["properties"]["status"] = anything
    del partly["properties"]["spec"]["properties"]["sql"]
    assert missing_in("DeltaWriteJob", partly) == ("spec.sql",)


def test_a_later_definition_is_no_older_one() -> None:
    later = copy.deepcopy(CRDS["DeltaWriteJob"])
    later["properties"]["spec"]["properties"]["hope"] = {"type": "string"}
    one = DefinitionDifference("DeltaWriteJob", unknown=unknown_in("DeltaWriteJob", later))
    assert not one.is_older
    assert "later version: it also has spec.hope" in str(one)


GROUPS = told({"groups": [{"name": "sluice.dev"}]})
NO_GROUP = told({"groups": []})
NOT_FOUND: tuple[int, dict[str, str], str] = (404, {}, "404 page not found")


async def test_what_is_published_is_held_against_this_version() -> None:
    async with served(told(_published(DeltaTablePolicy=None)), NO_GROUP) as server:
        job, policy = await look_at_definitions(server.kube)
    assert (job.is_older, policy.is_older) == (False, True)
    assert "does not serve DeltaTablePolicy of sluice.dev/v1alpha1: apply the definitions" in str(policy)


async def test_a_definition_without_the_subresource_of_statuses_is_another_versions() -> None:
    """The API server finds no status then, and every account that may edit jobs writes their statuses."""
    without = _published() | {"paths": {}}
    async with served(told(without)) as server:
        job, policy = await look_at_definitions(server.kube)
    assert job.is_older
    assert policy.is_older
    assert (
        "DeltaWriteJob in the cluster is from another version: it lacks the subresource status: apply"
        in str(job)
    )


async def test_a_group_that_is_not_served_lacks_both_and_no_answer_is_no_proof() -> None:
    async with served(NOT_FOUND, NO_GROUP) as server:
        assert [one.is_served for one in await look_at_definitions(server.kube)] == [False, False]
    async with served(told({"kind": "Status", "message": "no", "reason": "Forbidden"}, 403)) as server:
        with pytest.raises(ApiError):
            await look_at_definitions(server.kube)


@pytest.mark.parametrize("published", [NOT_FOUND, told(_published(DeltaTablePolicy=None)), told({})])
async def test_a_kind_that_is_served_while_its_schema_is_yet_to_be_published_is_not_said_to_be_missing(
    published: tuple[int, dict[str, str], str],
) -> None:
    resources = told({"resources": [{"name": "deltawritejobs"}, {"name": "deltatablepolicies"}]})
    async with served(published, GROUPS, resources) as server:
        with pytest.raises(ApiError, match="has not published its schema yet") as raised:
            await look_at_definitions(server.kube)
    assert not raised.value.is_definite
