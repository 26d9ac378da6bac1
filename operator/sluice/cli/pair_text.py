"""`sluice explain A B`, for people: the verdict first, then why, then which line to change."""

from rich.console import Console
from rich.text import Text

from sluice.cli.outputs import print_hanging
from sluice.conflicts import Level, PairOrder, Verdict
from sluice.footprint.sql.advice import BY_SOURCE
from sluice.offline.advice import Change
from sluice.offline.assumptions import in_one
from sluice.offline.checkpoint_conflicts import who_share_one
from sluice.offline.pairs import Explanation, Remedy, Understood
from sluice.offline.stream_starvation import who_makes_room, who_waits_for_ever
from sluice.predicates.scope import OF_ANOTHER

COLOURS = {
    Level.NEVER: "green",
    Level.MAY: "yellow",
    Level.WILL: "red",
    Level.UNSAFE: "bold red",
}
_LEVELS = {
    Level.NEVER: "cannot abort",
    Level.MAY: "may abort",
    Level.WILL: "will abort",
    Level.UNSAFE: "may lose data silently",
}
_NO_NEWS = OF_ANOTHER
"""Not worth telling: every MERGE compares with columns of its source."""


def show(explanation: Explanation, out: Console) -> None:
    print_hanging(out, "", _headline(explanation), style=f"bold {COLOURS[explanation.level]}")
    out.print()
    for loser, winner, verdict, table in explanation.directions:
        _show_direction(loser, winner, verdict, table, out)
    if explanation.pair.together:
        return
    _show_widened(explanation, out)
    _show_advice(explanation, out)
    for assumption in in_one(explanation.assumptions):
        print_hanging(out, "Assumed: ", f"{assumption}.", style="dim")


def _headline(explanation: Explanation) -> str:
    first, second = explanation.first.name, explanation.second.name
    for shared in who_share_one((explanation.first, explanation.second)):
        return f"✗ {shared}."
    if explanation.perhaps_one is not None and explanation.order is not PairOrder.ANY:
        one, other = explanation.perhaps_one
        return f"✗ {first} and {second} wait for each other as long as {one} and {other} may be one table."
    if explanation.level is Level.UNSAFE:
        return f"✗ {first} and {second} must never run together: data could be lost without any error."
    if explanation.order is PairOrder.ANY:
        return f"✓ {first} and {second} may run together."
    if explanation.order is PairOrder.NONE:
        return f"✗ {first} and {second} wait for each other: whichever commits second may abort."
    if explanation.order is PairOrder.SECOND_THEN_FIRST:
        first, second = second, first
    return f"✗ {first} and {second} wait for each other: safe only while {first} commits before {second}."


def _show_direction(
    loser: Understood, winner: Understood, verdict: Verdict, table: str, out: Console
) -> None:
    out.print(f"  If {winner.name} commits while {loser.name} runs:")
    line = f"    {loser.name} {_LEVELS[verdict.level]}"
    if verdict.exception is not None and verdict.level > Level.NEVER:
        line += f" with {verdict.exception}"
    out.print(line, style=COLOURS[verdict.level], soft_wrap=True)
    for name, text in _details(verdict, table):
        print_hanging(out, f"    {name:8}", text)
    out.print()


def _details(verdict: Verdict, table: str) -> list[tuple[str, str]]:
    found = [("why", f"{verdict.reason} [{verdict.rule}]")]
    if verdict.level > Level.NEVER:
        found.append(("table", table))
        if verdict.overlap is not None:
            where = "all of the table" if verdict.overlap == "true" else verdict.overlap
            found.append(("where", where))
    if verdict.readers is not None:
        found.append(("readers", verdict.readers))
    return found


def _show_widened(explanation: Explanation, out: Console) -> None:
    for side, job in enumerate((explanation.first, explanation.second)):
        reasons = [reason for reason in job.widened if not reason.endswith(_NO_NEWS)]
        for reason in reasons[:4]:
            if reason != BY_SOURCE:
                text = f"Sluice assumes that {job.name} touches more than it may: {reason}"
            elif any(one.whose == side and one.words.startswith(BY_SOURCE) for one in explanation.advice):
                text = f"The cause is in {job.name}: {reason}, whatever ON says"
            else:
                text = f"In {job.name}, {reason}, whatever ON says"
            print_hanging(out, "  ", text, style="dim")
        for why in job.everywhere:
            print_hanging(out, "  ", f"{job.name}, {why}", style="dim")
        if reasons or job.everywhere:
            out.print()


def _show_advice(explanation: Explanation, out: Console) -> None:
    endless = who_waits_for_ever(explanation)
    for one in (*endless, *who_makes_room(explanation)):
        print_hanging(out, "", f"{one}.")
    names = explanation.first.name, explanation.second.name
    for remedy in explanation.remedies[:4]:
        _show_remedy(remedy, names, out)
    if not any(remedy.helps_fully for remedy in explanation.remedies):
        together = all(one.together for one in explanation.advice)
        if len(explanation.hints) > 1 and together:
            out.print("All of this, and they may run together:")
        for hint in explanation.hints:
            lesser = explanation.was_tried and not together
            print_hanging(out, "Then less can go wrong: " if lesser else "Advice: ", hint)
        if not explanation.remedies and not explanation.hints and not endless:
            out.print("No known change keeps them apart with the same result: one has to wait.")


def _show_remedy(remedy: Remedy, names: tuple[str, str], out: Console) -> None:
    change = remedy.change
    then = "then they may run together" if remedy.helps_fully else "then less can go wrong"
    besides = " and do what stands below it" if remedy.also else ""
    out.print(Text.assemble((f"Change {change.job}", "bold"), f"{besides}, {then}:"))
    show_change(change, out)
    for one in remedy.also:
        print_hanging(out, "  Also: ", one.said(*names))
    out.print()


def show_change(change: Change, out: Console) -> None:
    for line in change.lines:
        out.print(f"  {line.place}", style="dim", soft_wrap=True)
        if line.before:
            out.print(Text(f"  - {line.before}", style="red"), soft_wrap=True)
        out.print(Text(f"  + {line.after}", style="green"), soft_wrap=True)  # to be copied as one line
    label = "Same result" if change.keeps_result else "A promise, check it first"
    colour = "green" if change.keeps_result else "yellow"
    print_hanging(out, f"  {label}: ", f"{change.because}.", colour=colour)
