"""Nobody but the operator says of a job that a policy made it: the API server refuses it, by the chart's own policy."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from devenv import kubernetes_binaries
from devenv.kubernetes_binaries import HELM
from devenv.toolchain import cache
from integration.chart.helm import RELEASE, Helm
from integration.objects import Objects, RefusedRequestError, Server
from integration.operator.fenced import Fenced, fenced
from integration.operator.played import append
from integration.waiting import eventually
from sluice.api import names
from sluice.api.base import Json

REFUSED = "the operator alone makes such jobs"
LABELS: Json = {names.LABEL_POLICY: "orders", names.LABEL_POLICY_KIND: "optimize"}
OWNER: Json = {
    "apiVersion": names.API_VERSION,
    "kind": names.POLICY_KIND,
    "name": "orders",
    "uid": "5a1bcd3e-0000-4000-8000-000000000001",
    "controller": True,
}
CLAIMS: dict[str, Json] = {
    "owner": {"ownerReferences": [OWNER]},
    "owner that does not control": {"ownerReferences": [OWNER | {"controller": False}]},
    "label": {"labels": {names.LABEL_POLICY: "orders"}},
    "kind": {"labels": {names.LABEL_POLICY_KIND: "optimize"}},
}


def job(name: str, **metadata: object) -> Json:
    return {
        "apiVersion": names.API_VERSION,
        "kind": names.JOB_KIND,
        "metadata": {"name": name, **metadata},
        "spec": append(f"/lake/{name}"),
    }


def policy(objects: Objects) -> str:
    """A policy that there is: what an owner that doesn't exist has made is collected as garbage. Returns its uid."""
    spec = {"table": {"path": "/lake/made"}}
    body = {
        "apiVersion": names.API_VERSION,
        "kind": names.POLICY_KIND,
        "metadata": {"name": OWNER["name"]},
        "spec": spec,
    }
    return str(objects.create("deltatablepolicy", body)["metadata"]["uid"])


def is_refused(objects: Objects, body: Json) -> bool:
    path = f"/apis/{names.API_VERSION}/namespaces/{objects.namespace}/{names.JOB_PLURAL}?dryRun=All"
    return _refuses(lambda: objects.server.ask("POST", path, body))


def edit_is_refused(objects: Objects, name: str, metadata: Json) -> bool:
    return _refuses(lambda: objects.patch("deltawritejob", name, {"metadata": metadata}))


def _refuses(doing: Callable[[], object]) -> bool:
    try:
        doing()
    except RefusedRequestError as error:
        if REFUSED not in str(error):
            raise
        return True
    return False


@pytest.fixture
def here(objects: Objects, kubeconfig: Path, tmp_path: Path) -> Iterator[Fenced]:
    """Without the policies of epochs, for which an operator keeps a parameter."""
    helm = Helm(kubernetes_binaries.ensure(cache(), HELM) / "helm")
    with fenced(helm, objects, kubeconfig, tmp_path) as made:
        made.install(f"owners.{RELEASE}.")
        eventually(lambda: is_refused(objects, job("probe", labels=LABELS)), "the policy is in force")
        yield made


def test_a_job_that_says_that_a_policy_made_it_is_refused_with_what_to_remove(
    here: Fenced, objects: Objects
) -> None:
    for what, claim in CLAIMS.items():
        assert is_refused(objects, job("forged", **claim)), what
    objects.create("deltawritejob", job("plain", labels={"team": "sales"}))
    for what, claim in CLAIMS.items():
        assert edit_is_refused(objects, "plain", claim), what


def test_a_policys_own_job_is_edited_by_everybody_as_far_as_it_stays_its_own(
    here: Fenced, objects: Objects
) -> None:
    own = Objects(Server.of(here.kubeconfig), objects.namespace)
    made_by = OWNER | {"uid": policy(objects)}
    own.create("deltawritejob", job("made", labels=LABELS, ownerReferences=[made_by]))
    objects.patch("deltawritejob", "made", {"spec": {"admission": {"suspend": True}}})
    objects.patch("deltawritejob", "made", {"metadata": {"annotations": {names.ANNOTATION_RETRY: "1"}}})
    another = OWNER | {"uid": "5a1bcd3e-0000-4000-8000-000000000002"}
    assert edit_is_refused(objects, "made", {"labels": {names.LABEL_POLICY: "others"}})
    assert edit_is_refused(objects, "made", {"ownerReferences": [another]})
    objects.patch("deltawritejob", "made", {"metadata": {"labels": dict.fromkeys(LABELS)}})
