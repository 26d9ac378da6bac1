"""Java options of the JVMs that tests start."""

from __future__ import annotations

import os

import pyspark

SPARK_OF_THE_OPTIONS = "4.2."


def java_options(*own: str) -> str:
    """A test's own ones, then those that `./dev` found to make a JVM of its newer Spark start sooner."""
    brought = os.environ.get("SLUICE_JVM_OPTIONS", "")
    fits = bool(brought) and pyspark.__version__.startswith(SPARK_OF_THE_OPTIONS)
    return " ".join([*own, brought] if fits else own)
