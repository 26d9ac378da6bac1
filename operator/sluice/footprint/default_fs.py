"""A location without a scheme lies where `fs.defaultFS` says. Under another one than `file:` it is no folder, which it would be
taken for: its log would not be read, and its commits be thought safe that are not."""

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
                f"{folder} says no file system, and under sparkConf {name} = {value} it is no folder: write it with its "
                f"scheme, such as {value.strip().rstrip('/')}{folder}, also in a DeltaTablePolicy that names it"
            )
