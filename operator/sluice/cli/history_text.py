"""`sluice explain --history`, for people: who wrote, who would be in whose way, and what would keep them apart."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from operator import itemgetter

from rich.console import Console
from rich.table import Table
from rich.text import Text

from sluice.cli.durations import lasting
from sluice.cli.outputs import print_hanging
from sluice.engines.stamp import USER_METADATA
from sluice.offline.history import Collision, CommitFate, HistoryCommit, HistoryReport, HistoryWriter

MOST = 10
_MOST_OF_THEM = 0.8
_LONGEST_TIME = 8
"""Hours of a day that are still a time of it."""
_COLOURS = {
    CommitFate.APART: "green",
    CommitFate.PIN: "yellow",
    CommitFate.SPLIT: "yellow",
    CommitFate.SAME: "red",
}


def show(history: HistoryReport, out: Console, most: int | None = MOST) -> None:
    _show_summary(history, out)
    _show_writers(history, out, most)
    _show_collisions(history, out, most)
    _show_cures(history, out)
    for text in _notes(history):
        print_hanging(out, "Note: ", text)


def _show_summary(history: HistoryReport, out: Console) -> None:
    commits, log = history.log.commits, history.log
    first, last = commits[0], commits[-1]
    by = ", ".join(log.partition_columns) or "nothing"
    out.print(
        Text.assemble(
            (_counted(len(commits), "commit"), "bold"),
            f" ({_from_to(first, last)} UTC) ",
            f"by {_counted(len(history.writers), 'writer')}; partitioned by {by}.",
        ),
        soft_wrap=True,
    )
    out.print(
        f"{history.overlapping:,} ran beside others ({_counted(history.overlaps, 'overlap')}, at most {history.widest} at once)."
    )
    out.print()


def _day(milliseconds: int) -> str:
    return f"{datetime.fromtimestamp(milliseconds / 1000, UTC):%Y-%m-%d %H:%M}" if milliseconds else "?"


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _from_to(first: HistoryCommit, last: HistoryCommit) -> str:
    if first is last:
        return f"version {first.version:,}, {_day(first.timestamp)}"
    return (
        f"versions {first.version:,} to {last.version:,}, {_day(first.timestamp)} to {_day(last.timestamp)}"
    )


def _minutes(count: float) -> str:
    return f"{count:g} minute{'' if count == 1 else 's'}"


def _show_writers(history: HistoryReport, out: Console, most: int | None) -> None:
    shown = table("Who wrote", "commits", "partitions", "without a pin")
    for writer in history.writers[:most]:
        shown.add_row(
            writer.name, f"{writer.commits:,}", f"{writer.partitions:,}", f"{writer.without_pin:,}" or ""
        )
    print_table(shown, out)
    _more(len(history.writers), most, "writers", out)
    out.print()


def _show_collisions(history: HistoryReport, out: Console, most: int | None) -> None:
    if not history.collisions:
        out.print("No two writers were in each other's way.", style="green")
        return
    shown = table("Who met whom", "overlapped", "close", "pin", "split", "queue", "hours", "at stake", "e.g.")
    for one in history.collisions[:most]:
        shown.add_row(_names(one), *_figures(one))
    print_table(shown, out)
    _more(len(history.collisions), most, "pairs of writers", out)
    out.print()


def _figures(collision: Collision) -> Iterator[Text]:
    for fates in (collision.side_by_side, collision.close_together):
        yield Text(f"{sum(n for fate, n in fates.items() if fate is not CommitFate.APART):,}")
    for fate in (CommitFate.PIN, CommitFate.SPLIT, CommitFate.SAME):
        count = collision.of(fate)
        yield Text(f"{count:,}", style=_COLOURS[fate] if count else "dim")
    yield Text(_busy_hours(collision.hours))
    yield Text(lasting(collision.at_stake) if collision.at_stake else "-")
    yield Text("v{}/v{}".format(*collision.example) if collision.example else "", style="dim")


def _busy_hours(hours: Mapping[int, int]) -> str:
    """The shortest time of day in which most of them met, such as 02-04, where that says something."""
    wanted = sum(hours.values()) * _MOST_OF_THEM
    for length in range(1, _LONGEST_TIME + 1):
        begins, met = max(
            ((first, sum(hours.get((first + n) % 24, 0) for n in range(length))) for first in range(24)),
            key=itemgetter(1),
        )
        if met and met >= wanted:
            return f"{begins:02}-{(begins + length) % 24:02}"
    return "any" if hours else "?"


def _names(collision: Collision) -> str:
    one, other = collision.writers
    return f"{one} with itself" if one == other else f"{one}\nand {other}"


def _show_cures(history: HistoryReport, out: Console) -> None:
    met = sum(collision.met for collision in history.collisions)
    for fate, label, what in (
        (
            CommitFate.PIN,
            "Pin",
            "name the partition in ON or WHERE: they touched different ones and did not say so",
        ),
        (
            CommitFate.SPLIT,
            "Split",
            "run one job per partition: they share some, and hold up the rest as well",
        ),
        (CommitFate.SAME, "Queue", "the same partitions, or changed metadata: they have to run in turn"),
    ):
        count = history.total(fate)
        if count:
            line = f"{count:,} of {_counted(met, 'meeting')} ({count / met:.0%}): {what}"
            print_hanging(out, f"{label}: ", line, colour=_COLOURS[fate])
    for writer in sorted(history.writers, key=_unpinned, reverse=True)[:3]:
        if _unpinned(writer) and history.total(CommitFate.PIN):
            commits = _counted(writer.commits, "commit")
            out.print(f"  first {writer.name}: no pin in {writer.without_pin:,} of its {commits}")
    out.print()


def _unnamed(history: HistoryReport) -> HistoryWriter | None:
    """The fullest of the writers without a name, of which several may be one here."""
    return next((writer for writer in history.writers if not writer.is_named), None)


def _unpinned(writer: HistoryWriter) -> int:
    return writer.without_pin


def _notes(history: HistoryReport) -> Iterator[str]:
    log = history.log
    unmeasured = sum(one.unmeasured for one in history.collisions)
    yield (
        "a log does not hold commits that lost, so collisions are counted among those that won: they overlapped (one began "
        f"before the other's commit), or two writers made them within {_minutes(history.within_seconds / 60)} (close)."
    )
    if history.collisions:
        of_these = (
            f"; where it has none, nothing is counted ({unmeasured:,} times here)." if unmeasured else "."
        )
        yield (
            "hours are those of the day, in UTC, in which at least four of five of them met. At stake is for how long the later "
            "commits of these meetings ran, by their own metrics, which is in vain if such a commit loses"
            + of_these
        )
    if (writer := _unnamed(history)) is not None:
        who = writer.name.rpartition(": ")[0]
        yield (
            f"{who} may be many writers, because its commits say nothing else of who made them. Give each job a name, and the "
            f"next replay tells them apart: --conf {USER_METADATA}=NAME of spark-submit, or SET {USER_METADATA} = NAME in its SQL."
        )
    if log.commits[0].version > 0:
        yield (
            f"versions below {log.commits[0].version:,} are missing: they were cleaned up, or not copied. Only commits tell "
            "who made them, checkpoints do not, so this covers only what came after."
        )
    if log.missing > 0:
        are, them = ("is", "it") if log.missing == 1 else ("are", "them")
        yield (
            f"{_counted(log.missing, 'version')} in between {are} missing: it is not known what ran beside {them}."
        )
    if history.without_read_version > 1:
        yield f"{history.without_read_version:,} commits do not say which version they began from."
    if log.unreadable:
        yield f"{_counted(len(log.unreadable), 'commit')} cannot be read, such as {log.unreadable[0]}"


def table(*titles: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for number, title in enumerate(titles):
        table.add_column(title, justify="right" if number else "left", overflow="fold", no_wrap=number > 0)
    return table


def print_table(table: Table, out: Console) -> None:
    """Prints without the blanks that pad the last column."""
    with out.capture() as shown:
        out.print(table)
    for line in shown.get().splitlines():
        out.print(Text.from_ansi(line.rstrip()), soft_wrap=True)


def _more(count: int, most: int | None, what: str, out: Console) -> None:
    if most is not None and count > most:
        out.print(f"and {count - most:,} more of {count:,} {what}: --all lists them", style="dim")
