"""Tells where delta-rs finds a table's log. It decodes some characters of a location once more than Hadoop does, and would then
read another table's log: such locations are not read at all."""

import re
from pathlib import Path

from sluice.api.strings import first_of
from sluice.tables.identity import TableKey

_READ_BY_DELTA_RS = ("s3", "gs", "abfss", "hdfs")
_PLAIN = re.compile(r"[A-Za-z0-9_.@:/=,+~-]*")


class LogUnreadableError(Exception):
    """Why a table's log could not be read."""


def cannot_be_read(table: TableKey, why: str) -> str:
    return f"the log of {table} cannot be read: {why}"


def address_of(table: TableKey) -> str:
    if table.is_name and table.bound:
        paths = first_of(sorted(table.bound))
        raise _unreadable(
            table,
            f"it is a catalog name, and policies bind it, or runs led it, to several paths, {paths}: leave one in the policies; of "
            "those that runs reported the newest is left once nobody holds any of them",
        )
    if table.is_name:
        raise _unreadable(
            table,
            "it is a catalog name that no run has told of, and no DeltaTablePolicy binds it to a path: add one",
        )
    if any("=" in part for part in table.text.rpartition("/")[2:]):
        raise _unreadable(table, "it looks like a partition's folder: name the table by its own folder")
    if table.text.startswith("file:"):
        if "%" in table.text:
            raise _misread(table)
        return table.text.removeprefix("file:")
    scheme = table.text.partition(":")[0]
    if scheme not in _READ_BY_DELTA_RS:
        # delta-rs would take it for a folder of this machine, and find no table there
        raise _unreadable(table, f"delta-rs, which reads logs here, does not know {scheme}:")
    if table.text.startswith(f"{scheme}:///"):
        raise _unreadable(
            table, "only the drivers' configuration says where it lies: name its host, nameservice or bucket"
        )
    if _PLAIN.fullmatch(table.text) is None:
        raise _misread(table)
    return table.text


def must_be_around(table: TableKey, address: str) -> None:
    """Requires the folder around a local table: the operator's file system may not be the drivers', and without the
    folder nothing is known."""
    if table.text.startswith("file:") and not Path(address).parent.is_dir():
        raise _unreadable(table, "the folder around it does not exist where the operator runs")


def _misread(table: TableKey) -> LogUnreadableError:
    return _unreadable(
        table, "Spark and delta-rs, which reads logs here, read characters of this location differently"
    )


def _unreadable(table: TableKey, why: str) -> LogUnreadableError:
    return LogUnreadableError(cannot_be_read(table, why))


def in_short(error: BaseException) -> str:
    """Shortens what delta-rs says, which fills many lines with colours and backtraces."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    lines = [line.strip(" \t↳") for line in plain.splitlines() if line.strip(" \t↳")]
    kept = [line for line in lines if re.match(r"\d+: |at ", line) is None][:3]
    return ": ".join(kept)[:400] or type(error).__name__
