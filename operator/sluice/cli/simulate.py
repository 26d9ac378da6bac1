"""`sluice simulate`: what a trace of jobs becomes under the operator's queue, and under other ways to keep writers apart."""

from pathlib import Path
from typing import Annotated

import typer

from sluice.api.durations import DURATION, seconds
from sluice.api.policy import AGE_AFTER
from sluice.cli import outputs, simulate_text
from sluice.cli.outputs import Exit, Format
from sluice.cli.progress import Progress
from sluice.offline.history import LogNotFoundError, read_log
from sluice.offline.simulation import simulated
from sluice.offline.simulation.answers import simulation_json
from sluice.offline.simulation.history_trace import HistoryTrace, lived
from sluice.offline.simulation.queue_play import CannotBeJudgedError, queued
from sluice.offline.simulation.synthetic_trace import SHAPES, generated
from sluice.offline.simulation.trace import TraceRules
from sluice.offline.simulation.trace_file import Traced, read_trace

_ASSUMED = "5m"
_JOBS = 400
_SOURCES = "name exactly one of: files with a trace, --history FOLDER, --generate SHAPE"


def add_to(app: typer.Typer) -> None:
    app.command()(simulate)


def _is_a_duration(text: str | None) -> str | None:
    if text is not None and not DURATION.holds(text):
        raise typer.BadParameter(DURATION.message)
    return text


def _is_a_shape(shape: str | None) -> str | None:
    if shape is not None and shape not in SHAPES:
        raise typer.BadParameter(f"{shape} is none of {', '.join(SHAPES)}")
    return shape


def simulate(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="A trace as JSON lines or YAML, and policies; - for standard input."),
    ] = None,
    *,
    table: Annotated[
        list[Path] | None,
        typer.Option("--table", help="Facts about a table as YAML or JSON. May be given several times."),
    ] = None,
    table_path: Annotated[
        list[str] | None,
        typer.Option(
            "--table-path", help="A table whose log is read for its facts. May be given several times."
        ),
    ] = None,
    history: Annotated[
        Path | None, typer.Option(help="Play what this table's own log (a folder) tells of its writers.")
    ] = None,
    assume_duration: Annotated[
        str | None,
        typer.Option(
            help="With --history: how long a commit's job ran, where the log does not tell.",
            callback=_is_a_duration,
            show_default=_ASSUMED,
        ),
    ] = None,
    generate: Annotated[
        str | None,
        typer.Option(
            help=f"Play generated jobs: {', '.join(SHAPES)}.", metavar="SHAPE", callback=_is_a_shape
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(min=1, max=100_000, help="With --generate: how many.", show_default=str(_JOBS)),
    ] = None,
    age_after: Annotated[
        str,
        typer.Option(
            help="When jobs age, on tables of which no policy says it in admission.ageAfter.",
            callback=_is_a_duration,
        ),
    ] = AGE_AFTER,
    seed: Annotated[int, typer.Option(help="Of generated jobs, and of the pauses between retries.")] = 0,
    output: Annotated[Format, typer.Option("--output", "-o", help="The output format.")] = Format.TEXT,
) -> None:
    """Plays jobs through the operator's own queue in virtual time, beside FIFO, a mutex and retries."""
    if sum((bool(files), history is not None, generate is not None)) != 1:
        raise typer.BadParameter(_SOURCES)
    if not files and (table or table_path):
        raise typer.BadParameter("--table and --table-path are about the jobs of a trace: name its files")
    if assume_duration is not None and history is None:
        raise typer.BadParameter("--assume-duration is about a log: name its table by --history")
    if jobs is not None and generate is None:
        raise typer.BadParameter("--jobs says how many are to be generated: name their shape by --generate")
    rules = TraceRules(otherwise=seconds(age_after) * 1000)
    past = None if history is None else _lived(history, assume_duration or _ASSUMED, rules)
    if past is not None:
        given = Traced(past.trace, [])
    elif generate is not None:
        given = Traced(generated(generate, seed, jobs or _JOBS, rules), [])
    else:
        given = read_trace(files or [], table or (), table_path or (), rules.otherwise)
    outputs.print_troubles(given.troubles)
    if not given.trace.jobs:
        outputs.say("there is no job to play here", error=True)
        raise typer.Exit(Exit.INCOMPLETE)
    _play(given, seed, output, past)
    outputs.leave([*given.troubles, *(past.log.unreadable if past is not None else ())])


def _lived(folder: Path, assumed: str, rules: TraceRules) -> HistoryTrace:
    try:
        return lived(read_log(folder), seconds(assumed) * 1000, rules)
    except LogNotFoundError as error:
        outputs.say(str(error), error=True)
        raise typer.Exit(Exit.INCOMPLETE) from error


def _play(given: Traced, seed: int, output: Format, past: HistoryTrace | None) -> None:
    try:
        with Progress(len(given.trace.jobs), "jobs") as progress:
            found = simulated(given.trace, seed, progress)
            pinned = None if past is None else queued(past.pinned, lambda done: progress("all pinned", done))
    except CannotBeJudgedError as error:
        outputs.say(str(error), error=True)
        raise typer.Exit(Exit.INCOMPLETE) from error
    if output is Format.JSON:
        outputs.print_json(simulation_json(found, given.assumptions, given.troubles, past, pinned))
    else:
        simulate_text.show(found, outputs.console(), given.assumptions, past, pinned)
