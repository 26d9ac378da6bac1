"""What shells and kubectl are told of the command line."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sluice.cli import kubectl_completion
from sluice.cli.completion import PROGRAM, VARIABLE

OPERATOR = Path(__file__).parents[3] / "operator"


def ran(code: str, *arguments: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "PYTHONPATH": str(OPERATOR), **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script_that_asks_this_program(shell: str) -> None:
    script = ran("from sluice.cli.main import app; app()", "completion", shell)
    assert PROGRAM in script
    assert f"{VARIABLE}=complete_{shell}" in script


def test_a_bash_that_runs_the_script_completes_commands_and_options(tmp_path: Path) -> None:
    program = tmp_path / "sluice"
    program.write_text(
        f"#!{sys.executable}\nfrom sluice.cli.main import app\napp(prog_name='sluice')\n", encoding="utf-8"
    )
    program.chmod(0o755)
    asked = (
        'eval "$(sluice completion bash)"; COMP_WORDS=(sluice wait --fa) COMP_CWORD=2; '
        "_sluice_completion sluice; echo ${COMPREPLY[*]}"
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", asked],
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(OPERATOR)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "--fail-on-skip\n", done.stderr


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        (["leases", "rev"], "revoke"),
        (["wait", "--fa"], "--fail-on-skip"),
        (["wait", "--for", "Runn"], "Running"),
    ],
)
def test_kubectl_is_told_what_may_follow_and_that_files_may(words: list[str], completed: str) -> None:
    told = ran(f"from {kubectl_completion.__name__} import main; main()", *words)
    assert told == f"{completed}\n:0\n"
