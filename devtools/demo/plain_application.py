"""What a plain SparkApplication of the demo runs: the statements of a job and nothing around them.

Spark runs this file by its path. It reads a plan and executes it with the runner's own functions, but without what Sluice
adds: no stamp on its commits, no look at the table's log before or after, no lease.
"""

import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "spark-images" / "runner" / "src"))

from pyspark.sql import SparkSession

from sluice_runner import session, write
from sluice_runner.driver_end import TERMINATION_LOG
from sluice_runner.failures import classify
from sluice_runner.plan import Plan, Sql, Write, decode
from sluice_runner.result import Result, encode


def main(arguments: Sequence[str]) -> int:
    plan = decode(arguments)
    spark = session.start(plan.assumed)
    try:
        _execute(spark, plan)
    except Exception as error:  # noqa: BLE001 - whatever it is, the application ended with it, and it is told
        traceback.print_exc()
        result = Result(plan.attempt, failure=classify(error))
    else:
        result = Result(plan.attempt)
    Path(os.environ[TERMINATION_LOG]).write_bytes(encode(result))
    spark.stop()
    return 0 if result.succeeded else 1


def _execute(spark: SparkSession, plan: Plan) -> None:
    if isinstance(plan.work, Write):
        write.run(spark, plan.work)
    elif isinstance(plan.work, Sql):
        for statement in plan.work.statements:
            spark.sql(statement.text)
    else:
        raise TypeError("the demo makes plain applications of sql and write jobs alone")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
