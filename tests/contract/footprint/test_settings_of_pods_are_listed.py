"""Every setting that Spark on Kubernetes knows is listed, as harmless or as refused: a new one shows up here."""

from __future__ import annotations

import os
import re
import subprocess
import zipfile
from pathlib import Path

import pyspark
import pytest

from sluice.footprint.sql.kubernetes_settings import is_listed

_NAME = re.compile(rb"spark\.kubernetes\.[A-Za-z0-9.]*[A-Za-z0-9]\.?")
_NO_SETTINGS = {
    "spark.kubernetes.authenticate",  # beginnings, to which the code adds a name
    "spark.kubernetes.authenticate.driver",
    "spark.kubernetes.authenticate.driver.mounted",
    "spark.kubernetes.authenticate.executor",
    "spark.kubernetes.authenticate.submission",
    "spark.kubernetes.kerberos.dt",  # of the name of a Secret
}


def _packages() -> list[Path]:
    asked = [os.environ["SLUICE_SPARK35_PYTHON"], "-c", "import pyspark; print(pyspark.__file__)"]
    other = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()
    return [Path(pyspark.__file__).parent, Path(other).parent]


@pytest.mark.parametrize("which", [0, 1])
def test_every_setting_that_spark_knows_is_listed(which: int) -> None:
    (jar,) = (_packages()[which] / "jars").glob("spark-kubernetes_*.jar")
    with zipfile.ZipFile(jar) as archive:
        classes = [archive.read(name) for name in archive.namelist() if name.endswith(".class")]
    found = {name.decode() for one in classes for name in _NAME.findall(one)} - _NO_SETTINGS
    assert len(found) > 80
    assert {name for name in found if not is_listed(name)} == set()
