"""Writes the page of all conflict rules: `python -m sluice.cli.rules FILE [--check]`.

What a rule says comes from its own docstring, its example's verdict from the oracle, so that the page can't claim more.
"""

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import yaml

from sluice.api.written import write
from sluice.cli.rule_examples import EXAMPLES, Example, Rule
from sluice.cli.rule_ids import ids_of
from sluice.conflicts import Level, Verdict, common, databricks, delta_rs, oracle, oss, pair_of
from sluice.conflicts.eras import ERAS
from sluice.conflicts.row_level import SUPPORT

HEADER = """<!-- Generated from operator/sluice/conflicts by `./dev crds`: change the rules, not this file. -->
# When two writes of one Delta table conflict

Two jobs read the table as it was when they began. The first to commit wins; the other one, here the *loser*, is checked
against what the winner did, by the rules of the loser's own engine. The first rule that has something to say decides:

- **never**: the loser commits. Two jobs run side by side only if it is `never` in both directions;
- **may**: it depends on files or rows that nobody knows before, or nobody has written down what happens;
- **will**: it surely aborts, with the exception named;
- **unsafe**: no exception comes, but data is lost.

Where rules come from:

| source | what it is |
| --- | --- |
| seed 000 | Databricks' page on isolation levels and write conflicts, with row-level concurrency (in Portuguese) |
| seed 001 | the same page of 2019 (in Japanese and English) |
| seed 002 | open-source Delta Lake's page on concurrency control, of version 3.3.1 |
| seed 003 | Databricks' page on isolation levels (in Chinese and English) |
| docs.delta.io | open-source Delta Lake's pages of today, by page and heading |
| conflicts, delta-conflicts | what the code of open-source Delta, and of delta-rs, does, by section |
| measured, delta-measured | what real Delta did when two real operations met, by finding; [proof.md](proof.md) tells how |

What a rule is proved by fails as soon as that rule is taken out: `tests/unit/conflicts/test_rules_are_proved.py` holds it.

Examples are about one table: `orders (id BIGINT, amount INT, date DATE)`, partitioned by `date` unless it says otherwise.
"""
IDS = """
## By id

As `status.blockedBy[].rule` of a waiting job, `sluice explain` and `-o json` name them. Those of `never` say why two may run
together.

| id | said by |
| --- | --- |
"""
COMMON = """
## Rules of every engine

Asked first: they are about the store and about runs, not about Delta's check.
"""
OPEN_SOURCE = """
## Open-source Delta Lake

Proved on real Delta: each rule is held against all recorded races (`tests/contract/truth`), which are raced again in part by
each `./dev test contract`. Where nothing is known of the engine, only what holds for Databricks, too, is let through, and
nothing is called `will`. Versions differ in this:

| Delta Lake | features whose enabling lets others commit | metadata that stays the same |
| --- | --- | --- |
"""
DATABRICKS = """
## Databricks

There is no code to read and no engine to race, so a pair passes only where a document says that it cannot conflict. These
are the documents' matrices, as the oracle answers them (both directions, the worse one; all statements meet in one partition):
"""
ROWS = """
Conflicts are told by rows, not by files, on tables with deletion vectors that have no partitions or have liquid clustering.
That changes what `may` means, and never makes it `never`: Databricks promises fewer conflicts, not none.

| runtime from | tables | without Photon | source |
| --- | --- | --- | --- |
"""
DELTA_RS = """
## delta-rs

The `deltalake` package for Python and Rust, if a table's policy names it as the dialect. Its code was read, and none of it was
raced: what it is not known to let pass waits. All its failures are of one class, CommitFailedError.
"""
OF_ALL: tuple[Rule, ...] = (
    *common.RULES,
    common.vacuum_under_a_read,
    common.streamed_rows,
    common.changed_source,
)
OF_OSS: tuple[Rule, ...] = (*oss.RULES, oss.streaming_read, oss.nothing_meets)
OF_DELTA_RS: tuple[Rule, ...] = (*delta_rs.RULES, delta_rs.nothing_meets)
OF_DATABRICKS: tuple[Rule, ...] = (*databricks.RULES, databricks.streaming_read, databricks.undocumented)
_SOURCES = re.compile(
    r"[.;] (?=(?:seed \d|conflicts [A-Z]|measured\b|delta-conflicts|delta-measured|docs\.delta\.io))"
)


def render() -> str:
    return "\n".join(_lines()).rstrip() + "\n"


def _lines() -> Iterator[str]:
    yield HEADER + IDS + "\n".join(_index())
    yield COMMON
    yield from _rules(OF_ALL)
    yield OPEN_SOURCE + "\n".join(_eras())
    yield ""
    yield from _rules(OF_OSS)
    yield DATABRICKS
    yield from _matrices()
    yield ROWS + "\n".join(_support())
    yield ""
    yield from _rules(OF_DATABRICKS)
    yield DELTA_RS
    yield from _rules(OF_DELTA_RS)


def _index() -> Iterator[str]:
    """Every id, with links to the sections of its rules."""
    said: dict[str, list[str]] = {}
    headings: Counter[str] = Counter()
    sections: tuple[tuple[str, tuple[Rule, ...]], ...] = (
        ("every engine", OF_ALL),
        ("open source", OF_OSS),
        ("Databricks", OF_DATABRICKS),
        ("delta-rs", OF_DELTA_RS),
    )
    for engine, rules in sections:
        for rule in rules:
            slug = _heading(rule).lower().replace(" ", "-")
            anchor = f"{slug}-{headings[slug]}" if headings[slug] else slug
            headings[slug] += 1
            for one in _ids(rule):
                said.setdefault(one, []).append(f"[{_heading(rule)}](#{anchor}) ({engine})")
    for one in ids_of(oracle)[""]:
        said.setdefault(one, []).append("no rule is asked: they have no table in common")
    for one, places in sorted(said.items()):
        yield f"| `{one}` | {', '.join(places)} |"


def _ids(rule: Rule) -> tuple[str, ...]:
    module = next(one for one in (common, oss, databricks, delta_rs) if one.__name__ == rule.__module__)
    return ids_of(module)[rule.__name__]


def _heading(rule: Rule) -> str:
    return rule.__name__.replace("_", " ").capitalize()


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
        yield f"| {row.since[0]}.{row.since[1]} | {unpartitioned} | {verbs} only | {row.place} |"


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
    plain = next(example for example in EXAMPLES if example.dialect.is_databricks)
    vectors = {"properties": {"delta.enableDeletionVectors": "true"}}
    for title, partitioned, facts in (
        ("WriteSerializable, partitioned, without deletion vectors", True, {}),
        ("Serializable, partitioned, without deletion vectors", True, {"serializable": True}),
        ("WriteSerializable, unpartitioned, with deletion vectors (row-level concurrency)", False, vectors),
        ("Serializable, unpartitioned, with deletion vectors", False, {**vectors, "serializable": True}),
    ):
        yield f"**{title}**\n"
        yield "| | " + " | ".join(_KINDS) + " |"
        yield "| --- |" + " --- |" * len(_KINDS)
        base = replace(plain, partitioned=partitioned, table=facts)
        for name, row in _KINDS.items():
            cells = (_cell(base, row, column) for column in _KINDS.values())
            yield f"| **{name}** | " + " | ".join(cells) + " |"
        yield ""


def _cell(base: Example, row: str, column: str) -> str:
    pair = pair_of(*replace(base, loser=row, winner=column).jobs)
    worst = max(pair.first_loses, pair.second_loses, key=lambda verdict: verdict.level)
    return "can't" if worst.level is Level.NEVER else "may, by rows" if worst.rule == "same-rows" else "may"


def _rules(rules: Iterable[Rule]) -> Iterator[str]:
    by_rule = {example.rule: example for example in EXAMPLES}
    for rule in rules:
        yield from _rule(by_rule[rule])


def _rule(example: Example) -> Iterator[str]:
    says, source, differs = parts(example.rule.__doc__ or "")
    yield f"### {_heading(example.rule)}\n"
    yield f"{says}\n"
    yield from _shown(example)
    others = [f"`{one}`" for one in _ids(example.rule) if one != example.verdict.rule]
    if others:
        yield f"- Gives also: {', '.join(others)}"
    yield f"- Where it comes from: {source or 'no rule above speaks of it'}"
    if differs:
        yield f"- Where documents and code disagree: {differs}"
    yield f"- Proved by: {'; '.join(_named(name) for name in example.proof)}"
    yield ""


def parts(docstring: str) -> tuple[str, str, str]:
    """What a rule says, where that comes from, and where documents and code disagree."""
    text, _, differs = " ".join(docstring.split()).partition(" Differs: ")
    found = _SOURCES.search(text)
    if found is None:
        return text, "", differs
    return text[: found.start()] + ".", text[found.end() :], differs


def _named(test: str) -> str:
    path, _, name = test.partition("::")
    return f"[`{name}`](../{path})"


def _shown(example: Example) -> Iterator[str]:
    yield "```sql"
    yield f"-- began first, commits second:{_setting(example)}"
    yield _text(example.loser)
    yield "-- committed in between:"
    yield _text(example.winner)
    yield "```"
    yield ""
    yield _told(example.verdict)
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


def _told(verdict: Verdict) -> str:
    told = f"**{verdict.level}**"
    if verdict.exception is not None:
        told += f" ({verdict.exception})"
    told += f", rule `{verdict.rule}`: {verdict.reason}."
    if verdict.overlap not in (None, "true"):
        told += f" They meet at `{verdict.overlap}`."
    if verdict.readers is not None:
        told += f" Readers: {verdict.readers}."
    if verdict.advice is not None:
        told += f" Advice: {verdict.advice}."
    return told


def main(arguments: list[str]) -> int:
    return write("sluice.cli.rules", render, arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
