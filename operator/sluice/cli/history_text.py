"""`sluice explain --history`, for people: who wrote, who would be in whose way, and what would keep them apart."""

from collections.abc import Iterator
from datetime import UTC, datetime

from rich.console import Console
from rich.table import Table
from rich.text import Text

from sluice.cli.pair_text import hanging
from sluice.offline.history import Collision, Fate, History, Writer

MOST = 10
_COLOURS = {Fate.APART: "green", Fate.PIN: "yellow", Fate.SPLIT: "yellow", Fate.SAME: "red"}


def show(history: History, out: Console, most: int | None = MOST) -> None:
    _show_summary(history, out)
    _show_writers(history, out, most)
    _show_collisions(history, out, most)
    _show_cures(history, out)
    for text in _notes(history):
        out.print(hanging("Note: ", text, out.width))


def _show_summary(history: History, out: Console) -> None:
    commits, log = history.log.commits, history.log
    first, last = commits[0], commits[-1]
    by = ", ".join(log.partition_columns) or "nothing"
    out.print(
        Text.assemble(
            (f"{len(commits):,} commits", "bold"),
            f" (versions {first.version:,} to {last.version:,}, {_day(first.timestamp)} to {_day(last.timestamp)} UTC) ",
            f"by {len(history.writers):,} writers; partitioned by {by}.",
        ),
        soft_wrap=True,
    )
    out.print(
        f"{history.overlapping:,} ran beside others ({history.overlaps:,} overlaps, at most {history.widest} at once)."
    )
    out.print()


def _day(milliseconds: int) -> str:
    return f"{datetime.fromtimestamp(milliseconds / 1000, UTC):%Y-%m-%d %H:%M}" if milliseconds else "?"


def _show_writers(history: History, out: Console, most: int | None) -> None:
    table = _table("Who wrote", "commits", "partitions", "without a pin")
    for writer in history.writers[:most]:
        table.add_row(
            writer.name, f"{writer.commits:,}", f"{writer.partitions:,}", f"{writer.without_pin:,}" or ""
        )
    _print_table(table, out)
    _more(len(history.writers), most, "writers", out)
    out.print()


def _show_collisions(history: History, out: Console, most: int | None) -> None:
    if not history.collisions:
        out.print("No two writers were in each other's way.", style="green")
        return
    table = _table("Who met whom", "overlapped", "close", "pin", "split", "queue", "e.g.")
    for one in history.collisions[:most]:
        table.add_row(_names(one), *_figures(one))
    _print_table(table, out)
    _more(len(history.collisions), most, "pairs of writers", out)
    out.print()


def _figures(collision: Collision) -> Iterator[Text]:
    for fates in (collision.side_by_side, collision.close_together):
        yield Text(f"{sum(n for fate, n in fates.items() if fate is not Fate.APART):,}")
    for fate in (Fate.PIN, Fate.SPLIT, Fate.SAME):
        count = collision.of(fate)
        yield Text(f"{count:,}", style=_COLOURS[fate] if count else "dim")
    yield Text("v{}/v{}".format(*collision.example) if collision.example else "", style="dim")


def _names(collision: Collision) -> str:
    one, other = collision.writers
    return f"{one} with itself" if one == other else f"{one}\nand {other}"


def _show_cures(history: History, out: Console) -> None:
    met = sum(collision.met for collision in history.collisions)
    for fate, label, what in (
        (
            Fate.PIN,
            "Pin",
            "name the partition in ON or WHERE: they touched different ones and did not say so",
        ),
        (Fate.SPLIT, "Split", "run one job a partition: they share some, and hold up the others with them"),
        (Fate.SAME, "Queue", "the same partitions or a change of metadata: only an order helps"),
    ):
        count = history.total(fate)
        if count:
            line = f"{count:,} of {met:,} meetings ({count / met:.0%}): {what}"
            out.print(hanging(f"{label}: ", line, out.width, _COLOURS[fate]))
    for writer in sorted(history.writers, key=_unpinned, reverse=True)[:3]:
        if _unpinned(writer) and history.total(Fate.PIN):
            out.print(
                f"  first {writer.name}: {writer.without_pin:,} of its {writer.commits:,} commits have no pin"
            )
    out.print()


def _unpinned(writer: Writer) -> int:
    return writer.without_pin


def _notes(history: History) -> Iterator[str]:
    log = history.log
    yield (
        "a log holds no commit that lost, so collisions are counted from those that won: overlapped (one began before "
        f"the other's commit), or of different writers within {history.within_seconds / 60:g} minutes (close)."
    )
    if log.commits[0].version > 0:
        yield (
            f"versions below {log.commits[0].version:,} are not here: they were cleaned up, or not copied. Who made them is "
            "told by commits only, not by checkpoints, so this is about what came after."
        )
    if log.missing > 0:
        yield f"of the versions in between {log.missing:,} are not here: who ran beside them is not told."
    if history.without_read_version > 1:
        yield f"{history.without_read_version:,} commits don't say from which version they began."
    if log.unreadable:
        yield f"{len(log.unreadable):,} commits can't be read, such as {log.unreadable[0]}"


def _table(*titles: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for number, title in enumerate(titles):
        table.add_column(title, justify="right" if number else "left", overflow="fold", no_wrap=number > 0)
    return table


def _print_table(table: Table, out: Console) -> None:
    """Without the blanks that fill the last column up."""
    with out.capture() as shown:
        out.print(table)
    for line in shown.get().splitlines():
        out.print(Text.from_ansi(line.rstrip()), soft_wrap=True)


def _more(count: int, most: int | None, what: str, out: Console) -> None:
    if most is not None and count > most:
        out.print(f"and {count - most:,} more {what}: --all lists them", style="dim")
