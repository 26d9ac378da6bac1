"""The values that the documentation shows for tables in object stores give the operator's pod what each cloud asks for."""

import json
import re
from pathlib import Path

import pytest
import yaml

from devenv.project import ROOT
from integration.chart.helm import Helm, one
from integration.conftest import Kubectl
from sluice.api.base import Json
from sluice.engines import RuntimeProfile
from sluice.online.doctor.findings import FindingLevel
from sluice.online.doctor.runtime_checks import log_stores

GUIDE = ROOT / "docs" / "operations.md"
SHOWN = dict(
    re.findall(r"```yaml\n# values: ([^\n]+)\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
)


@pytest.fixture
def shown(
    helm: Helm, kubectl: Kubectl, restricted: str, tmp_path: Path, request: pytest.FixtureRequest
) -> list[Json]:
    """What the chart makes of the values, which the API server takes."""
    file = tmp_path / "values.yaml"
    file.write_text(SHOWN[request.param], encoding="utf-8")
    made = helm.rendered(restricted, f"file:{file}")
    for kind in ("Deployment", "ServiceAccount"):
        arguments = ("apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-")
        done = kubectl(*arguments, stdin=json.dumps(one(made, kind)))
        assert done.returncode == 0, done.stderr
        assert "Warning" not in done.stderr
    return made


def pod_of(made: list[Json]) -> Json:
    template: Json = one(made, "Deployment")["spec"]["template"]
    return template


def variables(made: list[Json]) -> dict[str, str]:
    (container,) = pod_of(made)["spec"]["containers"]
    return {one["name"]: one.get("value", "") for one in container["env"]}


def test_every_example_is_looked_at() -> None:
    assert set(SHOWN) == {
        *("variables from a Secret", "a file from a Secret"),
        *("a role on EKS", "an identity on AKS", "an account on GKE"),
    }


@pytest.mark.parametrize("shown", ["variables from a Secret"], indirect=True)
def test_a_secrets_keys_are_variables(shown: list[Json]) -> None:
    (container,) = pod_of(shown)["spec"]["containers"]
    assert container["envFrom"] == [{"secretRef": {"name": "lake-reader"}}]
    assert variables(shown)["AWS_REGION"] == "eu-central-1"


@pytest.mark.parametrize("shown", ["a file from a Secret"], indirect=True)
def test_a_mounted_secret_is_the_file_that_the_variable_names_and_follows_the_secret(
    shown: list[Json],
) -> None:
    (container,) = pod_of(shown)["spec"]["containers"]
    (mount,) = (one for one in container["volumeMounts"] if one["name"] == "lake-reader")
    (volume,) = (one for one in pod_of(shown)["spec"]["volumes"] if one["name"] == "lake-reader")
    assert volume["secret"] == {"secretName": "lake-reader"}
    assert "subPath" not in mount
    assert variables(shown)["AWS_SHARED_CREDENTIALS_FILE"] == f"{mount['mountPath']}/credentials"


ANNOTATED = {
    "a role on EKS": "eks.amazonaws.com/role-arn",
    "an identity on AKS": "azure.workload.identity/client-id",
    "an account on GKE": "iam.gke.io/gcp-service-account",
}


@pytest.mark.parametrize(("shown", "annotation"), ANNOTATED.items(), ids=ANNOTATED.keys(), indirect=["shown"])
def test_the_pod_runs_as_the_annotated_account_and_has_no_key(shown: list[Json], annotation: str) -> None:
    account = one(shown, "ServiceAccount")
    assert annotation in account["metadata"]["annotations"]
    assert pod_of(shown)["spec"]["serviceAccountName"] == account["metadata"]["name"]
    assert not any(name.startswith(("AWS_", "AZURE_", "GOOGLE_")) for name in variables(shown))


@pytest.mark.parametrize("shown", ["an identity on AKS"], indirect=True)
def test_the_pod_has_the_label_by_which_aks_knows_it(shown: list[Json]) -> None:
    assert pod_of(shown)["metadata"]["labels"]["azure.workload.identity/use"] == "true"


@pytest.mark.parametrize(
    "file", sorted((ROOT / "examples" / "s3").glob("values-*.yaml")), ids=lambda file: file.stem
)
def test_the_values_to_copy_make_a_runtime_whose_jobs_on_s3_go_beside_each_other(
    helm: Helm, file: Path
) -> None:
    made = helm.rendered("sluice-system", f"file:{file}")
    configured = yaml.safe_load(one(made, "ConfigMap")["data"]["sluice.yaml"])["runtimes"]["default"]
    profile = RuntimeProfile.model_validate(configured)
    assert {finding.level for finding in log_stores("default", profile)} == {FindingLevel.OK}
    assert any(name.startswith("spark.hadoop.fs.s3a.") for name in profile.spark_conf)


def test_the_account_of_the_jobs_is_annotated_in_each_of_their_namespaces(helm: Helm) -> None:
    role = "eks.amazonaws.com/role-arn"
    made = helm.rendered(
        "sluice-system",
        "watchNamespaces={a,b}",
        r"jobServiceAccount.annotations.eks\.amazonaws\.com/role-arn=writes",
    )
    accounts = [
        body["metadata"]
        for body in made
        if body["kind"] == "ServiceAccount" and body["metadata"]["name"] == "spark"
    ]
    assert {account["namespace"]: account["annotations"] for account in accounts} == {
        "a": {role: "writes"},
        "b": {role: "writes"},
    }
