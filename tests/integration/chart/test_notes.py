"""What `helm install` prints at its end: commands that work."""

import re
import shlex
from pathlib import Path

import pytest

from devenv.project import ROOT
from integration.chart.helm import Helm
from integration.conftest import Kubectl
from sluice.engines.account import commands, driver_rules

ETL = ("runtimes.etl.serviceAccount=etl", "runtimes.etl.sparkVersion=4.2.0", "runtimes.etl.image=spark")
WITHOUT_ACCOUNT = [(), ("watchNamespaces={team}", "jobServiceAccount.create=false")]


def _typed(notes: str) -> list[str]:
    """The commands: what is indented, with continued lines joined."""
    joined = re.sub(r"\\\n\s*", "", notes)
    return [line.strip() for line in joined.splitlines() if line.startswith("  ")]


@pytest.mark.parametrize("values", WITHOUT_ACCOUNT)
def test_the_account_of_jobs_is_made_with_the_rights_of_a_driver(
    helm: Helm, kubeconfig: Path, values: tuple[str, ...]
) -> None:
    typed = _typed(helm.notes(kubeconfig, "sluice-system", *values))
    for command in commands("NAMESPACE", "spark").split(" && "):
        assert command in typed


def test_the_commands_make_the_account_and_its_rights(
    kubectl: Kubectl, namespace: str, tmp_path: Path
) -> None:
    done = kubectl.typed(commands(namespace, "etl"), tmp_path)
    assert done.returncode == 0, done.stderr
    assert kubectl.json("get", "role", "etl-driver", "-n", namespace)["rules"] == driver_rules()
    binding = kubectl.json("get", "rolebinding", "etl-driver", "-n", namespace)
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "etl", "namespace": namespace}]


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ((), "*:spark"),
        (("admissionPolicy.driverAccounts={*:spark}",), None),
        (("admissionPolicy.driverAccounts={*:another}",), "*:spark"),
        (("watchNamespaces={team}",), None),
        (
            ("watchNamespaces={team}", "runtimes.default.serviceAccount=etl", "jobServiceAccount.name=etl"),
            None,
        ),
        (("watchNamespaces={team}", "jobServiceAccount.create=false"), "*:spark"),
        (("watchNamespaces={team}", *ETL), "*:etl"),
        (("watchNamespaces={team}", "admissionPolicy.enabled=false"), None),
    ],
)
def test_drivers_of_accounts_that_no_policy_judges_are_to_be_listed(
    helm: Helm, kubeconfig: Path, values: tuple[str, ...], told: str | None
) -> None:
    notes = helm.notes(kubeconfig, "sluice-system", *values)
    warning = (
        f"drivers of these accounts may change the pods of others in their namespace: {told}. List them in\n"
    )
    assert (warning in notes) is (told is not None)
    assert ("admissionPolicy.driverAccounts" in notes) is (told is not None)


def test_an_account_that_the_chart_makes_needs_no_commands(helm: Helm, kubeconfig: Path) -> None:
    assert "create serviceaccount" not in helm.notes(kubeconfig, "sluice-system", "watchNamespaces={team}")


def test_its_last_commands_are_about_a_first_job(helm: Helm, kubectl: Kubectl, namespace: str) -> None:
    notes = helm.notes(kubectl.kubeconfig, namespace, f"watchNamespaces={{{namespace}}}")
    [program, *applies], [_, *watches] = (shlex.split(command) for command in _typed(notes)[-2:])
    assert program == "kubectl"
    assert applies[:3] == ["apply", "-n", namespace]
    *_, file = applies
    done = kubectl(*applies[:-1], str(ROOT / file))
    assert (done.returncode, done.stderr) == (0, "")
    assert watches.pop() == "--watch"
    listed = kubectl(*watches)
    assert "make-orders" in listed.stdout
