"""Whoever applies an example is told in it whether the operator runs it already."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from sluice.api import names
from sluice.engines import RuntimeProfile
from sluice.footprint import NotUnderstoodError
from sluice.lifecycle.job import JobView

EXAMPLES = Path(__file__).parents[3] / "examples"
FILES = [
    *sorted(EXAMPLES.glob("*.yaml")),
    *sorted((EXAMPLES / "gitops" / "jobs").glob("*.yaml")),
    *(
        EXAMPLES / "migrating" / name
        for name in ("spark-application/after.yaml", "airflow/merge-orders.yaml")
    ),
]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_example_says_so_if_the_operator_does_not_run_it_yet(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for body in yaml.safe_load_all(text):
        if body["kind"] == names.JOB_KIND:
            profile = RuntimeProfile(spark_version="4.2.0", delta_version="4.4.0")
            profiles = {"default": profile, "large": profile}
            body["metadata"] |= {"uid": "u", "namespace": "etl"}
            assert _is_run(JobView(body, profiles, datetime.now(UTC))) is ("# Not yet: " not in text)


def _is_run(job: JobView) -> bool:
    """Anything else that an example does wrong is an error."""
    try:
        return bool(job.footprint_from_spec.keys)
    except NotUnderstoodError as error:
        if ": not supported yet: " in str(error):
            return False
        raise
