"""The plan that the operator makes of a job. Apart from what builds plans by hand, which programs use that know no operator."""

from __future__ import annotations

import pyspark

from integration.runner.jobs import Document
from sluice.api.job import DeltaWriteJobSpec
from sluice.engines.plan import plan_for
from sluice.engines.profile import RuntimeProfile


def of_job(spec: Document) -> Document:
    """The plan that the operator makes of a job."""
    return plan_for(
        {"namespace": "sales", "name": "daily", "uid": "1d3f"},
        DeltaWriteJobSpec.model_validate(spec),
        RuntimeProfile(spark_version=pyspark.__version__),
        run_key="run-1",
        spec_hash="abc",
        attempt=1,
        token=4294967297,
    )
