"""Whatever is advised for two jobs, they may run together once all of it is done, in the statements themselves; nothing of it is
needless, and where nothing is advised nothing of the kind helps."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from gc import collect
from itertools import combinations_with_replacement
from weakref import ref

import pytest

from generate.rulebooks import RULEBOOKS, Rulebook
from sluice.api.job import DeltaWriteJobSpec
from sluice.conflicts import Verdict, oracle, pair_of, races
from sluice.conflicts.advice import Advice
from sluice.conflicts.advice_search import Budget, cost_of, tried
from sluice.conflicts.race import Race
from sluice.conflicts.rule import Rule
from sluice.footprint import JobFootprint, footprint_of
from sluice.predicates import Table
from sluice.tables import LogStore, TableFacts, key_of_path, oss

T = "delta.`/lake/t`"
COLUMNS = {"id": "int", "date": "date", "n": "int"}
PLAIN = TableFacts(columns=Table.of(COLUMNS), dialect=oss("4.4.0"), log_store=LogStore.SAFE)
PARTITIONED = replace(PLAIN, columns=Table.of(COLUMNS, ["date"]))
OWN = ("date = DATE '2026-01-01'", "date = DATE '2026-02-02'")
"""What the author of the first names, and the one of the second, where they are told to name partitions."""
BIND = "bind raw.o in a DeltaTablePolicy"
BY_SOURCE = "WHEN NOT MATCHED BY SOURCE makes it read all of the table"
LESS, WHERE, NEW, SOME, COMPACT = (
    "if ON matches rows of some partitions alone, name them",
    "say where its rows land",
    "say where its new rows land",
    "if it replaces only some rows, name them",
    "name the partitions to compact",
)


@dataclass(frozen=True)
class Work:
    """A job, and how what is advised is done in it: `{t_and}` becomes a condition more, and so on."""

    sql: str
    pinned: str = ""
    split: str = ""

    def footprint(self, facts: TableFacts, own: str, done: frozenset[str]) -> JobFootprint:
        sql = self.split if BY_SOURCE in done else self.sql
        if {SOME, COMPACT} & done:
            sql = self.pinned
        sql = sql.replace("{own}", own).replace("{t_and}", f" AND t.{own}" if LESS in done else "")
        sql = sql.replace("{raw}", "delta.`/lake/s`" if BIND in done else "raw.o")
        spec = {"sql": sql, **({"writes": [own]} if {WHERE, NEW} & done else {})}
        given = {key_of_path("/lake/t"): facts}
        sources = {key_of_path("/lake/s"): PLAIN}
        job = DeltaWriteJobSpec.model_validate(spec)
        return footprint_of(job, {}, facts=given, sources=sources)


MERGE = f"MERGE INTO {T} AS t USING {{raw}} AS s ON t.id = s.id"
UPDATES, INSERTS = "WHEN MATCHED THEN UPDATE SET n = s.n", "WHEN NOT MATCHED THEN INSERT *"
BY = "WHEN NOT MATCHED BY SOURCE"
FIXED = "date = DATE '2026-03-03'"
UNMATCHED = (
    f"MERGE INTO {T} AS t USING (SELECT o.id FROM {T} AS o LEFT ANTI JOIN {{raw}} AS s ON o.id = s.id WHERE o.{FIXED}) AS d "
    f"ON t.id = d.id AND t.{FIXED} WHEN MATCHED THEN DELETE"
)
WORK = {
    "delete": Work(f"DELETE FROM {T} WHERE id = 1"),
    "delete of a day": Work(f"DELETE FROM {T} WHERE {FIXED} AND id = 1"),
    "delete of all": Work(f"DELETE FROM {T}"),
    "update": Work(f"UPDATE {T} SET n = 2 WHERE id = 1"),
    "update of the day": Work(f"UPDATE {T} SET date = DATE '2026-03-03' WHERE id = 1"),
    "update to any day": Work(f"UPDATE {T} SET date = date_add(date, n) WHERE id = 1"),
    "append": Work(f"INSERT INTO {T} SELECT * FROM delta.`/lake/s`"),
    "append from a name": Work(f"INSERT INTO {T} SELECT * FROM {{raw}}"),
    "append of a day": Work(f"INSERT INTO {T} SELECT id, DATE '2026-03-03' AS date, n FROM delta.`/lake/s`"),
    "append from itself": Work(f"INSERT INTO {T} SELECT id + 1, date, n FROM {T}"),
    "optimize": Work(f"OPTIMIZE {T}", f"OPTIMIZE {T} WHERE {{own}}"),
    "overwrite": Work(
        f"INSERT OVERWRITE {T} SELECT * FROM delta.`/lake/s`",
        f"INSERT INTO {T} REPLACE WHERE {{own}} SELECT * FROM delta.`/lake/s`",
    ),
    "merge": Work(f"{MERGE}{{t_and}} {UPDATES} {INSERTS}"),
    "merge that updates": Work(f"{MERGE}{{t_and}} {UPDATES}"),
    "merge that inserts": Work(f"{MERGE}{{t_and}} {INSERTS}"),
    "merge of a day": Work(f"{MERGE} AND t.{FIXED} {UPDATES}"),
    "merge by source": Work(f"{MERGE}{{t_and}} {UPDATES} {BY} THEN DELETE"),
    "merge by source of a day": Work(
        f"{MERGE}{{t_and}} {UPDATES} {BY} AND t.{FIXED} THEN DELETE",
        "",
        f"{MERGE} AND t.{{own}} {UPDATES}; {UNMATCHED}",
    ),
    "merge of a day by source of a day": Work(
        f"{MERGE} AND t.{FIXED} {UPDATES} {BY} AND t.{FIXED} THEN DELETE",
        "",
        f"{MERGE} AND t.{FIXED} {UPDATES}; {UNMATCHED}",
    ),
}
WAYS = (LESS, WHERE, NEW, SOME, COMPACT, BIND, BY_SOURCE)
PAIRS = list(combinations_with_replacement(WORK, 2))


class Counted:
    """Judges as the oracle does, and counts."""

    def __init__(self, judge: Callable[[Race], Verdict]) -> None:
        self._judge = judge
        self.times = 0

    def __call__(self, race: Race) -> Verdict:
        self.times += 1
        return self._judge(race)


def tried_at_leisure(first: JobFootprint, second: JobFootprint) -> tuple[Advice, ...]:
    found = tried(first, second, Budget())
    assert found is not None
    return found


def way(advice: Advice) -> str:
    return next(way for way in WAYS if advice.words.startswith(way))


def done(names: tuple[str, str], facts: TableFacts, advice: list[Advice]) -> bool:
    """Whether the two may run together once this is done."""
    jobs = [
        WORK[name].footprint(
            facts, OWN[side], frozenset(way(one) for one in advice if one.whose in (side, None))
        )
        for side, name in enumerate(names)
    ]
    return pair_of(jobs[0], jobs[1]).together


@pytest.mark.parametrize("names", PAIRS, ids=" & ".join)
def test_who_does_all_that_is_advised_runs_beside_the_other_and_needs_all_of_it(
    names: tuple[str, str],
) -> None:
    plain = [WORK[name].footprint(PARTITIONED, "", frozenset()) for name in names]
    advice = list(tried_at_leisure(plain[0], plain[1]))
    assert done(names, PARTITIONED, advice) or not advice
    for needed in advice:
        assert not done(names, PARTITIONED, [one for one in advice if one is not needed])
    if not advice and not done(names, PARTITIONED, []):
        assert not done(names, PARTITIONED, [Advice(LESS, None), Advice(BIND, None)])


@pytest.mark.parametrize("names", PAIRS, ids=" & ".join)
def test_no_partitions_are_advised_where_there_are_none(names: tuple[str, str]) -> None:
    plain = [WORK[name].footprint(PLAIN, "", frozenset()) for name in names]
    for one in tried_at_leisure(plain[0], plain[1]):
        assert way(one) == BIND
        assert done(names, PLAIN, [one])


def test_where_only_reads_are_in_the_way_nobody_is_told_to_say_where_rows_land() -> None:
    """The MERGE brings rows anywhere, but the other only removes: it is what the MERGE reads that is in the way."""
    jobs = [
        WORK[name].footprint(PARTITIONED, "", frozenset())
        for name in ("merge that updates", "delete of a day")
    ]
    assert {way(one) for one in tried_at_leisure(jobs[0], jobs[1])} == {LESS, BIND}


@pytest.mark.parametrize(
    ("book", "rule"),
    [(book, rule) for book in RULEBOOKS for rule in book.rules],
    ids=lambda one: one.id if isinstance(one, Rule) else one.engine,
)
def test_what_a_rule_advises_is_tried_as_well(book: Rulebook, rule: Rule) -> None:
    """Where there is a way to name partitions, it goes before what the rule advises."""
    advised = book.verdict(rule.example).advice
    given = [one.words for one in tried_at_leisure(*book.jobs(rule.example))]
    assert advised is None or any(advised.startswith(words) or words.startswith(WAYS) for words in given)


def test_where_one_runs_alone_and_the_engine_is_unknown_both_can_be_advised() -> None:
    """Both verdicts advise something else, and one of the two jobs is no longer there to be changed."""
    unknown = replace(PARTITIONED, dialect=None)
    append, alter = (
        Work(sql).footprint(unknown, "", frozenset())
        for sql in (
            f"INSERT INTO {T} VALUES (1, DATE '2026-03-03', 2)",
            f"ALTER TABLE {T} ADD COLUMNS (x INT)",
        )
    )
    assert [(one.whose, one.clause) for one in tried_at_leisure(append, alter)] == [(1, "ALTER")]


def test_what_only_makes_it_less_bad_is_said_once_and_said_to_be_so() -> None:
    unsafe = replace(PLAIN, log_store=LogStore.S3_SINGLE_DRIVER)
    jobs = [WORK[name].footprint(unsafe, "", frozenset()) for name in ("delete", "update")]
    (one,) = tried_at_leisure(jobs[0], jobs[1])
    assert "S3ConditionalLogStore" in one.words
    assert not one.together


EVERYWHERE = (
    "MERGE INTO delta.`/lake/t` t USING delta.`/lake/s` s ON t.id = s.id + {n} WHEN MATCHED THEN DELETE"
)
DAYS = EVERYWHERE.replace("ON", "ON t.date = DATE '2026-04-0{n}' AND")


def script(*statements: str) -> JobFootprint:
    return Work("; ".join(statements)).footprint(PARTITIONED, "", frozenset())


@pytest.mark.parametrize(
    ("mine", "needed", "said"),
    [
        ("xxx", {1, 2, 3}, "MERGE (statements 1, 2 and 3)"),
        ("x1x", {1, 3}, "MERGE (statements 1 and 3)"),
        ("22x", {3}, "MERGE (statement 3)"),
        ("xxxxxx", {1, 2, 3, 4, 5, 6}, "MERGE (statements 1, 2, 3, 4 and 2 more)"),
    ],
)
def test_of_several_statements_those_are_named_that_have_to_be_changed(
    mine: str, needed: set[int], said: str
) -> None:
    """`x`: a statement that names no day; a number: one that names this day, of which the other job has the days from 5 on."""
    other = script(*(DAYS.format(n=n) for n in range(5, 8)))
    everywhere = EVERYWHERE.format(n=1)

    def with_days(changed: set[int]) -> JobFootprint:
        return script(
            *(
                DAYS.format(n=n) if n.isdigit() else DAYS.format(n=3) if place in changed else everywhere
                for place, n in enumerate(mine, start=1)
            )
        )

    (one,) = tried_at_leisure(with_days(set()), other)
    assert (one.whose, one.clause) == (0, said)
    assert one.words.startswith(LESS)
    assert pair_of(with_days(needed), other).together
    for left_out in needed:
        assert not pair_of(with_days(needed - {left_out}), other).together


@pytest.mark.parametrize("names", range(1, 8))
def test_of_several_names_each_is_told_that_has_to_be_bound(names: int) -> None:
    def writing(bound: int) -> JobFootprint:
        tables = (f"delta.`/lake/b{n}`" if n < bound else f"raw.a{n}" for n in range(names))
        return script(*(f"DELETE FROM {table} WHERE id = 1" for table in tables))

    other = script(f"DELETE FROM {T} WHERE id = 1")
    advice = tried_at_leisure(writing(0), other)
    said = " ".join(one.words for one in advice)
    if names <= 4:
        assert [one.binds for one in advice] == [f"raw.a{n}" for n in range(names)]
        assert all(f"raw.a{n} " in said for n in range(names))
    else:
        assert said.startswith(f"raw.a0, raw.a1, raw.a2 and {names - 3} more")
        assert "bind each" in said
    assert [pair_of(writing(bound), other).together for bound in range(names + 1)] == [False] * names + [True]


def test_what_is_tried_has_a_bound_that_counts_pairs_of_statements_and_is_known_the_next_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    judged = Counted(oracle.judge)
    monkeypatch.setattr(oracle, "judge", judged)
    monkeypatch.setattr(races, "_FEW", 9 * 9)  # so that each pair of statements is judged
    jobs = [script(*(EVERYWHERE.format(n=n) for n in range(first, first + 9))) for first in (1, 20)]
    scarce = Budget(400)
    assert tried(jobs[0], jobs[1], scarce) is None
    assert 81 < judged.times <= 2 * 400
    judged.times = 0
    assert tried(jobs[0], jobs[1], Budget(400)) is None
    assert judged.times == 0, "it was not enough before"
    assert tried_at_leisure(jobs[0], jobs[1])
    judged.times = 0
    assert tried(jobs[0], jobs[1], Budget(0)), "what was found is known"
    assert judged.times == 0


@pytest.mark.parametrize("condition", ["date IN ({dates})", "month(date) IN (2, 3)", "({or_})"])
def test_conditions_that_are_dear_to_compare_count_as_more_statements(condition: str) -> None:
    dates = ", ".join(f"DATE '2026-{month:02}-{day:02}'" for month in range(1, 13) for day in range(1, 28, 2))
    or_ = " OR ".join(f"(date = DATE '2026-05-{day:02}' AND n = {day})" for day in range(1, 28, 2))
    by_day_and_n = replace(PLAIN, columns=Table.of(COLUMNS, ["date", "n"]))

    def cost(where: str) -> int:
        mine, other = (
            Work(f"DELETE FROM {T} WHERE {one} AND id = 7").footprint(by_day_and_n, "", frozenset())
            for one in (where, OWN[0])
        )
        return cost_of((mine, other))

    assert cost(condition.format(dates=dates, or_=or_)) > cost("date < DATE '2026-01-02'")


def test_jobs_that_advice_was_tried_for_are_not_kept() -> None:
    """An operator sees ever new ones, of which a long script may have hundreds of kilobytes."""
    job, other = (Work(EVERYWHERE.format(n=n)).footprint(PARTITIONED, OWN[0], frozenset()) for n in (1, 2))
    first = tried_at_leisure(job, other)
    assert first
    gone = ref(job), ref(other)
    del job, other
    collect()
    assert [one() for one in gone] == [None, None]
    again = (Work(EVERYWHERE.format(n=n)).footprint(PARTITIONED, OWN[0], frozenset()) for n in (1, 2))
    assert tried_at_leisure(*again) is first, "what was found is"
