"""What shells and kubectl are told of the command line."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sluice.cli import kubectl_completion
from sluice.cli.completion import PROGRAM, VARIABLE
from unit.cli.folders import sluice

OPERATOR = Path(__file__).parents[3] / "operator"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script_that_asks_this_program(shell: str) -> None:
    script = sluice("completion", shell).stdout
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
        (["resu"], "resume"),
        (["ret"], "retry"),
        (["retry", "--wa"], "--wait"),
        (["bun"], "bundle"),
        (["bundle", "--operator"], "--operator-namespace"),
        (["suspend", "--sel"], "--selector"),
        (["wait", "--for", "Runn"], "Running"),
    ],
)
def test_kubectl_is_told_what_may_follow_and_that_files_may(
    words: list[str], completed: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["kubectl_complete-sluice", *words])
    for variable in ("COMP_WORDS", "COMP_CWORD", VARIABLE):  # it sets them for good
        monkeypatch.setenv(variable, "")
    with pytest.raises(SystemExit) as ended:
        kubectl_completion.main()
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"{completed}\n:0\n"
