"""Refuses locations without a scheme if `fs.defaultFS` leads elsewhere than `file:`: Sluice would take them for local folders,
so their logs would not be read, and unsafe commits would be thought safe."""

from collections.abc import Iterable, Mapping

from sluice.footprint.errors import NotUnderstoodError
from sluice.tables import TableKey

_NAMES = frozenset({"spark.hadoop.fs.defaultfs", "spark.hadoop.fs.default.name"})


def refuse_folders_elsewhere(spark_conf: Mapping[str, str], locations: Iterable[TableKey]) -> None:
    others = [
        (name, value)
        for name, value in spark_conf.items()
        if name.lower() in _NAMES and not value.strip().lower().startswith("file:")
    ]
    if not others:
        return
    name, value = others[0]
    for location in locations:
        if location.without_scheme:
            folder = location.text.removeprefix("file:")
            raise NotUnderstoodError(
                f"{folder} names no file system, and with {name} = {value} under sparkConf of the job or of its runtime "
                f"profile it is not a folder: write it with its scheme, such as {value.strip().rstrip('/')}{folder}, also in a "
                "DeltaTablePolicy that names it"
            )
