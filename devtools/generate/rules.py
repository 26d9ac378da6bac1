"""The page of all conflict rules.

What a rule says comes from its own record, its example's verdict from the oracle, so that the page can't claim more.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache

import yaml

from generate import by_statement
from generate.rulebooks import DATABRICKS, DELTA_RS, EVERY_ENGINE, OPEN_SOURCE, READERS, RULEBOOKS, Rulebook
from sluice.conflicts import Level, Verdict, pair_of
from sluice.conflicts.advice import Advice
from sluice.conflicts.advice_search import Budget, tried
from sluice.conflicts.delta_versions import ERAS
from sluice.conflicts.oracle import WITHOUT_A_RULE
from sluice.conflicts.row_level import SUPPORT
from sluice.conflicts.rule import Example, Rule, VersionDifference
from sluice.predicates import Kind, functions

HEADER = """<!-- Generated from operator/sluice/conflicts by `./dev generate`: change the rules, not this file. -->
# When two writes of one Delta table conflict

Two jobs read the table as it was when they began. The first to commit wins; the other one, here the *loser*, is checked
against what the winner did, by the rules of the loser's own engine. The first rule that has something to say decides:

- **never**: the loser commits. Two jobs run side by side only if it is `never` in both directions;
- **may**: it depends on files or rows that are not known beforehand, or what happens is not documented;
- **will**: it surely aborts, with the exception named;
- **unsafe**: data is lost without any exception.

Of jobs with several statements the worst verdict of any two counts. If one of them has more than 64 statements, Sluice first
judges those together that differ in their partitions alone. It then judges pairs of single statements, up to 6,000 in each
direction. If that does not decide, the verdict is that of all their partitions taken together: it may be worse than the true
one, never better, and its reason says "they are too many to compare one by one". To get the true one, split such a job.

Ids of [sources.md](sources.md) say where a rule comes from: `D` is what a document says, `C` what Delta's code
checks, `M` what was seen when two real writes met, `S` what a store guarantees.

The proofs of a rule fail as soon as the rule is removed: `tests/unit/conflicts/test_rules_are_proved.py` holds it.

Examples are about one table: `orders (id BIGINT, amount INT, date DATE)`, partitioned by `date` unless it says otherwise.
"""
IDS = """
## By id

`status.blockedBy[].rule`, `sluice explain` and `-o json` use these ids. Ids of `never` verdicts say why two jobs may run together.

| id | said by |
| --- | --- |
"""
BY_EXCEPTION = """
## By exception

For a job that lost with one of these exceptions, these are the rules that predict it.

| exception | told by |
| --- | --- |
"""
BY_STATEMENT = """
## By statement

The rules by which each of these loses to any of the others, on an existing table that is partitioned or has liquid clustering.
Not listed are rules about the table's store, about tables that a job only reads, about identity columns, and about a VACUUM that
keeps files for less than a week.
"""
FUNCTIONS = """
## Functions of partition columns

A condition may call these functions of partition columns, with arguments of the types that they take without a cast. Each of
them is held against real Spark. Where the partitions are known, its value is computed; a function that rises with a date (`year`,
`date_add`, `trunc` and the like) is an interval of dates. Whatever else a condition calls may be true of any row, and so
may these where Spark's value is not known: an overflow, a cast that fails, letters beyond ASCII in `upper` and `lower`. `BETWEEN`
around a function is not understood: write two comparisons. Nor are operators without brackets that the parser binds otherwise
than Spark: write `(n & 1) | 2`. A cast of a column to its own type is the column.
Why it is done so: [decision 26](decisions/0026-functions-are-computed-on-axes-of-their-own.md).

| first argument | functions and operators |
| --- | --- |
"""
THE_DAY = """
## Conditions on today

`current_date()` and `curdate()` in a job's SQL are one of five days: from the day before the job was made, in UTC, to three days
after it. So `date < current_date() - INTERVAL 90 DAYS` of a job that was made on 28 November touches `date <= DATE '2026-09-01'`,
and a row with `current_date()` as its date lands in one of these partitions. The first four are those on which its statements may
begin; on the last one a statement may still run that began before midnight. Spark puts the day in when a statement begins, and
just before that the driver asks the same session for it. On another day the statement is not run, and the job fails as
[`NotAsJudgedError`](operations.md#a-job-fails-with-notasjudgederror). A job that is granted its leases two days after it was
made, in UTC, or later, is judged for any day, and its statements run on any day. A call in a comment or a text counts, too.

Any day is also assumed of `current_date` without brackets, which may be a column, of `current_timestamp()` and `now()`, of a
function that takes the day and a column (`datediff(current_date(), date) > 90`), and of what Delta works out at a statement's end:
`REPLACE WHERE` and `PARTITION (date = current_date())`; of a view that was made under another time zone, and of a condition that
asks for the day more than 50 times. Any day is assumed in streams, too, in `spec.writes` and in `spec.footprint`.
"""
OTHER_SPELLINGS = """
Other spellings of these are understood as well, here of the partition columns `date`, `region` and `n`:

"""
SPELLED_OTHERWISE = (
    *(
        "extract(YEAR FROM date)",
        "extract(DAY FROM date)",
        "extract(WEEK FROM date)",
        "extract(DOY FROM date)",
    ),
    *(
        "extract(DAYOFWEEK FROM date)",
        "dayofmonth(date)",
        "dateadd(date, 1)",
        "date + 1",
        "date - INTERVAL 7 DAY",
        "date + INTERVAL 1 MONTH",
        "CAST(date_trunc('MONTH', date) AS DATE)",
    ),
    *("date_diff(date, DATE '2026-11-01')", "ucase(region)", "lcase(region)", "len(region)"),
    *(
        "char_length(region)",
        "character_length(region)",
        "substr(region, 1, 2)",
        "substring(region FROM 1 FOR 2)",
    ),
    *(
        "trim(BOTH FROM region)",
        "trim(LEADING FROM region)",
        "trim(TRAILING FROM region)",
        "locate('eu', region)",
    ),
    *(
        "region || '-' || n",
        "nvl(region, 'none')",
        "ifnull(n, 0)",
        "mod(n, 2)",
        "TRY_CAST(region AS INT)",
        "int(region)",
    ),
    *("string(date)", "date(region)"),
)
ON_EVERY_ENGINE = """
## Rules of every engine

Asked first: they are about the store and about runs, not about Delta's check.
"""
ON_READERS = """
## Tables that a job only reads

Delta doesn't check them, whatever engine commits. Which other commits break a stream that reads differs between engines: see
`streaming-read` there.
"""
ON_OPEN_SOURCE = """
## Open-source Delta Lake

Proved on real Delta: each rule is held against all recorded races (`tests/contract/truth`), which are raced again in part by
each `./dev test contract`. If the engine is not known, only what also holds for Databricks is let through, and
nothing is called `will`. Versions differ as this table says. In all of them column mapping aborts others on a table with
structs, and so do in-commit timestamps on a table that had them before. On a table with identity columns each change may.

| Delta Lake | features whose enabling lets others commit | metadata that stays the same |
| --- | --- | --- |
"""
ON_DATABRICKS = """
## Databricks

There is no code to read and no engine to race, so a pair passes only where a document says that it cannot conflict. These
are the documents' matrices, as the oracle answers them (both directions, the worse one; all statements meet in one partition):
"""
ROWS = """
Conflicts are judged row by row, not file by file, on unpartitioned tables with deletion vectors, and on tables with liquid
clustering unless deletion vectors are disabled. That changes what `may` means, but never makes it `never`: Databricks promises
fewer conflicts, not none.

They are still judged file by file ([D5](sources.md#d5), [D6](sources.md#d6), [D7](sources.md#d7)):

- on partitioned tables, and where nothing is known of the table or of the runtime;
- for everything but INSERT, UPDATE, DELETE and MERGE; `OPTIMIZE ... ZORDER BY` gets no help from deletion vectors either;
- for conditions that look into structs, arrays or maps, have subqueries, call user-defined or non-deterministic functions such
  as `rand()`, or aren't understood;
- for a MERGE without a condition on the target alone;
- where the runtime, or a runtime without Photon, does not support it for the statement or the table:

| runtime from | tables | without Photon | source |
| --- | --- | --- | --- |
"""
ON_DELTA_RS = """
## delta-rs

The `deltalake` package for Python and Rust, if a table's policy names it as the dialect. Its code was read, and none of it was
raced: what it is not known to let pass waits. All its failures are of one class, CommitFailedError.
"""


_CASTS = {"string", "date", "tinyint", "smallint", "int", "bigint"}


def _functions() -> Iterator[str]:
    by_kinds: dict[str, list[str]] = {}
    for name, kinds in functions.SIGNATURES:
        if kinds[0] is Kind.TIMESTAMP:
            continue  # of what date_trunc makes of a date: columns of timestamps are not computed with
        shown = f"CAST(... AS {name.upper()})" if name in _CASTS else name
        taken = by_kinds.setdefault(kinds[0].value, [])
        if f"`{shown}`" not in taken:
            taken.append(f"`{shown}`")
    for kind, names in by_kinds.items():
        yield f"| {kind} | {', '.join(names).replace('|', chr(92) + '|')} |"
    yield "| several of one of these types | `coalesce` (`nvl`, `ifnull`) |"
    yield "| several of any of these types | `concat` (`\\|\\|`) |"


@cache
def render() -> str:
    """The page, which a process makes once: it judges each statement beside every other one, by each engine."""
    return "\n".join(_lines()).rstrip() + "\n"


def _lines() -> Iterator[str]:
    yield HEADER + IDS + "\n".join(_index())
    yield BY_EXCEPTION + "\n".join(_by_exception())
    yield BY_STATEMENT
    for book in (OPEN_SOURCE, DATABRICKS, DELTA_RS):
        yield from by_statement.index(book)
    yield FUNCTIONS + "\n".join(_functions())
    yield OTHER_SPELLINGS + "\n".join(f"- `{text}`" for text in SPELLED_OTHERWISE)
    yield THE_DAY
    yield ON_EVERY_ENGINE
    yield from _rules(EVERY_ENGINE)
    yield ON_READERS
    yield from _rules(READERS)
    yield ON_OPEN_SOURCE + "\n".join(_eras())
    yield ""
    yield from _rules(OPEN_SOURCE)
    yield ON_DATABRICKS
    yield from _matrices()
    yield ROWS + "\n".join(_support())
    yield ""
    yield from _rules(DATABRICKS)
    yield ON_DELTA_RS
    yield from _rules(DELTA_RS)


def _linked() -> Iterator[tuple[Rulebook, Rule, str]]:
    """Each rule with a link to its section."""
    headings: Counter[str] = Counter()
    for book in RULEBOOKS:
        for rule in book.rules:
            slug = _heading(rule).lower().replace(" ", "-")
            anchor = f"{slug}-{headings[slug]}" if headings[slug] else slug
            headings[slug] += 1
            yield book, rule, f"[{_heading(rule)}](#{anchor}) ({book.engine})"


def _index() -> Iterator[str]:
    """Every id, with links to the sections of its rules."""
    said: dict[str, list[str]] = {}
    for _, rule, link in _linked():
        said.setdefault(rule.id, []).append(link)
    for verdict in WITHOUT_A_RULE:
        said[verdict.rule] = [f'no rule is asked: "{verdict.reason}"']
    for one, places in sorted(said.items()):
        yield f"| `{one}` | {', '.join(places)} |"


def _by_exception() -> Iterator[str]:
    told: dict[str, list[str]] = {}
    for _, rule, link in _linked():
        for exception in rule.exceptions:
            told.setdefault(exception, []).append(link)
    for exception, links in sorted(told.items()):
        yield f"| `{exception}` | {', '.join(links)} |"


def _heading(rule: Rule) -> str:
    return rule.id.replace("-", " ").capitalize()


def _eras() -> Iterator[str]:
    for era in ERAS:
        same = "lets others commit" if era.compares_metadata else "aborts all the same"
        yield f"| {era.name} | {', '.join(sorted(era.survives_enabling))} | {same} |"


def _support() -> Iterator[str]:
    for row in SUPPORT:
        unpartitioned = "also unpartitioned ones" if row.unpartitioned else "clustered ones only"
        if row.preview:
            unpartitioned += (
                ", or also unpartitioned ones with `spark.databricks.delta.rowLevelConcurrencyPreview`"
            )
        verbs = ", ".join(sorted(operation.value.upper() for operation in row.without_photon))
        yield f"| {row.since[0]}.{row.since[1]} | {unpartitioned} | {verbs} only | {_cited((row.finding,))} |"


_KINDS = {
    "INSERT": "INSERT INTO orders VALUES (1, 10, DATE '2026-11-18')",
    "INSERT that reads orders": "INSERT INTO orders SELECT * FROM orders WHERE id = 1",
    "UPDATE": "UPDATE orders SET amount = 0 WHERE id = 1",
    "DELETE": "DELETE FROM orders WHERE id = 1",
    "MERGE": (
        "MERGE INTO orders t USING (SELECT 1L AS id, 10 AS amount, DATE '2026-11-18' AS date) s "
        "ON t.id = s.id AND t.amount = 1 WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    ),
    "OPTIMIZE": "OPTIMIZE orders",
    "OPTIMIZE ZORDER BY": "OPTIMIZE orders ZORDER BY (id)",
}


def _matrices() -> Iterator[str]:
    vectors = {"properties": {"delta.enableDeletionVectors": "true"}}
    for partitioned, with_vectors, serializable in (
        (True, False, False),
        (True, False, True),
        (True, True, False),
        (True, True, True),
        (False, True, False),
        (False, True, True),
    ):
        facts = {**(vectors if with_vectors else {}), "serializable": serializable}
        cells = {
            name: [_cell(Example(row, column, partitioned, facts)) for column in _KINDS.values()]
            for name, row in _KINDS.items()
        }
        by_rows = any(_BY_ROWS in row for row in cells.values())
        yield (
            f"**{'Serializable' if serializable else 'WriteSerializable'}, "
            f"{'partitioned' if partitioned else 'unpartitioned'}, "
            f"{'with' if with_vectors else 'without'} deletion vectors"
            f"{' (row-level concurrency)' if by_rows else ''}**\n"
        )
        yield "| | " + " | ".join(_KINDS) + " |"
        yield "| --- |" + " --- |" * len(_KINDS)
        for name, row in cells.items():
            yield f"| **{name}** | " + " | ".join(row) + " |"
        yield ""


_BY_ROWS = "may, by rows"


def _cell(example: Example) -> str:
    pair = pair_of(*DATABRICKS.jobs(example))
    worst = max(pair.first_loses, pair.second_loses, key=lambda verdict: verdict.level)
    return "can't" if worst.level is Level.NEVER else _BY_ROWS if worst.rule == "same-rows" else "may"


def _rules(book: Rulebook) -> Iterator[str]:
    for rule in book.rules:
        yield f"### {_heading(rule)}\n"
        yield f"{rule.says}\n"
        yield from _shown(rule.example)
        yield f"{_told(book.verdict(rule.example), tried(*book.jobs(rule.example), Budget()) or ())}\n"
        yield f"- Where it comes from: {_cited(rule.sources) or 'no rule above speaks of it'}"
        if rule.differs is not None:
            yield f"- Where documents and code disagree: {_disagreement(rule.differs)}"
        yield f"- Proved by: {'; '.join(_named(name) for name in rule.proofs)}"
        yield ""


def _cited(findings: Iterable[str]) -> str:
    return ", ".join(f"[{one}](sources.md#{one.lower()})" for one in findings)


def _disagreement(differs: VersionDifference) -> str:
    return f"{differs.text} See {_cited(differs.findings)}." if differs.findings else differs.text


def _named(test: str) -> str:
    path, _, name = test.partition("::")
    return f"[`{name}`](../tests/unit/{path})"


def _shown(example: Example) -> Iterator[str]:
    yield "```sql"
    yield f"-- began first, commits second:{_setting(example)}"
    yield _text(example.loser)
    yield "-- committed in between:"
    yield _text(example.winner)
    yield "```"
    yield ""


def _setting(example: Example) -> str:
    given = [] if example.partitioned else [" unpartitioned"]
    given += [f" {name.replace('_', ' ')} {_plain(value)}" for name, value in example.table.items()]
    return f"   (the table:{','.join(given)})" if given else ""


def _plain(value: object) -> str:
    if isinstance(value, frozenset | tuple):
        return ", ".join(sorted(str(item) for item in value))
    if isinstance(value, bool):
        return str(value).lower()
    return str(dict(value) if isinstance(value, Mapping) else value).strip("{}").replace("'", "")


def _text(spec: object) -> str:
    if isinstance(spec, str):
        return "".join(f"{statement.strip()};\n" for statement in spec.split(";")).rstrip()
    text: str = yaml.safe_dump(spec, sort_keys=False, default_flow_style=True, width=1000)
    return "-- " + text.strip()[1:-1]


def _told(verdict: Verdict, advice: Sequence[Advice]) -> str:
    told = f"**{verdict.level}**"
    if verdict.exception is not None:
        told += f" ({verdict.exception})"
    told += f", rule `{verdict.rule}`: {verdict.reason}."
    if verdict.overlap not in (None, "true"):
        told += f" They meet at `{verdict.overlap}`."
    if verdict.readers is not None:
        told += f" Readers: {verdict.readers}."
    if advice:
        told += f" Advice: {'; '.join(one.said('the first', 'the second') for one in advice)}."
    return told
