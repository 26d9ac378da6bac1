"""Puts together what is known of tables without a cluster: given facts, a table's own log, and what policies declare, in this
order."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path

from sluice.api.manifests import Document, ManifestError
from sluice.footprint import JobFootprint, NotUnderstoodError, days_of, footprint_of
from sluice.offline.assumptions import Assumption
from sluice.offline.given_facts import UnusableError, facts_of
from sluice.offline.inferred_types import Comparisons, InferredTypes, comparisons_in, inferred_types
from sluice.offline.jobs import Job
from sluice.predicates import PredicateError
from sluice.tables import (
    Declarations,
    Declared,
    Names,
    Policy,
    TableFacts,
    TableKey,
    declarations_of,
    key_of_name,
    key_of_path,
    keys_of,
    known,
    unread,
    wrong_facts_in,
)

FACTS = (
    *("path", "name", "schema", "partitionColumns", "clusteringColumns", "properties", "identityColumns"),
    *("generatedColumns", "isolationLevel", "dialect", "logStore"),
)
_OF_EDITORS = "$schema"
_BY = "(by --table or --table-path)"
NO_DELTALAKE = 'reading a table\'s log needs deltalake: pip install ".[tables]" in a checkout'


@dataclass
class KnownFacts:
    facts: dict[TableKey, TableFacts] = field(default_factory=dict)
    of_any_table: TableFacts | None = None
    """Facts that name no table: they are about whatever table is asked for."""
    declarations: Declarations = field(default_factory=Declarations)
    """What policies say."""
    inferred: dict[TableKey, InferredTypes] = field(default_factory=dict)
    troubles: list[ManifestError] = field(default_factory=list)
    refused: bool = False
    """Whether files of facts were given that could not be used."""
    made: datetime = field(default_factory=lambda: datetime.now(UTC))
    """When its jobs would be made."""
    _written: dict[Job, tuple[TableKey, ...]] = field(default_factory=dict)
    _asked_for_the_day: set[TableKey] = field(default_factory=set)
    """Tables of jobs that were judged by the days on which they may run."""

    def assumptions_about(self, tables: Collection[TableKey]) -> list[Assumption]:
        """Returns assumptions about the tables that jobs write; nothing is assumed of tables that they only read."""
        today = f"conditions on current_date() are read for a job that is made on {self.made:%Y-%m-%d}"
        return [
            Assumption(str(key), str(inferred), "Give --table or --table-path to be sure")
            for key, inferred in sorted(self.inferred.items())
            if key in tables
        ] + [
            Assumption(str(key), today, "In a cluster it is the day on which the job is made")
            for key in sorted(self._asked_for_the_day.intersection(tables))
        ]

    @property
    def names(self) -> Names:
        return self.declarations.names

    def declared(self, key: TableKey) -> Declared | None:
        return self.declarations.declared(key)

    def facts_for(self, key: TableKey, job: Job) -> TableFacts:
        """Returns the facts; `key`: the one that the table has by all its names."""
        found = self.facts.get(key, self.of_any_table) or unread(self._nothing)
        assumed = self.inferred[key].facts_for(job) if key in self.inferred else None
        return known(found, self.declared(key), assumed)

    @property
    def _nothing(self) -> str:
        if self.refused or self.troubles:
            return f"neither usable facts nor a log of it are given {_BY}"
        return f"neither facts nor a log of it are given {_BY}"

    def facts_for_writes_of(self, job: Job) -> dict[TableKey, TableFacts]:
        """Returns facts by table that the job writes. Raises NotUnderstoodError or PredicateError, with the place in the job."""
        return {key: self.facts_for(key, job) for key in self.written_by(job)}

    def written_by(self, job: Job) -> tuple[TableKey, ...]:
        """Returns the tables that the job writes. Raises NotUnderstoodError or PredicateError, with the place in the job."""
        if job not in self._written:
            self._written[job] = footprint_of(job.spec, job.conf, names=self.names, texts=job.texts).keys
        return self._written[job]

    def footprint(self, job: Job) -> JobFootprint:
        """Returns the footprint. Raises NotUnderstoodError or PredicateError, with the place in the job."""
        days = days_of(job.spec.sql, self.made, is_declared=job.spec.footprint is not None)
        if days is not None:
            self._asked_for_the_day.update(self.written_by(job))
        return footprint_of(
            job.spec,
            job.conf,
            facts=self.facts_for_writes_of(job),
            sources=self.facts,
            names=self.names,
            texts=job.texts,
            namespace=job.namespace,
            days=days,
        )


def knowledge_of(
    policies: Iterable[tuple[Policy, str]],
    facts: Iterable[Document],
    jobs: Iterable[Job],
    logs: Iterable[str] = (),
) -> KnownFacts:
    """Gathers what is known. `policies`: each with its place. `logs`: locations of tables whose logs are read, or
    TABLE=LOCATION for a copy of the table."""
    places = dict(policies)
    given, logs = list(facts), list(logs)
    bound = [*map(_table_of, given), *((_name_of(log), None) for log in logs)]
    found = KnownFacts(declarations=declarations_of(places, bound))
    for policy, counts in found.declarations.left_out:
        why = f"{policy.key}: another policy is about the same table: {counts} counts, the facts of this one are left out"
        found.troubles.append(ManifestError(places[policy], why))
    for document in given:
        _add_facts(document, found)
    for log in logs:
        _read_log(log, found)
    for key, facts_of_it in found.facts.items():
        for one in wrong_facts_in(facts_of_it, found.declared(key) or Declared()):
            why = f"a policy says {one.field}: {one.stated}, but the table has {one.found}, which counts"
            found.troubles.append(ManifestError(str(key), why))
    _assume(list(jobs), found)
    return found


def _add_facts(document: Document, found: KnownFacts) -> None:
    unknown = [name for name in document.body if name not in (*FACTS, _OF_EDITORS)]
    if unknown:
        meant = get_close_matches(unknown[0], FACTS, n=1)
        line = document.line_of((unknown[0],))
        where = f" (line {line})" if line is not None else ""
        why = f"{unknown[0]}{where} is not a fact about a table" + (
            f"; did you mean {meant[0]}?" if meant else f"; remove it, or use one of {', '.join(FACTS)}"
        )
        found.troubles.append(ManifestError(document.place, f"{why}; these facts are left out"))
        return
    try:
        facts = facts_of(document.body)
    except UnusableError as error:
        found.troubles.append(
            ManifestError(
                document.place, f"{error.said(document.line_of(error.at))}; these facts are left out"
            )
        )
        return
    except PredicateError as error:
        found.troubles.append(ManifestError(document.place, f"{error}; these facts are left out"))
        return
    name, location = _table_of(document)
    key = location or name
    if key is None:
        found.of_any_table = facts
    else:
        found.facts[found.names.key_of(key)] = facts


def _table_of(document: Document) -> tuple[TableKey | None, TableKey | None]:
    """The table's name and its location."""
    name, path = (document.body.get(field) for field in ("name", "path"))
    return keys_of(None if name is None else str(name), None if path is None else str(path))


def _read_log(log: str, found: KnownFacts) -> None:
    table, location = _table_and_location(log)
    if not _is_address(location) and not Path(location).is_dir():
        found.troubles.append(ManifestError(location, "there is no Delta table here"))
        return
    try:
        from sluice.tables.open_tables import OpenTables  # noqa: PLC0415 - an extra
    except ImportError:
        found.troubles.append(ManifestError(location, NO_DELTALAKE))
        return
    key = key_of_path(location if _is_address(location) else str(Path(location).resolve()))
    facts = OpenTables().facts(key)
    if facts.unread is not None or not facts.exists:
        why = facts.unread or "there is no Delta table here"
        found.troubles.append(ManifestError(location, f"{why}{_perhaps_meant(log, location)}"))
        return
    found.facts[found.names.key_of(_key(table) if table else key)] = facts


def _perhaps_meant(log: str, location: str) -> str:
    """Said where TABLE=FOLDER was taken for one address, because there is no such folder."""
    table, _, folder = log.rpartition("=")
    meant = location == log and _is_address(table) and "/" not in folder
    return f" (it was taken whole, because there is no folder {folder} here)" if meant else ""


def _name_of(log: str) -> TableKey | None:
    """The name in NAME=LOCATION."""
    table, _ = _table_and_location(log)
    return _key(table) if table and _key(table).is_name else None


def _table_and_location(log: str) -> tuple[str, str]:
    """Splits TABLE=LOCATION. Locations often contain `=`, such as s3://lake/env=prod/orders: not every one follows a table."""
    table, _, location = log.rpartition("=")
    is_location = _is_address(location) or location.startswith((".", "/")) or Path(location).is_dir()
    return (table, location) if is_location and not Path(log).is_dir() else ("", log)


def _key(table: str) -> TableKey:
    return key_of_path(table) if table.startswith("/") or _is_address(table) else key_of_name(table)


def _is_address(location: str) -> bool:
    return ":/" in location


def _assume(jobs: Collection[Job], found: KnownFacts) -> None:
    """Assumes types of the partition columns that policies name, for tables of which nothing better is known."""
    partitions = {
        key: declared.partition_by
        for key, declared in ((key, one.declared) for key, one in found.declarations.by_table.items())
        if declared.partition_by and key not in found.facts and found.of_any_table is None
    }
    columns = {name.lower() for names in partitions.values() for name in names}
    by_table: dict[TableKey, list[Comparisons]] = defaultdict(list)
    everywhere: list[Comparisons] = []
    for job in jobs if columns else ():
        try:
            compared, written = comparisons_in(job, columns), found.written_by(job)
        except (NotUnderstoodError, PredicateError):
            continue  # it is refused, with its place, where it is understood
        everywhere.append(compared)
        for key in written:
            by_table[key].append(compared)
    of_all = sum(everywhere, Counter())
    for key, names in partitions.items():
        found.inferred[key] = inferred_types(names, sum(by_table[key], Counter()), of_all)
