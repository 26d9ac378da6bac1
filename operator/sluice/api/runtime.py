"""What a job runs on, as far as it differs from the profile of the operator's configuration."""

from typing import Annotated

from pydantic import Field

from sluice.api.base import Model
from sluice.api.rules import Checked, matching
from sluice.api.values import Int32, ObjectName, Quantity, SemanticVersion, SparkConf, bounded_int


class Driver(Model):
    """Size of the driver."""

    cores: Annotated[Int32, bounded_int(1, 1024)] | None = None
    """Processor cores."""
    memory: Quantity | None = None
    """Memory as Spark writes it, such as 4g."""


class Executor(Model):
    """Size and number of the executors."""

    instances: Annotated[Int32, bounded_int(1, 10000)] | None = None
    """How many executors."""
    cores: Annotated[Int32, bounded_int(1, 1024)] | None = None
    """Processor cores of each."""
    memory: Quantity | None = None
    """Memory of each as Spark writes it, such as 8g."""


class Runtime(Model):
    """Overrides of the runtime profile."""

    image: (
        (
            Annotated[
                str,
                Field(max_length=512),
                Checked(
                    matching(
                        r"^[^\t-\r ]+$",
                        "must be an image such as registry.example/sluice-spark:4.2, without blanks",
                    )
                ),
            ]
        )
        | None
    ) = None
    """Container image with Spark, Delta and Sluice's runner; sparkVersion and deltaVersion must say what is in it."""
    spark_version: SemanticVersion | None = None
    """Version of Spark in the image, such as 4.2.0."""
    delta_version: SemanticVersion | None = None
    """Version of Delta Lake in the image, such as 4.4.0. It decides by which conflict rules this job is judged, and beats
    what the table's policy says: give it together with image."""
    service_account: ObjectName | None = None
    """Service account of the driver, in the job's namespace. It is what brings access to the data."""
    driver: Driver | None = None
    """Size of the driver."""
    executor: Executor | None = None
    """Size and number of the executors."""
    spark_conf: SparkConf | None = None
    """Spark settings, such as spark.sql.session.timeZone: UTC. Those that change what the job touches are understood when it
    is judged, those of how the work is done are passed on, and one of Spark's SQL or Delta that Sluice doesn't know makes it
    wait for all other writers of its tables. Upper and lower case count. No secrets."""
