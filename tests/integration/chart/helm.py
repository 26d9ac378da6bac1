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
OF_THE_CLUSTER = ("ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition")


@dataclass(frozen=True)
class Helm:
    program: Path

    def template(
        self, namespace: str, *values: str, kubernetes: str = KUBERNETES, release: str = RELEASE
    ) -> subprocess.CompletedProcess[str]:
        """Renders the chart; values are NAME=VALUE as in --set, string:NAME=VALUE as in --set-string, or
        file:PATH as in --values. The caller looks at returncode and what it says."""
        given = [word for value in values for word in _given(value)]
        command = [str(self.program), "template", release, str(CHART), "--namespace", namespace]
        return subprocess.run(
            [*command, "--kube-version", kubernetes, *given],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    def rendered(self, namespace: str, *values: str, release: str = RELEASE) -> list[Json]:
        done = self.template(namespace, *values, release=release)
        assert done.returncode == 0, done.stderr
        bodies = [body for body in yaml.safe_load_all(done.stdout) if body]
        for body in bodies:  # as Helm does when it creates them
            if body["kind"] not in OF_THE_CLUSTER:
                body["metadata"].setdefault("namespace", namespace)
        return bodies


def _given(value: str) -> tuple[str, str]:
    for prefix, option in (("string:", "--set-string"), ("file:", "--values")):
        if value.startswith(prefix):
            return (option, value.removeprefix(prefix))
    return ("--set", value)


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
