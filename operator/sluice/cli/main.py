"""`sluice`: what may run together, told from files, on a laptop or in a pull request; and what a cluster says."""

import logging
import sys
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from sluice.api.json_text import as_json
from sluice.api.names import API_VERSION, DISTRIBUTION
from sluice.cli import (
    bundle,
    cluster,
    completion,
    footprint_text,
    history_text,
    job_changes,
    jobs,
    output_errors,
    outputs,
    pair_text,
    plan_mermaid,
    plan_text,
    queue,
    render,
    simulate,
)
from sluice.cli.epilogs import add_epilogs
from sluice.cli.hooks import hooks
from sluice.cli.outputs import Exit, FailOn, Format, PlanFormat
from sluice.conflicts import Level
from sluice.conflicts.delta_versions import ERAS
from sluice.footprint.sql.known import VERSIONS as SPARK_VERSIONS
from sluice.offline import answers, batch
from sluice.offline.files import STANDARD_INPUT
from sluice.offline.history import LogNotFoundError, read_log, replayed
from sluice.offline.pairs import Understood, explained
from sluice.offline.plan import planned
from sluice.offline.sarif import root_of, sarif_of
from sluice.offline.workspace import opened

_HELP = (
    "Says what Delta Lake writes touch, and which of them may run together: from files alone, on a laptop or in a pull "
    "request. Some commands ask a cluster instead. Also runs as `kubectl sluice`."
)

_OF_PYDANTIC = "Value error, "
"""By this Typer tells that a value is none of its choices."""


class _Quiet(TyperGroup):
    """Ends quietly where nobody reads on; Typer ends with the exit code of a bad verdict."""

    def invoke(self, ctx: Any) -> Any:
        output_errors.speak_unicode()
        try:
            try:
                return super().invoke(ctx)
            finally:
                sys.stdout.flush()
        except BrokenPipeError:
            output_errors.end_quietly()
        except OSError as error:
            if not output_errors.is_full(error):
                raise
            why = f"the answer could not be written: {error.strerror}; what is there of it is not whole"
            outputs.say(why, error=True)
            output_errors.end_unwritten()
        except typer.BadParameter as error:
            error.message = error.message.removeprefix(_OF_PYDANTIC)
            raise


app = typer.Typer(cls=_Quiet, no_args_is_help=True, add_completion=False, help=_HELP)
jobs.add_to(app)
job_changes.add_to(app)
queue.add_to(app)
bundle.add_to(app)
render.add_to(app)
cluster.add_to(app)
completion.add_to(app)
app.add_typer(hooks, name="hooks", hidden=True)

_TABLE = typer.Option("--table", help="Facts about a table as YAML or JSON. May be given several times.")
_TABLE_PATH = typer.Option(
    "--table-path",
    help="A table whose log is read, as LOCATION or TABLE=LOCATION. May be given several times.",
)
_CONFIG = typer.Option(
    "--config",
    help="The operator's configuration file: what its jobPermissions refuse is told, too. A job without a namespace counts as one "
    "of the namespace default.",
    show_default=False,
)
_OUTPUT = typer.Option("--output", "-o", help="The output format.")
_FAIL_ON = typer.Option("--fail-on", help="End with exit code 1 if a verdict is this bad, or worse.")
_ALL = typer.Option("--all", help="List everything, however long the list is.")
_BATCH = (
    "Read pairs of jobs as JSON lines and answer each with one line. A line is "
    '{"table": {"path": ..., "schema": [...]}, "first": {"sql": ...}, "second": {"sql": ...}}: '
    "facts about one table, and the specs of two jobs."
)
_JOBS = typer.Argument(help="Files or folders with the jobs; - for standard input.")


def _say_version(asked: bool) -> None:
    if not asked:
        return
    try:
        outputs.say(f"sluice {metadata.version(DISTRIBUTION)}")
    except metadata.PackageNotFoundError:
        outputs.say("sluice from a checkout that is not installed: its version is in pyproject.toml")
    outputs.say(f"API: {API_VERSION}")
    outputs.say(
        f"SQL and settings of Spark: {', '.join(f'{major}.{minor}' for major, minor in SPARK_VERSIONS)}"
    )
    outputs.say(f"rules of open-source Delta: {'; '.join(era.name for era in ERAS)}")
    raise typer.Exit


@app.callback()
def sluice(
    *,
    _version: Annotated[
        bool,
        typer.Option(
            "--version",
            help="Say the version, and which of the API, Spark and Delta it knows.",
            callback=_say_version,
            is_eager=True,
        ),
    ] = False,
) -> None:
    logging.getLogger("sqlglot").setLevel(logging.ERROR)  # what is not understood is said with its place


@app.command()
def explain(
    files: Annotated[list[Path] | None, _JOBS] = None,
    *,
    table: Annotated[list[Path] | None, _TABLE] = None,
    table_path: Annotated[list[str] | None, _TABLE_PATH] = None,
    output: Annotated[
        Format,
        typer.Option(
            "--output", "-o", help="The output format. Of two jobs, too, `sluice plan` writes SARIF."
        ),
    ] = Format.TEXT,
    fail_on: Annotated[FailOn | None, _FAIL_ON] = None,
    batch_: Annotated[bool, typer.Option("--batch", help=_BATCH)] = False,
    history: Annotated[
        Path | None,
        typer.Option(help="Replay the log of this table (a folder) instead: who wrote, and who met whom."),
    ] = None,
    within: Annotated[
        float,
        typer.Option(min=0, help="With --history: minutes within which commits count as close together."),
    ] = 10,
    everything: Annotated[bool, _ALL] = False,
) -> None:
    """Says whether two jobs may run together, in which order they may commit, which one would lose, and why."""
    if batch_:
        if history is not None or table or table_path:
            raise typer.BadParameter(
                "each line of --batch has its own table: it takes neither --table, --table-path nor --history"
            )
        _answer_batch(files or [], fail_on)
        return
    if history is not None:
        if files or table or table_path or fail_on:
            raise typer.BadParameter(
                "--history is about one table's log: it takes neither jobs, other tables nor --fail-on"
            )
        _replay(history, within, output, everything=everything)
        return
    if not files:
        raise typer.BadParameter("name the manifests of two jobs, such as: sluice explain a.yaml b.yaml")
    found = opened(files, table or (), table_path or ())
    outputs.print_troubles(found.troubles)
    outputs.print_passed_over(found.manifests.passed_over)
    jobs = found.jobs
    if len(jobs) == 1 and _is_one_file_twice(files):
        jobs = [jobs[0], _run_again(jobs[0])]
    if len(jobs) != 2:
        names = ", ".join(job.name for job in jobs) or "none"
        why = f"explain compares two jobs, but understood {len(jobs)} ({names})"
        if output is Format.JSON:
            outputs.print_json({"error": why, "troubles": answers.troubles_json(found.troubles)})
        outputs.say(why, error=True)
        raise typer.Exit(Exit.INCOMPLETE if found.troubles else Exit.USAGE)
    explanation = explained(jobs[0], jobs[1], found.knowledge)
    if output is Format.JSON:
        outputs.print_json(answers.explanation_json(explanation, found.troubles))
    else:
        pair_text.show(explanation, outputs.console())
    outputs.leave(found.troubles, explanation.level, fail_on)


def _is_one_file_twice(files: list[Path]) -> bool:
    """Whether one file was named twice, to ask whether two runs of its job may overlap."""
    one, *others = files
    return len(others) == 1 and STANDARD_INPUT not in files and one.resolve() == others[0].resolve()


def _run_again(job: Understood) -> Understood:
    return replace(job, job=replace(job.job, name=f"{job.name} (run again)"))


def _replay(table: Path, within: float, output: Format, *, everything: bool) -> None:
    try:
        found = replayed(read_log(table), within * 60)
    except LogNotFoundError as error:
        outputs.say(str(error), error=True)
        raise typer.Exit(Exit.INCOMPLETE) from error
    if output is Format.JSON:
        outputs.print_json(answers.history_json(found))
    else:
        history_text.show(found, outputs.console(), most=None if everything else history_text.MOST)
    if found.log.unreadable:
        raise typer.Exit(Exit.INCOMPLETE)


def _answer_batch(files: list[Path], fail_on: FailOn | None) -> None:
    if len(files) > 1:
        raise typer.BadParameter("--batch reads one file of JSON lines, or standard input")
    errors: list[object] = []
    worst = Level.NEVER
    try:
        with files[0].open(encoding="utf-8") if files else sys.stdin as lines:
            for answer in batch.answers(lines):
                sys.stdout.write(as_json(answer) + "\n")
                sys.stdout.flush()
                if "error" in answer:
                    errors.append(answer["id"])
                else:
                    worst = max(worst, batch.level_of(answer))
    except FileNotFoundError as error:
        outputs.say(f"{files[0]}: there is no such file", error=True)
        raise typer.Exit(Exit.INCOMPLETE) from error
    except IsADirectoryError as error:
        outputs.say(f"{files[0]}: is a folder: name a file of JSON lines", error=True)
        raise typer.Exit(Exit.INCOMPLETE) from error
    except UnicodeDecodeError as error:
        what = files[0] if files else "standard input"
        outputs.say(f"{what}: is not UTF-8 text from here on: save it as UTF-8", error=True)
        raise typer.Exit(Exit.INCOMPLETE) from error
    outputs.leave(errors, worst, fail_on)


@app.command()
def plan(
    folders: Annotated[
        list[Path], typer.Argument(help="Folders or files with jobs, policies and facts about tables.")
    ],
    *,
    table: Annotated[list[Path] | None, _TABLE] = None,
    table_path: Annotated[list[str] | None, _TABLE_PATH] = None,
    config: Annotated[Path | None, _CONFIG] = None,
    output: Annotated[PlanFormat, _OUTPUT] = PlanFormat.TEXT,
    fail_on: Annotated[FailOn | None, _FAIL_ON] = None,
    everything: Annotated[bool, _ALL] = False,
) -> None:
    """Compares all jobs of some folders with each other: for pull requests, without a cluster."""
    workspace = opened(folders, table or (), table_path or ())
    found = planned(workspace, None if config is None else cluster.permissions_of(config))
    outputs.print_troubles(found.troubles)
    outputs.print_passed_over(workspace.manifests.passed_over)
    if output is PlanFormat.JSON:
        outputs.print_json(answers.plan_json(found))
    elif output is PlanFormat.SARIF:
        outputs.print_json(sarif_of(found, root_of(Path.cwd())))
    elif output is PlanFormat.MERMAID:
        outputs.say(plan_mermaid.as_mermaid(found, most=None if everything else plan_mermaid.MOST_TABLES))
    else:
        plan_text.show(found, outputs.console(), most=None if everything else plan_text.MOST)
    if not (found.jobs or found.troubles or workspace.manifests.policies):
        _end_without_jobs(folders)
    outputs.leave(found.troubles, found.worst, fail_on)


@app.command()
def footprint(
    files: Annotated[list[Path], _JOBS],
    table: Annotated[list[Path] | None, _TABLE] = None,
    table_path: Annotated[list[str] | None, _TABLE_PATH] = None,
    output: Annotated[Format, _OUTPUT] = Format.TEXT,
) -> None:
    """Prints what Sluice understood of a job: the tables and partitions that it reads and writes."""
    found = opened(files, table or (), table_path or ())
    outputs.print_troubles(found.troubles)
    outputs.print_passed_over(found.manifests.passed_over)
    if output is Format.JSON:
        shown = [answers.footprint_json(job) for job in found.jobs]
        outputs.print_json(shown[0] if len(shown) == 1 else shown)
    elif found.jobs:
        footprint_text.show(found.jobs, outputs.console(), found.assumptions)
    if not found.jobs and not found.troubles:
        _end_without_jobs(files)
    outputs.leave(found.troubles)


def _end_without_jobs(files: list[Path]) -> NoReturn:
    """An answer about nothing is no good news: a pipeline may have named the wrong folder."""
    given = ", ".join("standard input" if file == STANDARD_INPUT else str(file) for file in files)
    outputs.say(f"{given}: there is no DeltaWriteJob here; name a file or folder that has one", error=True)
    raise typer.Exit(Exit.INCOMPLETE)


simulate.add_to(app)
add_epilogs(app)

if __name__ == "__main__":
    app()
