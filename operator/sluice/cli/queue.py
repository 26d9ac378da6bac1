"""The command that shows the queues of a cluster's tables."""

from typing import Annotated

import typer

from sluice.cli import outputs, queue_text
from sluice.cli.cluster import OUTPUT, PANEL, cluster_is_needed, run
from sluice.cli.jobs import NAMESPACE
from sluice.cli.outputs import Format


def add_to(app: typer.Typer) -> None:
    app.command(rich_help_panel=PANEL)(queue)


def queue(
    table: Annotated[
        str | None, typer.Argument(help="A table, by its path or its name.", show_default="all tables")
    ] = None,
    *,
    namespace: Annotated[str | None, NAMESPACE] = None,
    all_namespaces: Annotated[
        bool, typer.Option("--all-namespaces", "-A", help="The jobs of all namespaces.")
    ] = False,
    output: Annotated[Format, OUTPUT] = Format.TEXT,
    everything: Annotated[
        bool, typer.Option("--all", help=f"Show all jobs of a table, not only the first {queue_text.MOST}.")
    ] = False,
) -> None:
    """Shows who holds each table, who waits in which order and for whom, and when each may start."""
    if all_namespaces and namespace is not None:
        raise typer.BadParameter("--all-namespaces and --namespace exclude each other: leave one of them out")
    with cluster_is_needed():
        from sluice.online.access.job_names import namespace_or_usual
        from sluice.online.queue.queue_objects import queues

        found = run(queues(None if all_namespaces else namespace_or_usual(namespace), table))
    if output is Format.JSON:
        outputs.print_json(found)
        return
    queue_text.show(found, outputs.console(), most=None if everything else queue_text.MOST)
    for what in found["notSeen"]:
        outputs.say(f"not seen: {what}", error=True)
