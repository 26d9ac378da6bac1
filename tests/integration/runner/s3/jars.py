"""What a JVM needs for tables on S3."""

from __future__ import annotations

import os


def s3_variables() -> dict[str, str]:
    """The variables that put Hadoop's s3a behind all other jars, where the archive of classes still counts."""
    found = os.environ.get("SLUICE_AWS_JARS")
    if not found:
        raise RuntimeError(
            "SLUICE_AWS_JARS names no jars: run this by ./dev test, which brings Hadoop's s3a and an S3 server"
        )
    return {"SPARK_DIST_CLASSPATH": found.replace(",", ":")}
