"""Sizes of the Spark image's variants, and how long a driver takes in each from its start to the first answer of SQL.

`./dev run python -m bench.images [-n RUNS]`, as root. Variants take turns, so that what else the machine does meets all of them.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from devenv.buildah import buildah
from devenv.images import (
    SPARK,
    SPARK35,
    Image,
    Recipe,
    compressed,
    ensure_image,
    image_name,
    megabytes,
    spark_image,
)
from devenv.toolchain import cache

VARIANTS = {
    "4.2, no store": spark_image("spark-try", "4.2", STORES=""),
    "4.2, aws": spark_image("spark-try", "4.2", STORES="aws"),
    "4.2, azure": spark_image("spark-try", "4.2", STORES="azure"),
    "4.2, gcs": spark_image("spark-try", "4.2", STORES="gcs"),
    "4.2, no store, kafka": spark_image("spark-try", "4.2", STORES="", SOURCES="kafka"),
    "4.2, all": SPARK,
    "3.5, all": SPARK35,
}
PROGRAM = """
import sys, time
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
assert spark.sql("SELECT 1").collect()[0][0] == 1
print("answered", time.time() - float(sys.argv[1]))
"""
DRIVER = (
    "export SPARK_DRIVER_BIND_ADDRESS=127.0.0.1 SPARK_LOCAL_IP=127.0.0.1 SPARK_LOCAL_HOSTNAME=localhost; "
    "cat > /tmp/program.py; exec /opt/entrypoint.sh driver --master 'local[1]' --conf spark.ui.enabled=false "
    "--conf spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension "
    "--conf spark.sql.catalog.spark_catalog=org.apache.spark.sql.delta.catalog.DeltaCatalog "
    '/tmp/program.py "$(date +%s.%N)"'
)


@dataclass(frozen=True)
class Sizes:
    unpacked: int
    compressed: int


def sizes(image: Image) -> Sizes:
    return Sizes(image.archive.stat().st_size, compressed(image.archive))


@contextmanager
def container(image: str) -> Iterator[str]:
    name = f"sluice-bench-{uuid.uuid4().hex[:8]}"
    _buildah("from", "--pull-never", "--name", name, image)
    try:
        yield name
    finally:
        _buildah("rm", name)


def seconds_to_first_answer(name: str) -> float:
    said = _buildah("run", "--isolation=chroot", "--user=185", name, "--", "sh", "-c", DRIVER, given=PROGRAM)
    (answer,) = [line for line in said.splitlines() if line.startswith("answered ")]
    return float(answer.split()[1])


def _buildah(*arguments: str, given: str = "") -> str:
    done = subprocess.run(
        buildah(cache(), *arguments), input=given, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise SystemExit(f"buildah {' '.join(arguments[:4])} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def measure(recipe: Recipe) -> float:
    # By its name in buildah: of the files, only the newest of a name are kept.
    with container(image_name(recipe)) as name:
        return seconds_to_first_answer(name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", "--runs", type=int, default=5, help="starts of each variant (%(default)s)")
    runs: int = parser.parse_args().runs
    found = {name: sizes(ensure_image(cache(), recipe)) for name, recipe in VARIANTS.items()}
    for name, size in found.items():
        tell(f"{name:14} {megabytes(size.compressed)} MB compressed, {megabytes(size.unpacked)} MB unpacked")
    took: dict[str, list[float]] = {name: [] for name in VARIANTS}
    for _ in range(runs):
        for name, recipe in VARIANTS.items():
            took[name].append(measure(recipe))
    for name, seconds in took.items():
        each = " ".join(f"{one:.1f}" for one in seconds)
        tell(f"{name:14} first answer after {statistics.median(seconds):.1f} s ({each})")


def tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
