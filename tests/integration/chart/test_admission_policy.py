"""The chart makes the admission policies where the API server has them, and runs two operators only there."""

from typing import Any

import pytest
import yaml

from integration.chart.helm import CHART, RELEASE, Helm, bodies_in, one
from integration.conftest import Kubectl
from sluice.api import names
from sluice.api.base import Json

KINDS = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
OLD = "1.29.4"


def made(helm: Helm, *values: str, kubernetes: str, namespace: str = "lake") -> list[Json]:
    done = helm.template(namespace, *values, kubernetes=kubernetes)
    assert done.returncode == 0, done.stderr
    return bodies_in(done.stdout)


def of_policies(bodies: list[Json]) -> list[Json]:
    return [body for body in bodies if body["kind"] in KINDS]


def standing(bodies: list[Json]) -> tuple[int, bool]:
    config = yaml.safe_load(one(bodies, "ConfigMap")["data"]["sluice.yaml"])
    return one(bodies, "Deployment")["spec"]["replicas"], config["admissionPolicy"]


@pytest.mark.parametrize("kubernetes", ["1.30.0", "v1.36.2-gke.7", "1.31.0-eks-1234"])
def test_two_operators_run_where_the_api_server_refuses_what_a_replaced_one_sends(
    helm: Helm, kubernetes: str
) -> None:
    bodies = made(helm, kubernetes=kubernetes)
    judged = {names.epoch_policy("lake", RELEASE, one) for one in names.JUDGED_BY_EPOCH}
    for kind in KINDS:
        assert judged <= {body["metadata"]["name"] for body in of_policies(bodies) if body["kind"] == kind}
    assert standing(bodies) == (2, True)
    assert standing(made(helm, "operator.replicas=1", kubernetes=kubernetes)) == (1, True)


@pytest.mark.parametrize(
    ("kubernetes", "values"), [(OLD, ()), ("1.36.0", ("admissionPolicy.enabled=false",))]
)
def test_without_them_one_operator_runs_and_more_are_refused(
    helm: Helm, kubernetes: str, values: tuple[str, ...]
) -> None:
    bodies = made(helm, *values, kubernetes=kubernetes)
    assert of_policies(bodies) == []
    assert standing(bodies) == (1, False)
    refused = helm.template("lake", *values, "operator.replicas=2", kubernetes=kubernetes)
    assert refused.returncode != 0
    assert "operator.replicas is 2, and there is no admission policy" in refused.stderr


def test_they_fail_closed_and_ask_the_parameter_of_their_own_installation(helm: Helm) -> None:
    bodies = of_policies(made(helm, "deployment=etl", kubernetes="1.36.0"))
    [accounts, *_] = [body for body in bodies if body["metadata"]["name"] == "accounts.etl.lake.sluice.dev"]
    assert accounts["spec"]["failurePolicy"] == "Fail"
    bodies = [body for body in bodies if body["metadata"]["name"] != "accounts.etl.lake.sluice.dev"]
    of_others = tuple(f"{kind}.etl.lake.sluice.dev" for kind in ("evidence", "owners", "specs"))
    for name in of_others:
        without = [body for body in bodies if body["metadata"]["name"] == name]
        assert [body["kind"] for body in without] == [*KINDS]
        policy, binding = (body["spec"] for body in without)
        assert policy["failurePolicy"] == "Fail"
        first, *_ = policy["matchConditions"]
        assert first["expression"] == "request.userInfo.username != 'system:serviceaccount:lake:etl'"
        assert binding == {"policyName": name, "validationActions": ["Deny"]}
    for body in (body for body in bodies if body["metadata"]["name"] not in of_others):
        spec: Any = body["spec"]
        if body["metadata"]["name"].startswith("parameters."):
            assert body["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}
        elif body["kind"] == "ValidatingAdmissionPolicy":
            assert spec["failurePolicy"] == "Fail"
            [only] = spec["matchConditions"]
            assert only["expression"] == "request.userInfo.username == 'system:serviceaccount:lake:etl'"
        else:
            ref = {"name": "etl-epoch", "namespace": "lake", "parameterNotFoundAction": "Deny"}
            assert (spec["paramRef"], spec["validationActions"]) == (ref, ["Deny"])


def test_installations_beside_each_other_share_none_of_them(helm: Helm) -> None:
    """Also where the name of one namespace and one release together read like those of another."""
    installations = (("a-b", "deployment=c"), ("a", "deployment=b-c"), ("b-c", "deployment=a"))
    found = [
        body["metadata"]["name"]
        for namespace, value in installations
        for body in of_policies(made(helm, value, kubernetes="1.36.0", namespace=namespace))
        if body["kind"] == KINDS[0]
    ]
    assert len(set(found)) == len(found) == 24


def test_one_that_watches_some_namespaces_looks_at_no_others(helm: Helm) -> None:
    bodies = of_policies(made(helm, "watchNamespaces={team,other}", kubernetes="1.36.0"))
    selectors = [
        body["spec"]["matchConstraints"].get("namespaceSelector")
        for body in bodies
        if body["kind"] == KINDS[0] and not body["metadata"]["name"].startswith(("parameters.", "accounts."))
    ]
    names_in = [selector["matchExpressions"][0]["values"] for selector in selectors]
    assert sorted(names_in) == [*[["team", "other"]] * 4, *[["team", "other", "lake"]] * 3]


def test_what_keeps_parameters_read_stays_and_the_next_installation_takes_it_over(
    helm: Helm, kubectl: Kubectl, namespace: str
) -> None:
    def types(*arguments: str) -> None:
        where = ("--namespace", namespace, f"--kubeconfig={kubectl.kubeconfig}", "--no-hooks")
        done = helm(*arguments, *where)
        assert done.returncode == 0, done.stderr

    def there() -> set[str]:
        found = kubectl("get", "validatingadmissionpolicies,validatingadmissionpolicybindings", "-o", "name")
        return {line for line in found.stdout.splitlines() if f".{namespace}." in line}

    install = ("install", RELEASE, str(CHART), "--set", "crds.install=false,rbac.aggregate=false")
    watched = ("--set", f"watchNamespaces={{{namespace}}},jobServiceAccount.create=false")
    types(*install, *watched)
    assert len(there()) == 16
    types("uninstall", RELEASE)
    assert {line.partition("/")[2].partition(".")[0] for line in there()} == {"parameters"}
    types(*install, *watched)
    assert len(there()) == 16
    types("uninstall", RELEASE)


@pytest.mark.parametrize(
    ("values", "accounts"),
    [
        ((), None),
        (("watchNamespaces={team}", "jobServiceAccount.create=false"), None),
        (
            ("watchNamespaces={team,other}",),
            "in ['system:serviceaccount:team:spark','system:serviceaccount:other:spark']",
        ),
        (("jobServiceAccount.namespaces={team}",), "in ['system:serviceaccount:team:spark']"),
        (("admissionPolicy.driverAccounts={team:etl}",), "in ['system:serviceaccount:team:etl']"),
        (("admissionPolicy.driverAccounts={*:etl}",), ".split(':')[3] in ['etl']"),
    ],
)
def test_the_drivers_that_are_judged_are_those_of_the_accounts_that_are_made_and_listed(
    helm: Helm, values: tuple[str, ...], accounts: str | None
) -> None:
    bodies = made(helm, *values, kubernetes="1.36.0")
    name = f"drivers.{RELEASE}.lake.sluice.dev"
    found = [body["spec"] for body in of_policies(bodies) if body["metadata"]["name"] == name]
    if accounts is None:
        assert found == []
        return
    policy, binding = found
    assert (policy["failurePolicy"], binding["validationActions"]) == ("Fail", ["Deny"])
    [condition] = policy["matchConditions"]
    assert accounts in condition["expression"]
