"""Whoever applies an example is not refused."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from sluice.api import names
from sluice.engines import RuntimeProfile
from sluice.lifecycle.job.job_view import JobView

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
def test_the_operator_understands_each_example(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for body in yaml.safe_load_all(text):
        if body["kind"] == names.JOB_KIND:
            profile = RuntimeProfile(spark_version="4.2.0", delta_version="4.4.0")
            profiles = {"default": profile, "large": profile}
            body["metadata"] |= {"uid": "u", "namespace": "etl"}
            assert JobView(body, profiles, datetime.now(UTC)).footprint_from_spec.keys
