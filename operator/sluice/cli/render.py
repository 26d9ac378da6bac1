"""`sluice render`: the SparkApplication that the operator would create."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
import yaml

from sluice.cli import outputs
from sluice.cli.cluster import PANEL, cluster_is_needed, run
from sluice.cli.outputs import Exit


class RenderFormat(StrEnum):
    YAML = "yaml"
    JSON = "json"


def add_to(app: typer.Typer) -> None:
    app.command(rich_help_panel=PANEL)(render)


def render(
    job: Annotated[
        str,
        typer.Argument(help="The job, as NAME or NAMESPACE/NAME, or a file with jobs; - for standard input."),
    ],
    *,
    config: Annotated[
        Path | None,
        typer.Option(
            "--config",
            help="The operator's configuration file, which has the runtime profiles.",
            show_default="the one in the cluster",
        ),
    ] = None,
    namespace: Annotated[
        str | None,
        typer.Option(
            "--namespace", "-n", help="The job's namespace.", show_default="that of the kubeconfig's context"
        ),
    ] = None,
    output: Annotated[
        RenderFormat, typer.Option("--output", "-o", help="The output format.")
    ] = RenderFormat.YAML,
) -> None:
    """Prints the SparkApplication that the operator would create. What only a grant tells is put in words, such as <token>; Secrets
    are not read."""
    with cluster_is_needed():
        from sluice.online.jobs import rendered_application

        try:
            found = run(rendered_application.rendered(job, config, namespace))
        except rendered_application.NotRenderedError as error:
            outputs.say(str(error), error=True)
            raise typer.Exit(Exit.INCOMPLETE) from error
    if output is RenderFormat.JSON:
        outputs.print_json(found[0] if len(found) == 1 else found)
    else:
        outputs.say(yaml.safe_dump_all(found, sort_keys=False, allow_unicode=True, width=120).rstrip("\n"))
