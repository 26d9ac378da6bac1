"""`sluice render` beside a running operator: what it prints of a job is what the operator creates for it."""

from pathlib import Path

import pytest
import yaml

from integration.operator.accounts import Rule, kubeconfig_with
from integration.operator.played import Played, rewrite
from integration.operator.process import configuration, sluice
from integration.operator.rendered import in_words, rendered
from integration.operator.test_applications import TEMPLATE
from sluice.api import names
from sluice.api.base import Json

WRITE: Json = {
    "table": {"path": "/lake/rendered-write"},
    "mode": "Append",
    "source": {
        "format": "jdbc",
        "options": {"dbtable": "orders"},
        "optionsFrom": [{"option": "password", "secretKeyRef": {"name": "db", "key": "password"}}],
    },
}
JOBS: dict[str, Json] = {
    "sql": rewrite("/lake/rendered-sql", runtime={"driver": {"memory": "3g"}}),
    "write": {"write": WRITE},
    "own": {
        "application": {"engine": "kubeflow", "template": TEMPLATE},
        "footprint": [{"table": {"path": "/lake/rendered-own"}, "operation": "Append"}],
    },
}


@pytest.mark.parametrize("kind", JOBS)
def test_what_is_printed_of_a_job_is_what_is_created_for_it(
    kind: str, shared: Played, kubeconfig: Path, tmp_path: Path
) -> None:
    """While it waits, runs and once it is over. An account needs the right to read jobs, and the operator's configuration."""
    name = f"rendered-{kind}"
    config = tmp_path / "sluice.yaml"
    config.write_text(yaml.safe_dump(configuration([shared.namespace], shared.redis_url)), encoding="utf-8")
    options = () if kind == "own" else ("--config", str(config))
    shared.apply(f"before-{name}", rewrite(f"/lake/{name}"))
    ahead = shared.start(f"before-{name}")
    shared.apply(name, JOBS[kind], {"labels": {"kueue.x-k8s.io/queue-name": "etl", "team": "sales"}})
    shared.reaches(name, "Waiting")
    rights: Rule = (names.GROUP, "get", {names.JOB_PLURAL: []})
    job = f"{shared.namespace}/{name}"
    with kubeconfig_with(kubeconfig, shared.namespace, tmp_path, rights) as own:
        waiting = rendered(own, job, *options)
        ahead.succeeds(f"file:/lake/{name}")
        driver = shared.start(name)
        shared.reaches(name, "Running")
        created = shared.application(driver.application)
        assert created is not None
        running = rendered(own, name, "-n", shared.namespace, "-o", "json", *options)
        driver.succeeds(f"file:/lake/{name}", 2)
        shared.reaches(name, "Succeeded")
        over = rendered(own, job, "-o", "json", *options)
    assert waiting == in_words(created, token=True)
    assert running == in_words(created)
    assert over == running


def test_of_a_job_that_is_refused_each_problem_is_a_line_and_of_none_nothing_is_printed(
    shared: Played, kubeconfig: Path
) -> None:
    template = TEMPLATE | {"mode": "client", "restartPolicy": {"type": "Always"}}
    shared.apply("rendered-not", JOBS["own"] | {"application": {"engine": "kubeflow", "template": template}})
    told = shared.reaches("rendered-not", "Failed")["message"]
    job = f"{shared.namespace}/rendered-not"
    refused = sluice(kubeconfig, "render", job)
    assert (refused.returncode, refused.stdout) == (3, "")
    first, second = refused.stderr.splitlines()
    assert told.startswith(first.removeprefix(f"{job}: the operator would refuse it: "))
    assert told.endswith("; and 1 more")
    assert "spec.application.template.restartPolicy.type: " in second
    missing = sluice(kubeconfig, "render", f"{shared.namespace}/rendered-nowhere")
    assert (missing.returncode, missing.stdout) == (4, "")
    assert missing.stderr.startswith(f"there is no job {shared.namespace}/rendered-nowhere")
