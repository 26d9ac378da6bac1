"""What is known of tables without a cluster: given facts, a table's own log, and what policies declare, in this order."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

from sluice.footprint import JobFootprint, footprint_of
from sluice.offline.assumed import Assumption, assumption_of
from sluice.offline.batch import BadLineError, facts_of
from sluice.offline.jobs import Job
from sluice.offline.manifests import Document, Trouble
from sluice.predicates import PredicateError
from sluice.tables import (
    Declarations,
    Declared,
    Names,
    Policy,
    TableFacts,
    TableKey,
    declarations_of,
    drift,
    key_of_name,
    key_of_path,
    keys_of,
    known,
    unread,
)

_FACTS = (
    *("path", "name", "schema", "partitionColumns", "clusteringColumns", "properties", "identityColumns"),
    *("generatedColumns", "isolationLevel", "dialect", "logStore"),
)
NO_DELTALAKE = 'reading a table\'s log needs deltalake: pip install "sluice-operator[tables]"'


@dataclass
class Knowledge:
    facts: dict[TableKey, TableFacts] = field(default_factory=dict)
    of_any_table: TableFacts | None = None
    """Facts that name no table: they are about whatever table is asked for."""
    declarations: Declarations = field(default_factory=Declarations)
    """What policies say."""
    assumed: dict[TableKey, Assumption] = field(default_factory=dict)
    troubles: list[Trouble] = field(default_factory=list)

    def assumptions_about(self, tables: Collection[TableKey]) -> list[str]:
        """Of those that jobs write: of what they only read nothing is assumed."""
        return [f"{key}: {assumption}" for key, assumption in sorted(self.assumed.items()) if key in tables]

    @property
    def names(self) -> Names:
        return self.declarations.names

    def declared(self, key: TableKey) -> Declared | None:
        return self.declarations.declared(key)

    def about(self, key: TableKey, job: Job) -> TableFacts:
        """`key`: the one that the table has by all its names."""
        found = self.facts.get(key, self.of_any_table) or unread("neither facts nor its log are given")
        assumed = self.assumed[key].facts_for(job) if key in self.assumed else None
        return known(found, self.declared(key), assumed)

    def about_tables_of(self, job: Job) -> dict[TableKey, TableFacts]:
        """Of those that it writes. Raises NotUnderstoodError or PredicateError, with the place in the job."""
        written = footprint_of(job.spec, job.conf, names=self.names).keys
        return {key: self.about(key, job) for key in written}

    def footprint(self, job: Job) -> JobFootprint:
        """Raises NotUnderstoodError or PredicateError, with the place in the job."""
        return footprint_of(
            job.spec, job.conf, facts=self.about_tables_of(job), sources=self.facts, names=self.names
        )


def knowledge_of(
    policies: Iterable[tuple[Policy, str]],
    facts: Iterable[Document],
    jobs: Iterable[Job],
    logs: Iterable[str] = (),
) -> Knowledge:
    """`policies`: each with its place. `logs`: locations of tables whose logs are read, or TABLE=LOCATION for a copy of
    the table."""
    places = dict(policies)
    given, logs = list(facts), list(logs)
    bound = [*map(_table_of, given), *((_name_of(log), None) for log in logs)]
    found = Knowledge(declarations=declarations_of(places, bound))
    for policy, counts in found.declarations.left_out:
        why = f"{policy.key}: another policy is about the same table: {counts} counts, the facts of this one are left out"
        found.troubles.append(Trouble(places[policy], why))
    for document in given:
        _add_facts(document, found)
    for log in logs:
        _read_log(log, found)
    for key, facts_of_it in found.facts.items():
        for one in drift(facts_of_it, found.declared(key) or Declared()):
            why = f"a policy says {one.field}: {one.wanted}, but the table has {one.found}, which counts"
            found.troubles.append(Trouble(str(key), why))
    _assume(list(jobs), found)
    return found


def _add_facts(document: Document, found: Knowledge) -> None:
    unknown = [name for name in document.body if name not in _FACTS]
    if unknown:
        meant = get_close_matches(unknown[0], _FACTS, n=1)
        why = f"{unknown[0]} is none of the facts about a table" + (f": {meant[0]}?" if meant else "")
        found.troubles.append(Trouble(document.place, f"{why}; these facts are left out"))
        return
    try:
        facts = facts_of(document.body)
    except (BadLineError, PredicateError) as error:
        found.troubles.append(Trouble(document.place, str(error)))
        return
    name, location = _table_of(document)
    key = location or name
    if key is None:
        found.of_any_table = facts
    else:
        found.facts[found.names.key_of(key)] = facts


def _table_of(document: Document) -> tuple[TableKey | None, TableKey | None]:
    """Its name and its location."""
    name, path = (document.body.get(field) for field in ("name", "path"))
    return keys_of(None if name is None else str(name), None if path is None else str(path))


def _read_log(log: str, found: Knowledge) -> None:
    table, location = _table_and_location(log)
    if not _is_address(location) and not Path(location).is_dir():
        found.troubles.append(Trouble(location, "there is no Delta table here"))
        return
    try:
        from sluice.tables.open_tables import OpenTables  # noqa: PLC0415 - an extra
    except ImportError:
        found.troubles.append(Trouble(location, NO_DELTALAKE))
        return
    key = key_of_path(location if _is_address(location) else str(Path(location).resolve()))
    facts = OpenTables().facts(key)
    if facts.unread is not None or not facts.exists:
        found.troubles.append(Trouble(location, facts.unread or "there is no Delta table here"))
        return
    found.facts[found.names.key_of(_key(table) if table else key)] = facts


def _name_of(log: str) -> TableKey | None:
    """Of NAME=LOCATION."""
    table, _ = _table_and_location(log)
    return _key(table) if table and _key(table).is_name else None


def _table_and_location(log: str) -> tuple[str, str]:
    """Locations often have `=` in them, such as s3://lake/env=prod/orders: not every one follows a table."""
    table, _, location = log.rpartition("=")
    is_location = _is_address(location) or location.startswith((".", "/")) or Path(location).is_dir()
    return (table, location) if is_location and not Path(log).is_dir() else ("", log)


def _key(table: str) -> TableKey:
    return key_of_path(table) if table.startswith("/") or _is_address(table) else key_of_name(table)


def _is_address(location: str) -> bool:
    return ":/" in location


def _assume(jobs: list[Job], found: Knowledge) -> None:
    """Types of the partition columns that policies name, for tables of which nothing better is known."""
    for key, declaration in found.declarations.by_table.items():
        declared = declaration.declared
        if declared.partition_by and key not in found.facts and found.of_any_table is None:
            found.assumed[key] = assumption_of(declared.partition_by, jobs)
