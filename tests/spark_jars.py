"""The jars with which the tests run Spark."""

import os


def spark_jars() -> str:
    """Delta, our LogStores, and the tests' own at the end: an archive of classes counts as long as the jars before are the same."""
    found = [os.environ.get(name) for name in ("SLUICE_SPARK_JARS", "SLUICE_HELD_COMMITS_JAR")]
    if not all(found):
        raise RuntimeError(
            "SLUICE_SPARK_JARS or SLUICE_HELD_COMMITS_JAR names no jar: run this by ./dev test or ./dev run, which bring them"
        )
    return ",".join(filter(None, found))


def class_path() -> str:
    """The value for spark.driver.extraClassPath. Archives of classes, which shorten a start, count for that place only."""
    return spark_jars().replace(",", ":")
