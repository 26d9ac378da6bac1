"""Writes down what the settings and the functions of each supported Spark are, as Spark itself says it.

    ./dev run python -m contract.harness.known              # asks both versions and writes their files anew

The files lie beside the reader of SQL, which takes only what stands there for Spark's own.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[3] / "operator" / "sluice" / "footprint" / "sql" / "known"
_EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions"
_KINDS = {
    "generator": f"{_EXPRESSIONS}.Generator",
    "aggregate": f"{_EXPRESSIONS}.aggregate.AggregateFunction",
    "window": f"{_EXPRESSIONS}.WindowFunction",
}
_GROUPS = {"agg_funcs": "aggregate", "window_funcs": "window", "generator_funcs": "generator"}
_OBJECTS_WITH_SETTINGS = (
    "org.apache.spark.sql.internal.StaticSQLConf$",
    "org.apache.spark.sql.hive.HiveUtils$",
    "org.apache.spark.sql.delta.sources.DeltaSQLConf$",
)
"""Scala objects that register settings when they are first used."""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=FOLDER, help="default: where the reader finds them")
    options = parser.parse_args()
    write_down(options.out)
    return 0


def write_down(folder: Path) -> None:
    """Asks each Spark in a process of its own, which can hold one Spark only."""
    jars, python = os.environ["SLUICE_SPARK35_JARS"], os.environ["SLUICE_SPARK35_PYTHON"]
    older = {**os.environ, "SLUICE_SPARK_JARS": jars, "PYSPARK_PYTHON": python}
    older.pop("SPARK_HOME", None)
    program = "import sys; from contract.harness import known; known.write_down_of_this_spark(sys.argv[1])"
    for interpreter, environment in ((sys.executable, dict(os.environ)), (python, older)):
        subprocess.run([interpreter, "-c", program, str(folder)], env=environment, check=True)


def write_down_of_this_spark(folder: str) -> None:
    from contract.harness.session import freezing_spark  # noqa: PLC0415 - needs Spark

    with tempfile.TemporaryDirectory(prefix="sluice-known-") as temporary:
        work = Path(temporary)
        with freezing_spark(work / "freezes", work / "warehouse") as spark:
            write_down_of(spark, Path(folder))


def write_down_of(spark: Any, folder: Path) -> None:
    version = ".".join(spark.version.split(".")[:2])
    for name, lines in (("settings", _settings(spark)), ("functions", _functions(spark))):
        text = "".join(f"{line}\n" for line in sorted(set(lines)))
        (folder / f"{name}-{version}.tsv").write_text(text, encoding="utf-8")


def _settings(spark: Any) -> Iterator[str]:
    """Each with `static` where a session can't change it, and with its default, unless that is the machine's."""
    jvm = spark._jvm
    for name in _OBJECTS_WITH_SETTINGS:
        _class(jvm, name, initialize=True)
    registry = getattr(getattr(jvm.org.apache.spark.sql.internal, "SQLConf$"), "MODULE$")
    for entry in registry.getConfigEntries().toArray():
        key = entry.key()
        own = "static" if registry.isStaticConfigKey(key) else "session"
        names = [key, *filter(None, entry.alternatives().mkString(",").split(","))]
        default = " ".join(str(entry.defaultValueString()).split())
        for name in names:
            yield f"{name}\t{own}\t{'' if key in _OF_THE_MACHINE else default}"


_OF_THE_MACHINE = frozenset(
    {
        "spark.sql.maven.additionalRemoteRepositories",
        "spark.sql.session.timeZone",
        "spark.sql.warehouse.dir",
    }
)


def _functions(spark: Any) -> Iterator[str]:
    """Each with its kind; `table` only where it can't stand elsewhere than after FROM."""
    state = spark._jsparkSession.sessionState()
    jvm = spark._jvm
    kinds: dict[str, str] = {}
    for registry, default in ((state.tableFunctionRegistry(), "table"), (state.functionRegistry(), "scalar")):
        names = registry.listFunction().iterator()
        while names.hasNext():
            name = names.next()
            found = registry.lookupFunction(name).get()
            own = _class(jvm, found.getClassName(), initialize=False)
            kind = _GROUPS.get(found.getGroup(), default)
            for other, parent in _KINDS.items():
                kind = other if _class(jvm, parent, initialize=False).isAssignableFrom(own) else kind
            kinds[name.funcName()] = kind
    for name, kind in kinds.items():
        yield f"{name}\t{kind}"


def _class(jvm: Any, name: str, *, initialize: bool) -> Any:
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    return jvm.java.lang.Class.forName(name, initialize, loader)


if __name__ == "__main__":
    sys.exit(main())
