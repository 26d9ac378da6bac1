"""The fields of what a job runs on, where it differs from its profile in the operator's configuration."""

from typing import Annotated

from pydantic import Field

from sluice.api.base import Model
from sluice.api.bounds import Int32, bounded_int
from sluice.api.identifiers import ObjectName, SemanticVersion
from sluice.api.settings import SparkConf
from sluice.api.validation import Checked, matching

Quantity = Annotated[
    str,
    Field(max_length=32),
    Checked(
        matching(
            r"^[1-9][0-9]*[mgt]$",
            "must be an amount of memory as Spark writes it, such as 512m or 4g (not 4Gi)",
        )
    ),
]

Image = Annotated[
    str,
    Field(max_length=512),
    Checked(
        matching(
            r"^[^\t-\r ]+$",
            "must be an image such as registry.example/sluice-spark:4.2, without spaces",
        )
    ),
]


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
    """Processor cores of each executor."""
    memory: Quantity | None = None
    """Memory of each executor as Spark writes it, such as 8g."""


class Runtime(Model):
    """Overrides of the runtime profile."""

    image: Image | None = None
    """Container image with Spark, Delta and Sluice's runner; sparkVersion and deltaVersion must say what is in it."""
    spark_version: SemanticVersion | None = None
    """Version of Spark in the image, such as 4.2.0."""
    delta_version: SemanticVersion | None = None
    """Version of Delta Lake in the image, such as 4.4.0. It decides which conflict rules apply to this job, and
    overrides the table's policy: set it together with image."""
    service_account: ObjectName | None = None
    """Service account of the driver, in the job's namespace. It provides the access to the data."""
    driver: Driver | None = None
    """Size of the driver."""
    executor: Executor | None = None
    """Size and number of the executors."""
    spark_conf: SparkConf | None = None
    """Spark settings, such as spark.sql.session.timeZone: UTC. Sluice takes account of settings that change what the
    job touches, and passes on those that say how the work is done. A setting of Spark SQL or Delta that Sluice does
    not know makes the job wait for all other writers of its tables. Names are case-sensitive. No secrets."""
