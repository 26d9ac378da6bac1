"""The list of rights, and what goes by it."""

from pathlib import Path

import pytest

from sluice.api.engine_kind import EngineKind
from sluice.kube.resources import CONFIG_MAPS, DEFINITIONS, EVENTS, JOBS
from sluice.kube.rights import AccessQuestion, Right, Where, asks, may_account, may_i, rights_of
from unit.kube.served import served, told

OPERATIONS = Path(__file__).parents[3] / "docs" / "operations.md"


def _row(right: Right) -> str:
    group = right.resource.group
    on = f"`{right.plural}.{group}`" if group else f"`{right.plural}`"
    one = f" called `{right.name}`" if right.name else ""
    needed = "" if right.is_needed else " (jobs run without it)"
    where = f"`{right.where}`" if right.where is Where.CLAIMS else right.where
    return f"| {', '.join(right.verbs)} | {on}{one} | {where} | {right.purpose}{needed} |"


def test_the_docs_have_the_whole_list_and_nothing_else() -> None:
    table = OPERATIONS.read_text(encoding="utf-8").partition(
        "| verbs | on | where | needed |\n| --- | --- | --- | --- |\n"
    )[2]
    assert table.partition("\n\n")[0].splitlines() == [_row(right) for right in rights_of("DEPLOYMENT")]


def test_each_right_is_asked_where_it_is_needed() -> None:
    rights = (Right(("get",), JOBS, Where.JOBS, ""), Right(("create",), EVENTS, Where.OWN, ""))
    assert [str(ask) for ask in asks(rights, "ops", ("a", "b"))] == [
        "get deltawritejobs.sluice.dev in namespace a",
        "get deltawritejobs.sluice.dev in namespace b",
        "create events in namespace ops",
    ]
    assert (
        next(str(ask) for ask in asks(rights, "ops", ())) == "get deltawritejobs.sluice.dev in all namespaces"
    )


def test_what_only_a_cluster_wide_installation_needs_is_not_asked_of_others() -> None:
    of_one = list(asks(rights_of("sluice"), "ops", ("a",)))
    of_all = list(asks(rights_of("sluice"), "ops", ()))
    assert not any(ask.right.resource is DEFINITIONS and ask.verb == "list" for ask in of_one)
    assert any(ask.right.resource is DEFINITIONS and ask.verb == "list" for ask in of_all)


def test_a_spark_operator_that_is_not_made_use_of_takes_no_rights() -> None:
    of_one = [str(ask) for ask in asks(rights_of("sluice", (EngineKind.KUBEFLOW,)), "ops", ())]
    assert not any("spark.apache.org" in ask for ask in of_one)
    assert not any(ask.startswith("get customresourcedefinitions") for ask in of_one)
    of_both = [str(ask) for ask in asks(rights_of("sluice"), "ops", ())]
    assert set(of_one) < set(of_both)
    assert "delete sparkapplications.spark.apache.org in all namespaces" in of_both


@pytest.mark.parametrize("allowed", [True, False])
async def test_the_api_server_is_asked_as_it_wants_to_be(allowed: bool) -> None:
    ask = AccessQuestion(
        "update", Right(("update",), CONFIG_MAPS, Where.CLAIMS, "", name="one"), "kube-system"
    )
    async with served(told({"status": {"allowed": allowed}}, 201)) as server:
        assert await may_i(server.kube, ask) is allowed
        assert await may_account(server.kube, ask, "ops", "sluice") is allowed
    own, other = server.asked
    assert own.path == "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    assert other.path == "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    assert b'"user":"system:serviceaccount:ops:sluice"' in other.body
    assert b'"name":"one"' in own.body
