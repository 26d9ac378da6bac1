"""Commands about single jobs: to run them, to wait for them, to read their drivers' logs. What asks a cluster is imported when a
command runs, so that all other commands work where it isn't installed."""

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sluice.api.job_status import Phase
from sluice.cli import outputs
from sluice.cli.cluster import OUTPUT, PANEL, cluster_is_needed, run
from sluice.cli.job_completion import jobs_of_the_cluster
from sluice.cli.outputs import Format, JobExit

if TYPE_CHECKING:
    from sluice.online.access.job_names import JobName
    from sluice.online.jobs.job_progress import JobProgress

NAMESPACE = typer.Option(
    "--namespace", "-n", help="The jobs' namespace.", show_default="that of the kubeconfig's context"
)
TIMEOUT = typer.Option(
    "--timeout", help="How long to wait, such as 90s, 10m or 1h30m.", show_default="as long as it takes"
)
FAIL_ON_SKIP = typer.Option(
    "--fail-on-skip", help=f"End with exit code {JobExit.SKIPPED} if a job was skipped."
)
ALL_JOBS = typer.Argument(help="Jobs, as NAME or NAMESPACE/NAME.", autocompletion=jobs_of_the_cluster)
ONE_JOB = typer.Argument(help="The job, as NAME or NAMESPACE/NAME.", autocompletion=jobs_of_the_cluster)


def add_to(app: typer.Typer) -> None:
    for command in (run_jobs, wait, logs):
        app.command("run" if command is run_jobs else None, rich_help_panel=PANEL)(command)


def run_jobs(
    files: Annotated[list[Path], typer.Argument(help="Files with jobs; - for standard input.")],
    *,
    namespace: Annotated[str | None, NAMESPACE] = None,
    no_wait: Annotated[
        bool, typer.Option("--no-wait", "--detach", help="Create them, and don't wait for their end.")
    ] = False,
    timeout: Annotated[str | None, TIMEOUT] = None,
    fail_on_skip: Annotated[bool, FAIL_ON_SKIP] = False,
    delete_on_interrupt: Annotated[
        bool,
        typer.Option(
            "--delete-on-interrupt", help="At Ctrl-C or SIGTERM delete the jobs that have not ended."
        ),
    ] = False,
    output: Annotated[Format, OUTPUT] = Format.TEXT,
) -> None:
    """Creates jobs and follows each to its end: progress on standard error, outcomes on standard output, and an exit code that
    says how it went."""
    with cluster_is_needed():
        from sluice.online.jobs import job_commands

        request = job_commands.JobRun(
            tuple(files), namespace, follow=not no_wait, deletes_when_stopped=delete_on_interrupt
        )
        ended = run(job_commands.run_jobs(request, say, seconds(timeout)))
    if no_wait and ended.stopped_by is None:
        _show_created(ended.courses, output)
        return
    show_outcomes(ended.courses, output)
    raise typer.Exit(exit_code(ended.courses, ended.stopped_by, fail_on_skip=fail_on_skip))


def wait(
    jobs: Annotated[list[str], ALL_JOBS],
    *,
    namespace: Annotated[str | None, NAMESPACE] = None,
    until: Annotated[
        Phase | None,
        typer.Option("--for", help="Wait for this phase only. A job that ends first ends the wait, too."),
    ] = None,
    timeout: Annotated[str | None, TIMEOUT] = None,
    fail_on_skip: Annotated[bool, FAIL_ON_SKIP] = False,
    output: Annotated[Format, OUTPUT] = Format.TEXT,
) -> None:
    """Waits until jobs have ended, as `run` does, with the same exit codes."""
    with cluster_is_needed():
        from sluice.online.jobs import job_commands

        ended = run(job_commands.wait_for(tuple(jobs), namespace, say, until, seconds(timeout)))
    show_outcomes(ended.courses, output)
    raise typer.Exit(exit_code(ended.courses, ended.stopped_by, fail_on_skip=fail_on_skip, until=until))


def logs(
    job: Annotated[str, ONE_JOB],
    *,
    namespace: Annotated[str | None, NAMESPACE] = None,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Wait for the driver to start, and go on until it ends.")
    ] = False,
    attempt: Annotated[
        int | None, typer.Option(min=1, help="The number of the attempt.", show_default="the latest")
    ] = None,
) -> None:
    """Shows the log of a job's driver."""
    with cluster_is_needed():
        from sluice.online.jobs import job_commands

        log = job_commands.show_log(
            job, namespace, attempt=attempt, follow=follow, say=_say_error, show=_show_line
        )
        stopped_by = run(log)
    if stopped_by is not None:
        raise typer.Exit(JobExit.STOPPED + stopped_by)


def exit_code(
    courses: "list[JobProgress]",
    stopped_by: int | None,
    *,
    fail_on_skip: bool = False,
    until: Phase | None = None,
) -> int:
    """The worst that became of any of them: a job that failed is worse than one of which nothing is known."""
    if stopped_by is not None:
        return JobExit.STOPPED + stopped_by
    codes = {_code(course, until) for course in courses}
    if not fail_on_skip:
        codes.discard(JobExit.SKIPPED)
    order = (JobExit.FAILED, JobExit.DELETED, JobExit.TIMED_OUT, JobExit.SKIPPED)
    return next((code for code in order if code in codes), JobExit.OK)


def _code(course: "JobProgress", until: Phase | None) -> JobExit:
    if until is not None and course.phase == until.value:
        return JobExit.OK
    if course.ending is None:
        return JobExit.TIMED_OUT
    return JobExit[course.ending.name]


def seconds(timeout: str | None) -> float | None:
    if timeout is None:
        return None
    from sluice.api.durations import seconds_of

    try:
        return seconds_of(timeout)
    except ValueError as error:
        raise typer.BadParameter(f"--timeout {error}") from error


def say(job: "JobName | None", text: str) -> None:
    at = datetime.now(UTC).strftime("%H:%M:%S")
    outputs.say(_in_one_line(f"{at} {text}" if job is None else f"{at} {job}: {text}"), error=True)


def _in_one_line(text: str) -> str:
    """A line for each piece of news: an exception's message has several of its own."""
    return " ".join(text.split())


def _say_error(text: str) -> None:
    outputs.say(text, error=True)


def _show_line(line: bytes) -> None:
    outputs.say(line.decode(errors="backslashreplace"))
    sys.stdout.flush()


def _show_created(courses: "list[JobProgress]", output: Format) -> None:
    if output is Format.JSON:
        outputs.print_json([{"job": str(course.job), "uid": course.uid} for course in courses])
        return
    for course in courses:
        outputs.say(str(course.job))


def show_outcomes(courses: "list[JobProgress]", output: Format) -> None:
    from sluice.online.jobs.job_progress import outcome_json

    told = [outcome_json(course) for course in courses]
    if output is Format.JSON:
        outputs.print_json(told)
        return
    for one in told:
        how = one["ending"] or f"not over ({one['phase']})"
        outputs.say(_in_one_line(": ".join(filter(None, (f"{one['job']} {how}", one["message"])))))
