"""Commands that change jobs: to hold back those that wait, to let them go on, and to try those again that have failed."""

from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from sluice.cli import outputs
from sluice.cli.cluster import OUTPUT, PANEL, cluster_is_needed, run
from sluice.cli.job_completion import jobs_of_the_cluster
from sluice.cli.jobs import ALL_JOBS, NAMESPACE, TIMEOUT, exit_code, say, seconds, show_outcomes
from sluice.cli.outputs import Exit, Format

if TYPE_CHECKING:
    from sluice.online.jobs.job_changes import ChangeReport
    from sluice.online.jobs.suspension import Chosen

_JOBS = typer.Argument(
    help="Jobs, as NAME or NAMESPACE/NAME.", show_default=False, autocompletion=jobs_of_the_cluster
)
_SELECTOR = typer.Option(
    "--selector",
    "-l",
    help="Instead of names: the jobs of the namespace with these labels, such as team=sales.",
)
_ALL = typer.Option("--all", help="Instead of names: all jobs of the namespace that have not ended.")


def add_to(app: typer.Typer) -> None:
    for command in (suspend, resume, retry):
        app.command(rich_help_panel=PANEL)(command)


def suspend(
    jobs: Annotated[list[str] | None, _JOBS] = None,
    *,
    namespace: Annotated[str | None, NAMESPACE] = None,
    selector: Annotated[str | None, _SELECTOR] = None,
    everything: Annotated[bool, _ALL] = False,
    output: Annotated[Format, OUTPUT] = Format.TEXT,
) -> None:
    """Holds jobs back that wait: they keep their age, and are in nobody's way. A stream that runs stops between two batches. It
    never stops another job that runs: then it changes nothing, and ends with exit code 1."""
    with cluster_is_needed():
        from sluice.online.jobs import suspension

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
        from sluice.online.jobs import suspension

        told = run(suspension.resume(_chosen(jobs, namespace, selector, everything=everything)))
    _show(told, output)


def retry(
    jobs: Annotated[list[str], ALL_JOBS],
    *,
    namespace: Annotated[str | None, NAMESPACE] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Follow them to their end, as `wait` does.")] = False,
    timeout: Annotated[str | None, TIMEOUT] = None,
    output: Annotated[Format, OUTPUT] = Format.TEXT,
) -> None:
    """Asks for one more attempt of jobs that have failed, whatever their retry allows. What is not Failed, or never had an attempt,
    is refused with exit code 1."""
    if timeout is not None and not wait:
        raise typer.BadParameter("--timeout needs --wait")
    with cluster_is_needed():
        from sluice.online.jobs import job_commands

        if not wait:
            _show(run(job_commands.retry(tuple(jobs), namespace)), output)
        told, ended = run(job_commands.retry_and_wait(tuple(jobs), namespace, say, seconds(timeout)))
    show_outcomes(ended.courses, output)
    code = _code(told)
    of_jobs = exit_code(ended.courses, ended.stopped_by)
    raise typer.Exit(of_jobs if ended.stopped_by is not None else max(code, of_jobs, key=_how_bad))


def _how_bad(code: int) -> tuple[bool, bool, int]:
    """A wish that could not be put says most, and then a job that failed."""
    return code == Exit.REFUSED, code == Exit.FOUND, code


def _chosen(
    jobs: list[str] | None, namespace: str | None, selector: str | None, *, everything: bool
) -> "Chosen":
    from sluice.online.jobs.suspension import Chosen

    if sum((bool(jobs), selector is not None, everything)) != 1:
        raise typer.BadParameter("name jobs, or give --selector, or --all: one of the three")
    if selector is not None and not selector.strip():
        raise typer.BadParameter("--selector is empty, which would be all jobs: give --all for that")
    return Chosen(tuple(jobs or ()), namespace, selector or "")


def _show(told: "list[ChangeReport]", output: Format) -> NoReturn:
    from sluice.online.jobs.job_changes import Result

    if output is Format.JSON:
        outputs.print_json([one.as_json() for one in told])
    else:
        for one in told:
            wrong = one.result in (Result.REFUSED, Result.FAILED)
            outputs.say(f"{one.job}: {one.message}", error=wrong)
        if not told:
            outputs.say("there is no such job that has not ended: nothing was done", error=True)
    raise typer.Exit(_code(told))


def _code(told: "list[ChangeReport]") -> int:
    from sluice.online.jobs.job_changes import Result, worst

    return {Result.FAILED: Exit.REFUSED, Result.REFUSED: Exit.FOUND}.get(worst(told), Exit.OK)
