"""The cluster as the demo uses it: what a person would do with kubectl."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Json = dict[str, Any]


class DemoError(Exception):
    """What went wrong, in a sentence."""


@dataclass(frozen=True)
class Cluster:
    kubeconfig: Path
    namespace: str

    def apply(self, manifests: list[Json]) -> None:
        bundle = {"apiVersion": "v1", "kind": "List", "items": manifests}
        self.kubectl("apply", "-f", "-", content=json.dumps(bundle))

    def apply_files(self, folders: list[Path]) -> None:
        named = [argument for folder in folders for argument in ("-f", str(folder))]
        self.kubectl("apply", "--server-side", "--force-conflicts", *named)
        self.kubectl("wait", "--for=condition=Established", "--timeout=60s", *named)

    def jobs(self) -> dict[str, Json]:
        return {job["metadata"]["name"]: job for job in self._list("deltawritejobs.sluice.dev")}

    def _list(self, kind: str) -> list[Json]:
        found: list[Json] = json.loads(self.kubectl("get", kind, "-o", "json"))["items"]
        return found

    def kubectl(self, *arguments: str, content: str | None = None) -> str:
        command = ["kubectl", f"--kubeconfig={self.kubeconfig}", "--namespace", self.namespace, *arguments]
        return _run(command, content)


def kubeconfig_of(context: str, folder: Path) -> Path:
    """A kubeconfig with this context alone, so that everything the demo starts talks to this cluster."""
    path = folder / "kubeconfig"
    path.touch(mode=0o600)
    path.write_text(
        _run(["kubectl", "config", "view", "--raw", "--minify", "--flatten", f"--context={context}"])
    )
    return path


def _run(command: list[str], content: str | None = None) -> str:
    done = subprocess.run(command, input=content, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise DemoError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout
