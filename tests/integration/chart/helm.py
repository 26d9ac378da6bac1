"""Helm itself, on the project's chart."""

import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from devenv.project import ROOT
from sluice.api.base import Json

CHART = ROOT / "charts" / "sluice"
RELEASE = "sluice"
KUBERNETES = "1.36.0"
NO_DEFINITIONS = "crds.install=false"
"""For a test that says nothing of them: they are half of Helm's work, and most of the API server's."""
OF_THE_CLUSTER = (
    *("ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition"),
    *("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"),
)


def bodies_in(rendered: str) -> list[Json]:
    """By libyaml: Python's own parser takes twice as long for the definitions as Helm does for the chart."""
    return [body for body in yaml.load_all(rendered, Loader=yaml.CSafeLoader) if body]


@dataclass(frozen=True)
class Helm:
    program: Path

    def template(
        self,
        namespace: str,
        *values: str,
        kubernetes: str = KUBERNETES,
        release: str = RELEASE,
        upgrading: Path | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Renders the chart; values are NAME=VALUE as in --set, string:NAME=VALUE as in --set-string, or
        file:PATH as in --values. `upgrading`: the kubeconfig of a cluster that has the release, and may be asked for it.
        The caller looks at returncode and what it says."""
        options = ["--namespace", namespace, "--kube-version", kubernetes]
        if upgrading is not None:
            options += ["--is-upgrade", "--dry-run=server", f"--kubeconfig={upgrading}"]
        return self("template", release, str(CHART), *options, *_options(values))

    def notes(self, kubeconfig: Path, namespace: str, *values: str) -> str:
        """What an install prints at its end, in a cluster that has the definitions."""
        options = ("--namespace", namespace, f"--kubeconfig={kubeconfig}", "--dry-run=server")
        given = _options([*values, NO_DEFINITIONS])
        done = self("install", RELEASE, str(CHART), *options, *given)
        assert done.returncode == 0, done.stderr
        return done.stdout.partition("\nNOTES:\n")[2]

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(self.program), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)

    def rendered(self, namespace: str, *values: str, release: str = RELEASE) -> list[Json]:
        done = self.template(namespace, *values, release=release)
        assert done.returncode == 0, done.stderr
        bodies = bodies_in(done.stdout)
        for body in bodies:  # as Helm does when it creates them
            if body["kind"] not in OF_THE_CLUSTER:
                body["metadata"].setdefault("namespace", namespace)
        return bodies


def _options(values: Iterable[str]) -> Iterator[str]:
    for value in values:
        kind, _, rest = value.partition(":")
        yield from {"string": ("--set-string", rest), "file": ("--values", rest)}.get(kind, ("--set", value))


def one(bodies: Iterable[Json], kind: str, name: str = RELEASE) -> Json:
    found = [body for body in bodies if (body["kind"], body["metadata"]["name"]) == (kind, name)]
    assert len(found) == 1, f"{len(found)} objects are {kind} {name}"
    return found[0]


def pods(bodies: Iterable[Json]) -> Iterator[tuple[str, Json]]:
    """Every pod that the chart's objects make, by the name of what makes it."""
    for body in bodies:
        if body["kind"] in ("Deployment", "StatefulSet", "Job"):
            template = body["spec"]["template"]
            name = f"{body['kind'].lower()}-{body['metadata']['name']}"
            yield (
                name,
                {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": template["spec"]},
            )
