"""The operator's entry point on a machine that lacks what it needs."""

import json
import os
import subprocess
import sys
from pathlib import Path

WITHOUT_KOPF = """
import sys
sys.modules["kopf"] = None
from sluice.controller.__main__ import main
sys.exit(main())
"""


def test_what_is_not_installed_is_one_sentence_with_the_command_that_installs_it() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_KOPF],
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 2
    assert done.stderr == (
        'kopf is not installed, and the operator needs it: pip install ".[operator]" in a checkout\n'
    )


def test_a_kubeconfig_that_is_broken_is_one_sentence(tmp_path: Path) -> None:
    kubeconfig, config = tmp_path / "kubeconfig", tmp_path / "sluice.yaml"
    kubeconfig.write_text("", encoding="utf-8")
    config.write_text("runtimes: {default: {sparkVersion: 4.2.0}}\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "sluice.controller", "--config", str(config)],
        env={**os.environ, "PYTHONPATH": ":".join(sys.path), "KUBECONFIG": str(kubeconfig)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 2, done.stderr
    assert json.loads(done.stderr)["message"].startswith(f"{kubeconfig} leads to no cluster: ")
