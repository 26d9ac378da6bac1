"""Commands that change jobs: to hold back those that wait, and to let them go on."""

from typing import TYPE_CHECKING, Annotated

import typer

from sluice.cli import outputs
from sluice.cli.cluster import OUTPUT, PANEL, cluster_is_needed, run
from sluice.cli.jobs import NAMESPACE
from sluice.cli.outputs import Exit, Format

if TYPE_CHECKING:
    from sluice.online.job_changes import Told
    from sluice.online.suspension import Chosen

_JOBS = typer.Argument(help="Jobs, as NAME or NAMESPACE/NAME.", show_default=False)
_SELECTOR = typer.Option(
    "--selector",
    "-l",
    help="Instead of names: the jobs of the namespace with these labels, such as team=sales.",
)
_ALL = typer.Option("--all", help="Instead of names: all jobs of the namespace that have not ended.")


def add_to(app: typer.Typer) -> None:
    for command in (suspend, resume):
        app.command(rich_help_panel=PANEL)(command)


def suspend(
    jobs: Annotated[list[str] | None, _JOBS] = None,
    *,
    namespace: Annotated[str | None, NAMESPACE] = None,
    selector: Annotated[str | None, _SELECTOR] = None,
    everything: Annotated[bool, _ALL] = False,
    output: Annotated[Format, OUTPUT] = Format.TEXT,
) -> None:
    """Holds jobs back that wait: they keep their age, and are in nobody's way. It never stops a job that runs: then it changes
    nothing, and ends with exit code 1."""
    with cluster_is_needed():
        from sluice.online import suspension

        told = run(suspension.suspend(_chosen(jobs, namespace, selector, everything=everything)))
    _show(told, output)


def resume(
    jobs: Annotated[list[str] | None, _JOBS] = None,
    *,
    namespace: Annotated[str | None, NAMESPACE] = None,
    selector: Annotated[str | None, _SELECTOR] = None,
    everything: Annotated[bool, _ALL] = False,
    output: Annotated[Format, OUTPUT] = Format.TEXT,
) -> None:
    """Lets jobs go on that `suspend` holds back: they queue again, with their old age."""
    with cluster_is_needed():
        from sluice.online import suspension

        told = run(suspension.resume(_chosen(jobs, namespace, selector, everything=everything)))
    _show(told, output)


def _chosen(
    jobs: list[str] | None, namespace: str | None, selector: str | None, *, everything: bool
) -> "Chosen":
    from sluice.online.suspension import Chosen

    if sum((bool(jobs), selector is not None, everything)) != 1:
        raise typer.BadParameter("name jobs, or give --selector, or --all: one of the three")
    if selector is not None and not selector.strip():
        raise typer.BadParameter("--selector is empty, which would be all jobs: give --all for that")
    return Chosen(tuple(jobs or ()), namespace, selector or "")


def _show(told: "list[Told]", output: Format) -> None:
    from sluice.online.job_changes import Result, worst

    if output is Format.JSON:
        outputs.print_json([one.as_json() for one in told])
    else:
        for one in told:
            wrong = one.result in (Result.REFUSED, Result.FAILED)
            outputs.say(f"{one.job}: {one.message}", error=wrong)
        if not told:
            outputs.say("there is no such job that has not ended: nothing was done", error=True)
    codes = {Result.FAILED: Exit.REFUSED, Result.REFUSED: Exit.FOUND}
    raise typer.Exit(codes.get(worst(told), Exit.OK))
