"""The plan that the operator makes of a job. Apart from what builds plans by hand, which programs use that know no operator."""

from __future__ import annotations

from collections.abc import Sequence

import pyspark

from integration.runner.jobs import Document
from sluice.api.job import DeltaWriteJobSpec
from sluice.engines.plan import PlannedRun, plan_for, plan_variable
from sluice.engines.profile import RuntimeProfile
from sluice.footprint import TableFootprint


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


def of_application(touched: Sequence[TableFootprint], run: PlannedRun | None) -> str:
    """What the operator puts into the driver's environment."""
    template = {
        "type": "Python",
        "mode": "cluster",
        "sparkVersion": pyspark.__version__,
        "mainApplicationFile": "local:///app/program.py",
        "driver": {},
        "executor": {},
    }
    spec = {
        "application": {"engine": "kubeflow", "template": template},
        "footprint": [{"table": {"path": "/lake/orders"}, "operation": "Append"}],
    }
    plan = plan_for(
        {"namespace": "sales", "name": "nightly", "uid": "1d3f"},
        DeltaWriteJobSpec.model_validate(spec),
        RuntimeProfile(spark_version=pyspark.__version__),
        run_key="run-1",
        spec_hash="abc",
        attempt=2,
        token=4294967298,
        touched=touched,
        run=run,
    )
    return plan_variable(plan)["value"]
