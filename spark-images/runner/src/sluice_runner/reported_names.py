"""Where the names of a run lead in catalogs that others use as well, so that later jobs are judged by it.

Of a catalog that only this driver has nothing is told, because there a name leads wherever the job has led it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from sluice_runner import tables
from sluice_runner.catalogs import SETTING, Catalogs, Name, lower

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LONGEST = 386
_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*")
_PARTS = 3
_TABLES = frozenset({"MANAGED", "EXTERNAL"})


class Leads:
    """Kept apart from the run, which may be ended at any moment and must still be reported."""

    def __init__(self) -> None:
        self._found: dict[Name, str] = {}

    def tell(self, name: Name, location: str) -> None:
        """The newest word on a name counts."""
        self._found[lower(name)] = location

    def tell_first(self, name: Name, location: str) -> None:
        """Of a name by which others were judged otherwise: the last to be left out."""
        self._found = {lower(name): location} | self._found | {lower(name): location}

    def forget(self, name: Name) -> None:
        """Nothing is known of the name any more."""
        self._found.pop(lower(name), None)

    def has(self, name: Name) -> bool:
        return lower(name) in self._found

    @property
    def found(self) -> list[tuple[str, str]]:
        return [(".".join(name), location) for name, location in self._found.items()]


class Looks:
    """Asks this driver's catalogs. Whatever goes wrong is told in the driver's log, and ends nothing: the run itself needs no
    answer."""

    def __init__(self, spark: SparkSession, catalogs: Catalogs, leads: Leads) -> None:
        self._spark = spark
        self._catalogs = catalogs
        self._leads = leads
        self._has_ended = False

    def at(self, mentioned: Callable[[], Iterable[Name]]) -> None:
        """Looks at the names that a statement mentions, those that are known already left out."""
        if self._are_worth_it:
            self._tell_of(mentioned(), again=False)

    def again_at(self, name: Name) -> None:
        """Looks at a name that a statement may have led elsewhere."""
        if self._are_worth_it:
            self._tell_of([name], again=True)

    def after_setting(self, setting: str) -> None:
        """From here on a catalog may be one that only this driver knows so."""
        if setting.startswith(SETTING):
            self._has_ended = True

    @property
    def _are_worth_it(self) -> bool:
        return not self._has_ended and self._catalogs.some_are_shared

    def _tell_of(self, names: Iterable[Name], *, again: bool) -> None:
        for name in names:
            try:
                self._look(self._catalogs.completed(name, creates=again), again=again)
            except Exception as error:  # noqa: BLE001 - told: the run itself needs no answer
                reason = str(error).strip().partition("\n")[0]
                sys.stdout.write(
                    f"sluice: where {'.'.join(name)} leads was not found out: {type(error).__name__}: {reason}\n"
                )

    def _look(self, full: Name, *, again: bool) -> None:
        if not self._can_be_told(full) or (not again and self._leads.has(full)):
            return
        found = tables.find_for_sure(self._spark, full)
        if len(found) == 1 and self._spark.catalog.getTable(tables.quoted(full)).tableType in _TABLES:
            self._leads.tell(full, found[0].location)
        else:
            self._leads.forget(full)

    def _can_be_told(self, full: Name) -> bool:
        """Whether it is a name in a catalog of others, and one that a job's manifest may hold as well."""
        return (
            len(full) == _PARTS
            and all(map(_PART.fullmatch, full))
            and len(".".join(full)) <= _LONGEST
            and self._catalogs.is_shared(full[0])
        )
