"""Random pairs of jobs with random conditions over several partition columns, some of them NULL.

Hypothesis draws them from a seed: the same seed gives the same pairs. What a job addresses is known from how it was
drawn, not from reading its SQL.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations_with_replacement, product

from hypothesis import HealthCheck, Phase, assume, given, seed, settings
from hypothesis import strategies as st

from contract.harness import computed, conditions
from contract.harness.conditions import Cells, Condition, Value, literal
from contract.harness.layouts import GRID_DATES, GRID_NUMBERS, GRID_REGIONS
from contract.harness.operations import DYNAMIC, T, merge, sql, write
from contract.harness.rows import Row, Spec

COMMITTED_SEED = 20261120
SEED_OF_EACH_KIND = 20261119
COMMITTED_PAIRS = 520
DRAWN_WITH_FUNCTIONS = 1500
DRAWS_OF_EACH_KIND = 3

_DOMAINS: dict[str, tuple[Value, ...]] = {"date": GRID_DATES, "region": GRID_REGIONS, "n": GRID_NUMBERS}
_BEYOND: dict[str, tuple[Value, ...]] = {
    "date": ("2026-01-01", "2027-01-01"),
    "region": ("", "eu", "eu-north", "zz"),
    "n": (-1, 0, 3, 99),
}
"""Values that the grid doesn't have, before, between and after its own."""
COLUMNS = tuple(_DOMAINS)
_COLUMN_NAMES = "id, k, v, date, region, n"

Partition = tuple[Value, ...]
Rows = tuple[Partition, ...]


@dataclass(frozen=True)
class _Job:
    kind: str
    spec: Spec
    condition: Condition | None = None
    """What it reads, if it reads anything."""
    writes: Rows = field(default=())
    """Partitions of the rows that it brings."""
    moves_to: tuple[str, Value] | None = None
    """The column that an UPDATE sets, and its new value."""

    def admits(self, partition: Partition) -> bool:
        if partition in self.writes:
            return True
        return self.condition is not None and any(
            self.condition.holds(_cells(source, k)) is True
            for source in self._sources(partition)
            for k in (1, 2)
        )

    def _sources(self, partition: Partition) -> Iterator[Partition]:
        yield partition
        if self.moves_to is not None:
            place = COLUMNS.index(self.moves_to[0])
            if partition[place] == self.moves_to[1]:
                for value in _DOMAINS[self.moves_to[0]]:
                    yield (*partition[:place], value, *partition[place + 1 :])


def _cells(partition: Partition, k: int) -> Cells:
    return {**dict(zip(COLUMNS, partition, strict=True)), "k": k}


_POPULATED: tuple[Partition, ...] = tuple(product(*_DOMAINS.values()))
ALL_PARTITIONS: tuple[Partition, ...] = tuple(
    product(*((*_DOMAINS[column], *_BEYOND[column]) for column in COLUMNS))
)


def _known(column: str) -> st.SearchStrategy[Value]:
    return st.sampled_from([value for value in _DOMAINS[column] if value is not None])


def _atoms() -> st.SearchStrategy[Condition]:
    return st.sampled_from(COLUMNS).flatmap(_atoms_on)


def _atoms_on(column: str) -> st.SearchStrategy[Condition]:
    known, column_is = _known(column), st.just(column)
    equal = st.builds(conditions.compare, column_is, st.just("="), known)
    return st.one_of(
        equal,
        equal,
        st.builds(conditions.compare, column_is, st.sampled_from(conditions.COMPARISONS), known),
        st.builds(
            conditions.is_in, column_is, st.lists(known, min_size=1, max_size=2, unique=True), st.booleans()
        ),
        st.builds(conditions.is_null, column_is, st.booleans()),
        st.builds(conditions.null_safe, column_is, st.sampled_from(_DOMAINS[column])),
        st.builds(conditions.between, column_is, known, known),
        st.builds(conditions.begins, st.just("region"), st.sampled_from(["eu", "eu-", "eu-w", "u"])),
    )


def _combined(parts: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition]:
    return st.one_of(
        st.builds(conditions.both, parts, parts),
        st.builds(conditions.both, parts, parts),
        st.builds(conditions.either, parts, parts),
        st.builds(conditions.negated, parts),
    )


_ON_PARTITIONS = st.recursive(_atoms(), _combined, max_leaves=3)


def _on_functions() -> st.SearchStrategy[Condition]:
    """Two in three of the leaves are functions of columns, and most of these are equalities."""
    equal = st.sampled_from(list(computed.equalities()))
    atoms = st.one_of(_atoms(), equal, equal, equal, st.sampled_from(list(computed.all_conditions())))
    return st.recursive(atoms, _combined, max_leaves=3)


@st.composite
def _conditions(draw: st.DrawFn, on_partitions: st.SearchStrategy[Condition]) -> Condition:
    """Mostly pinned to partitions, sometimes with a condition on rows beside or against it."""
    condition = draw(on_partitions)
    rows = draw(st.sampled_from(["none", "and", "and", "or"]))
    if rows == "none":
        return condition
    k = conditions.compare("k", "=", draw(st.sampled_from([1, 2])))
    return conditions.both(condition, k) if rows == "and" else conditions.either(condition, k)


def _cast(partition: Partition) -> str:
    date, region, n = (literal(column, value) for column, value in zip(COLUMNS, partition, strict=True))
    return f"CAST({date} AS DATE) AS date, CAST({region} AS STRING) AS region, CAST({n} AS INT) AS n"


def _select(partition: Partition, number: int) -> str:
    return f"SELECT {900 + number}L AS id, {number} AS k, 'new' AS v, {_cast(partition)}"


def _query(partitions: Rows) -> str:
    return " UNION ALL ".join(
        _select(partition, number) for number, partition in enumerate(partitions, start=1)
    )


_ROWS = st.lists(st.sampled_from(_POPULATED), min_size=1, max_size=2, unique=True).map(tuple)


def _jobs_of_each_kind(
    on_partitions: st.SearchStrategy[Condition] = _ON_PARTITIONS,
) -> dict[str, st.SearchStrategy[_Job]]:
    conditions_on = _conditions(on_partitions)
    return {
        "append": _ROWS.flatmap(_appends),
        "dyn-ow": _ROWS.flatmap(_dynamic_overwrites),
        "optimize": on_partitions.map(_optimize),
        "self-read": conditions_on.flatmap(_self_reads),
        "delete": conditions_on.flatmap(_deletes),
        "update": conditions_on.flatmap(_updates),
        "merge": conditions_on.flatmap(_merges),
        "repl-where": conditions_on.flatmap(_replacements),
    }


def _jobs(on_partitions: st.SearchStrategy[Condition] = _ON_PARTITIONS) -> st.SearchStrategy[_Job]:
    return st.one_of(*_jobs_of_each_kind(on_partitions).values())


def _appends(rows: Rows) -> st.SearchStrategy[_Job]:
    query = _query(rows)
    specs = st.sampled_from([sql(f"INSERT INTO {T} {query}"), write("Append", query)])
    return specs.map(lambda spec: _Job("append", spec, writes=rows))


def _dynamic_overwrites(rows: Rows) -> st.SearchStrategy[_Job]:
    query = _query(rows)
    overwrite = sql(f"{DYNAMIC}INSERT OVERWRITE {T} {query}")
    specs = st.sampled_from([overwrite, write("OverwritePartitions", query)])
    return specs.map(lambda spec: _Job("dyn-ow", spec, writes=rows))


def _optimize(condition: Condition) -> _Job:
    return _Job("optimize", sql(f"OPTIMIZE {T} WHERE {condition.text()} ZORDER BY (k)"), condition)


def _self_reads(condition: Condition) -> st.SearchStrategy[_Job]:
    def reading(partition: Partition) -> _Job:
        text = f"INSERT INTO {T} SELECT id + 800, k, v, {_cast(partition)} FROM {T} WHERE {condition.text()}"
        return _Job("self-read", sql(text), condition, writes=(partition,))

    return st.sampled_from(_POPULATED).map(reading)


def _deletes(condition: Condition) -> st.SearchStrategy[_Job]:
    return st.just(_Job("delete", sql(f"DELETE FROM {T} WHERE {condition.text()}"), condition))


def _replacements(condition: Condition) -> st.SearchStrategy[_Job]:
    def replacing(rows: Rows) -> _Job:
        source = f"SELECT * FROM ({_query(rows)}) WHERE {condition.text()}"
        kept = tuple(row for k, row in enumerate(rows, start=1) if condition.holds(_cells(row, k)) is True)
        spec = write("Overwrite", source, replaceWhere=condition.text())
        return _Job("repl-where", spec, condition, writes=kept)

    return _ROWS.map(replacing)


@st.composite
def _updates(draw: st.DrawFn, condition: Condition) -> _Job:
    column = draw(st.sampled_from(["v", "v", *COLUMNS]))
    if column == "v":
        return _Job("update", sql(f"UPDATE {T} SET v = 'set' WHERE {condition.text()}"), condition)
    value = draw(_known(column))
    spec = sql(f"UPDATE {T} SET {column} = {literal(column, value)} WHERE {condition.text()}")
    return _Job("update", spec, condition, moves_to=(column, value))


@st.composite
def _merges(draw: st.DrawFn, condition: Condition) -> _Job:
    rows = draw(_ROWS)
    clauses = draw(
        st.sampled_from(
            [
                "WHEN MATCHED THEN UPDATE SET v = s.v",
                "WHEN MATCHED THEN DELETE",
                f"WHEN NOT MATCHED THEN INSERT ({_COLUMN_NAMES}) VALUES (s.id, s.k, s.v, s.date, s.region, s.n)",
                "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *",
            ]
        )
    )
    # Every row of the target has k 1 or 2, and the source one row of each k at most.
    source = _query(rows)
    spec = merge(source, f"t.k = s.k AND {condition.text('t.')}", clauses)
    return _Job("merge", spec, condition, writes=rows if "NOT MATCHED" in clauses else ())


def pairs(number: int, chosen_seed: int) -> list[Row]:
    """So many pairs, drawn from this seed."""
    drawn = _drawn(number, chosen_seed, _jobs(), _jobs())
    return [_row(f"random/{chosen_seed}/{place:04}", *jobs) for place, jobs in enumerate(drawn, start=1)]


def pairs_of_each_kind(chosen_seed: int) -> list[Row]:
    """One pair of each two kinds of job, drawn from this seed."""
    found = []
    kinds = combinations_with_replacement(_jobs_of_each_kind().items(), 2)
    for place, ((first, firsts), (second, seconds)) in enumerate(kinds):
        # Hypothesis begins with the simplest pair of all, and that would be the same of every two kinds.
        *_, jobs = _drawn(DRAWS_OF_EACH_KIND, chosen_seed + place, firsts, seconds)
        found.append(_row(f"kinds/{chosen_seed}/{first}/{second}", *jobs))
    return found


def _drawn(
    number: int, chosen_seed: int, firsts: st.SearchStrategy[_Job], seconds: st.SearchStrategy[_Job]
) -> list[tuple[_Job, _Job]]:
    found: list[tuple[_Job, _Job]] = []

    @seed(chosen_seed)
    @settings(
        max_examples=number,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(firsts, seconds)
    def draw(first: _Job, second: _Job) -> None:
        # Hypothesis likes to draw the same thing again; and a job that addresses nothing never races.
        assume(first.spec != second.spec and _admitted(first) and _admitted(second))
        found.append((first, second))

    draw()
    return found[:number]


def _admitted(job: _Job) -> frozenset[Partition]:
    return frozenset(partition for partition in ALL_PARTITIONS if job.admits(partition))


def _row(name: str, first: _Job, second: _Job) -> Row:
    addressed = (_admitted(first), _admitted(second))
    populated = frozenset(_POPULATED)
    shared = addressed[0] & addressed[1]
    return Row(
        id=name,
        layout="grid",
        first=first.spec,
        second=second.spec,
        kinds=(first.kind, second.kind),
        partitions="same" if shared else "disjoint",
        addressed=(len(addressed[0] & populated), len(addressed[1] & populated)),
        shared_beyond=bool(shared - populated),
    )


def pairs_with_functions(number: int, chosen_seed: int) -> list[Row]:
    """Pairs of which one job at least speaks of functions of partition columns, from so many drawn from this seed: all
    that are kept apart by partitions, and half as many of the others."""
    jobs = _jobs(_on_functions())
    rows = [
        _row(f"functions/{chosen_seed}/{place:04}", *pair)
        for place, pair in enumerate(_drawn(number, chosen_seed, jobs, jobs), start=1)
        if any(job.condition is not None and computed.calls_a_function(job.condition) for job in pair)
    ]
    apart = [row for row in rows if row.partitions == "disjoint"]
    return [*apart, *[row for row in rows if row.partitions != "disjoint"][: len(apart) // 2]]


def rows(version: str) -> list[Row]:
    """The pairs of the committed truth."""
    of_each_kind = pairs_of_each_kind(SEED_OF_EACH_KIND) if version == "4.4.0" else []
    return [*pairs(COMMITTED_PAIRS, COMMITTED_SEED), *of_each_kind]


def rows_with_functions() -> list[Row]:
    return pairs_with_functions(DRAWN_WITH_FUNCTIONS, COMMITTED_SEED)
