"""A terminal as a reader of the documentation has one: kubectl and sluice on PATH, a namespace chosen, a folder to be in."""

import os
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import yaml

from integration.conftest import Kubectl

ROOT = Path(__file__).parents[2]


@dataclass
class Terminal:
    folder: Path
    environment: dict[str, str]

    @staticmethod
    def opened(kubectl: Kubectl, namespace: str, folder: Path, home: Path) -> "Terminal":
        """`home`: an empty folder for what the terminal itself needs."""
        programs = home / "bin"
        programs.mkdir(parents=True)
        (programs / "kubectl").symlink_to(kubectl.program)
        _write_program(programs / "sluice", f'exec {sys.executable} -m sluice.cli.main "$@"')
        config = yaml.safe_load(kubectl.kubeconfig.read_text(encoding="utf-8"))
        for context in config["contexts"]:
            context["context"]["namespace"] = namespace
        (home / "kubeconfig").write_text(yaml.safe_dump(config), encoding="utf-8")
        environment = {
            **os.environ,
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT / "operator"),
            "KUBECONFIG": str(home / "kubeconfig"),
        }
        return Terminal(folder, environment)

    def run(self, command: str, *, exit_code: int = 0, seconds: int = 300) -> str:
        """Returns what it printed; the test fails with that where it ends otherwise than it should."""
        words = shlex.split(command)
        if words[0] == "cd":
            self.folder = self.folder / words[1]
            assert self.folder.is_dir(), command
            return ""
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=seconds,
        )
        assert done.returncode == exit_code, f"$ {command}\n{done.stdout}{done.stderr}"
        return done.stdout


def _write_program(file: Path, line: str) -> None:
    file.write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
    file.chmod(0o755)
