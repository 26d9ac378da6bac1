"""The command that puts into one file what somebody needs who is to help with a job."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from sluice.cli import outputs
from sluice.cli.cluster import PANEL, cluster_is_needed, run
from sluice.cli.jobs import NAMESPACE, ONE_JOB
from sluice.cli.outputs import Exit

_STANDARD_OUTPUT = Path("-")


def add_to(app: typer.Typer) -> None:
    app.command(rich_help_panel=PANEL)(bundle)


def bundle(
    job: Annotated[str, ONE_JOB],
    *,
    namespace: Annotated[str | None, NAMESPACE] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            "--file",
            "-f",
            help="The file that is written, and must not be there yet; - for standard output.",
            show_default="sluice-bundle-NAMESPACE-NAME-TIME.tar.gz",
        ),
    ] = None,
    operator_namespace: Annotated[
        str | None,
        typer.Option(
            "--operator-namespace",
            help="The namespace of the operator.",
            show_default="that of the installation that claims the job's namespace",
        ),
    ] = None,
    deployment: Annotated[
        str | None,
        typer.Option("--deployment", help="The installation's name, with --operator-namespace."),
    ] = None,
) -> None:
    """Collects what there is of a job, and of the operator that runs it, into one file for whoever is to help: objects, Events,
    logs, leases, queues, versions; no Secrets, and without what looks like one. What can't be collected is listed in it."""
    if deployment is not None and operator_namespace is None:
        raise typer.BadParameter("--deployment needs --operator-namespace")
    if file is not None and file != _STANDARD_OUTPUT and file.exists():
        raise typer.BadParameter(f"{file} is there already: name another file by --file")
    with cluster_is_needed():
        from sluice.online.bundle import assembly

        asked = assembly.BundleOptions(job, namespace, operator_namespace, deployment)
        made = run(assembly.bundle_of(asked, _say))
    if file == _STANDARD_OUTPUT:
        sys.stdout.buffer.write(made.content)
        sys.stdout.buffer.flush()
        _say(_told("the bundle", made.content, made.not_collected))
        return
    where = file or Path(made.name)
    try:
        _write(where, made.content)
    except OSError as error:
        outputs.say(f"{where} cannot be written: {error.strerror}: name another file by --file", error=True)
        raise typer.Exit(Exit.INCOMPLETE) from error
    outputs.say(_told(str(where), made.content, made.not_collected))


def _write(where: Path, content: bytes) -> None:
    """Nobody else may read it: what it holds is for whoever sends it to decide."""
    with os.fdopen(os.open(where, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as written:
        written.write(content)


def _told(where: str, content: bytes, not_collected: int) -> str:
    parts = "1 part" if not_collected == 1 else f"{not_collected} parts"
    lacks = f", {parts} not collected" if not_collected else ""
    return (
        f"{where}: {len(content):,} bytes{lacks}. Look at it before you send it: its manifest.json lists what is in it, what is "
        "not, and what was left out"
    )


def _say(text: str) -> None:
    outputs.say(text, error=True)
