"""`sluice plan`, for people: what can run together, who is in whose way, and which change is worth most."""

from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from sluice.cli.outputs import print_hanging
from sluice.cli.pair_text import COLOURS, show_change
from sluice.conflicts import PairOrder
from sluice.offline.advice import Change
from sluice.offline.assumptions import in_one
from sluice.offline.improvements import Edge, Improvement
from sluice.offline.plan import Plan

MOST = 10
"""Conflicts and pieces of advice that are shown unless all are asked for."""


def show(plan: Plan, out: Console, most: int | None = MOST) -> None:
    _show_summary(plan, out)
    _show_widest(plan, out)
    _show_conflicts(plan, out, most)
    _show_listed("Who would wait for ever", plan.endless, out, most)
    _show_listed("Who would be refused", plan.refused, out, most)
    _show_listed("What nobody is likely to want", plan.warnings, out, most)
    _show_savings(plan, out, most)
    for assumption in in_one(plan.assumptions):
        print_hanging(out, "Assumed: ", f"{assumption}.")


def _show_summary(plan: Plan, out: Console) -> None:
    if not plan.jobs:
        out.print("0 jobs: no DeltaWriteJob here is understood.", style="yellow")
        return
    tables = {key for job in plan.jobs for key in job.footprint.keys}
    levels = Counter(edge.level for edge in plan.edges)
    counted = ", ".join(f"{levels[level]} {level}" for level in sorted(levels, reverse=True))
    out.print(
        Text.assemble(
            (f"{_count(len(plan.jobs), 'job')} on {_count(len(tables), 'table')}", "bold"),
            f": {len(plan.edges)} of {_count(plan.pairs, 'pair')} must wait for each other",
            (f" ({counted})" if counted else "", COLOURS[plan.worst]),
            ".",
        )
    )
    if plan.troubles:
        them = "it" if len(plan.troubles) == 1 else "them"
        count = _count(len(plan.troubles), "place")
        out.print(f"{count} could not be used: standard error names {them}.", style="yellow")


def _show_widest(plan: Plan, out: Console) -> None:
    widest = plan.widest
    if not plan.edges:
        return
    how = "no more can" if widest.exact else f"a greedy search found them; more than {widest.at_most} cannot"
    names = [plan.jobs[number].name for number in widest.members]
    shown = ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
    print_hanging(out, f"{len(names)} can run together ({how}): ", shown)


def _show_conflicts(plan: Plan, out: Console, most: int | None) -> None:
    edges = sorted(plan.edges, key=lambda edge: (edge.perhaps is not None, -edge.level))
    if edges:
        out.print()
        out.print("Who is in whose way", style="bold")
    for edge in edges[:most]:
        _show_edge(plan, edge, out)
    if most is not None and len(edges) > most:
        out.print(f"  and {len(edges) - most} more: --all lists them", style="dim")


def _show_listed(heading: str, found: Sequence[object], out: Console, most: int | None) -> None:
    if found:
        out.print()
        out.print(heading, style="bold")
    for one in found[:most]:
        print_hanging(out, "  ", str(one))
    if most is not None and len(found) > most:
        out.print(f"  and {len(found) - most} more: --all lists them", style="dim")


def _show_edge(plan: Plan, edge: Edge, out: Console) -> None:
    first, second = plan.jobs[edge.first].name, plan.jobs[edge.second].name
    if edge.pair.order is PairOrder.SECOND_THEN_FIRST:
        first, second = second, first
    between = "and" if edge.pair.order is PairOrder.NONE else "before"
    line = Text("  ")
    line.append(f"{edge.level!s:7}", style=COLOURS[edge.level])
    line.append(f"{first} {between} {second}")
    where = f"on {edge.table}" if edge.perhaps is None else f"if {edge.table} is {edge.perhaps}"
    what = f"{edge.what} {where}"
    fits = line.cell_len + 2 + len(what) <= out.width
    line.append(f"  {what}" if fits else f"\n{' ' * 9}{what}", style="dim")
    out.print(line, soft_wrap=True)


def _show_savings(plan: Plan, out: Console, most: int | None) -> None:
    _show_found(plan, out, most)
    if plan.untried:
        out.print()
        untried = _count(plan.untried, "pair")
        print_hanging(
            out,
            "Not tried: ",
            f"whether more would help {untried}, which are too many for a plan; sluice explain tells it of any two jobs.",
        )


def _show_found(plan: Plan, out: Console, most: int | None) -> None:
    if not plan.savings:
        return
    out.print()
    out.print("What would help, most first", style="bold")
    for saving in plan.savings[:most]:
        if saving.change is not None:
            _show_saving(saving, saving.change, out)
            continue
        names = ", ".join(saving.jobs[:6]) + (" ..." if len(saving.jobs) > 6 else "")
        upto = "" if saving.alone else "Up to "
        others = "" if saving.alone else "; some of them only with other advice here"
        print_hanging(
            out, f"{upto}{_count(saving.pairs, 'pair')} fewer: ", f"{saving.hint} ({names}{others})"
        )
    if most is not None and len(plan.savings) > most:
        out.print(f"  and {len(plan.savings) - most} more: --all lists them", style="dim")


def _show_saving(saving: Improvement, change: Change, out: Console) -> None:
    fewer = f": {_count(saving.pairs, 'pair')} fewer must wait"
    out.print(Text.assemble((f"Change {change.job}", "bold"), fewer))
    show_change(change, out)


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
