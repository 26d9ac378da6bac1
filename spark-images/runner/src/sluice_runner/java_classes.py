"""The JVM's classes by their full names.

py4j takes each dot of `jvm.org.apache.X` for a question of its own, and for all but the last one the JVM looks through every jar
for a class `org` and a class `org.apache`. py4j's own `is_instance_of` does so at each call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark import SparkContext
    from pyspark.sql import SparkSession


PATH = "org.apache.hadoop.fs.Path"


def java_class(spark: SparkSession | type[SparkContext], name: str) -> Any:
    """The class, with its constructors and static members. A nested one is `Outer$Inner`, and a Scala object `Name$`."""
    return getattr(spark._jvm, name)


def has_class(spark: SparkSession | type[SparkContext], name: str) -> bool:
    from py4j.java_gateway import JavaClass  # noqa: PLC0415 - an image without PySpark must still report that

    return isinstance(java_class(spark, name), JavaClass)


def instance_check(spark: SparkSession) -> Callable[[str, Any], bool]:
    """Tells whether an object is an instance of the class, or the interface, of a full name."""
    check: Callable[[str, Any], bool] = java_class(spark, "py4j.reflection.TypeUtil").isInstanceOf
    return check
