"""What a JVM needs for tables on S3."""

from __future__ import annotations

import os

from integration.runner.jobs import class_path


def s3_class_path() -> str:
    found = os.environ.get("SLUICE_AWS_JARS")
    if not found:
        raise RuntimeError(
            "SLUICE_AWS_JARS names no jars: run this by ./dev test, which brings Hadoop's s3a and an S3 server"
        )
    return f"{class_path()}:{found.replace(',', ':')}"
