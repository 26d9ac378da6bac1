"""`sluice run` while the API server goes away, and forgets what was between. No operator: the test writes the jobs' statuses."""

from pathlib import Path

import yaml

from devenv.stack import Stack
from integration.objects import Objects
from integration.operator.process import typed
from sluice.api import names


def test_a_run_is_followed_over_an_api_server_that_is_away_and_a_change_that_nobody_saw(
    own_stack: Stack, objects: Objects, kubeconfig: Path, tmp_path: Path
) -> None:
    file = tmp_path / "jobs.yaml"
    job = {
        "apiVersion": names.API_VERSION,
        "kind": names.JOB_KIND,
        "metadata": {"name": "patient"},
        "spec": {"sql": "DELETE FROM t"},
    }
    other = job | {"metadata": {"name": "other"}}
    file.write_text(yaml.safe_dump_all([job, other]), encoding="utf-8")
    with typed(kubeconfig, tmp_path, "run", str(file), "-n", objects.namespace) as command:
        command.says("other: created")
        objects.patch("deltawritejob", "patient", {"status": {"phase": "Running"}}, sub="status")
        command.says("patient: Running")
        own_stack.apiserver.kill()
        try:
            command.says("nothing is seen for now: ")
        finally:
            own_stack.apiserver.start()
        for name in ("patient", "other"):
            objects.patch("deltawritejob", name, {"status": {"phase": "Succeeded"}}, sub="status")
        assert command.ends() == 0, command.stderr
    assert command.stderr.count("nothing is seen for now: ") == 1
    assert command.stderr.count("the cluster answers again") == 1
    assert sorted(command.stdout.splitlines()) == [
        f"{objects.namespace}/other Succeeded",
        f"{objects.namespace}/patient Succeeded",
    ]
