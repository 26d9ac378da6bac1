"""How fast conditions are understood, and regions held against each other, on one core.

    python bench/predicates.py

The ratio is to a naive oracle that parses both conditions for every pair. CPU time is counted, so that a busy machine
doesn't change the figures.
"""

import sys
from pathlib import Path
from random import Random
from statistics import quantiles
from time import process_time

sys.path.insert(0, str(Path(__file__).parent.parent / "operator"))

from sluice.predicates import Region, Session, Table, compiled, disjoint, parse

TABLE = Table.of(
    {
        "date": "date",
        "region": "string",
        "hour": "int",
        "id": "bigint",
        "price": "decimal(10,2)",
        "flag": "boolean",
    },
    partition_columns=["date", "region", "hour"],
)
SESSION = Session("UTC", ansi=True)
PAIRS = 400_000


def conditions(random: Random, count: int) -> list[str]:
    """Returns conditions as jobs have them: a day or a few, a range, a region, an hour; now and then an OR of two such, or a
    data column as well."""

    def day() -> str:
        return f"2026-{random.randint(1, 12):02d}-{random.randint(1, 28):02d}"

    shapes = [
        lambda: f"date = DATE '{day()}'",
        lambda: f"date = '{day()}' AND region = '{random.choice('abcdefgh')}'",
        lambda: f"date IN ('{day()}', '{day()}', '{day()}')",
        lambda: f"date BETWEEN '{day()}' AND '{day()}' AND region IN ('a', 'b')",
        lambda: f"date >= '{day()}' AND id > {random.randint(1, 1000)}",
        lambda: f"region LIKE '{random.choice('abcdefgh')}%' AND hour < {random.randint(1, 23)}",
        lambda: (
            f"(date = '{day()}' AND hour = {random.randint(0, 23)}) OR (date = '{day()}' AND hour = {random.randint(0, 23)})"
        ),
        lambda: f"date = '{day()}' AND NOT flag AND price < 99.5 AND my_udf(id)",
    ]
    return [random.choice(shapes)() for _ in range(count)]


def understood(condition: str) -> Region:
    return compiled(parse(condition, TABLE, session=SESSION)).on_partitions()


def main() -> None:
    random = Random(6)  # noqa: S311 - the same conditions each time
    texts = conditions(random, 2_000)
    understood(texts[0])
    regions: list[Region] = []
    times: list[float] = []
    for text in texts:
        started = process_time()
        regions.append(understood(text))
        times.append(process_time() - started)
    cuts = quantiles(times, n=100)
    pairs = [(random.choice(regions), random.choice(regions)) for _ in range(PAIRS)]
    started = process_time()
    apart = sum(disjoint(a, b) for a, b in pairs)
    rate = PAIRS / (process_time() - started)
    naive = 1 / (2 * sum(times) / len(times))
    lines = (
        f"text to region: median {cuts[49] * 1e3:.2f} ms, p99 {cuts[98] * 1e3:.2f} ms",
        f"disjoint: {rate:,.0f} pairs/s, {apart / PAIRS:.0%} of them apart; parsing each time: {naive:,.0f} pairs/s",
        f"ratio: {rate / naive:,.0f}",
    )
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
