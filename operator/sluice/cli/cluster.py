"""Commands that ask a cluster. What they need of Kubernetes and Redis is imported when one of them is run: all others work
where neither is installed."""

import asyncio
import sys
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from sluice.cli import outputs, status_text
from sluice.cli.outputs import Exit, Format

T = TypeVar("T")

CONFIG = typer.Option("--config", help="The operator's own configuration file: names all of the following.")
NAMESPACE = typer.Option(
    "--namespace", "-n", help="Where the operator keeps its own objects.  [default: default]"
)
DEPLOYMENT = typer.Option("--deployment", help="The installation's name.  [default: sluice]")
REDIS_URL = typer.Option(
    "--redis-url", envvar="SLUICE_REDIS_URL", help="Its Redis, as redis://, rediss:// or unix://."
)
OUTPUT = typer.Option("--output", "-o", help="How the answer is written.")

leases = typer.Typer(no_args_is_help=True, help="Who holds leases.")


def add_to(app: typer.Typer) -> None:
    app.add_typer(leases, name="leases")
    app.command()(status)


def status(
    *,
    config: Annotated[Path | None, CONFIG] = None,
    namespace: Annotated[str | None, NAMESPACE] = None,
    deployment: Annotated[str | None, DEPLOYMENT] = None,
    output: Annotated[
        Format | None,
        typer.Option(
            "--output", "-o", help="How the answer is written.  [default: text on a terminal, else json]"
        ),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Show all who hold leases.")] = False,
) -> None:
    """Says who leads, how the operator is, and who holds what. Ends with exit code 1 if something is wrong."""
    with _cluster_is_needed():
        from sluice.online import connection
        from sluice.online import status as online

        at = connection.installation(config, namespace=namespace, deployment=deployment)
        found = online.plain(_run(online.status_of(at)))
    if (output or (Format.TEXT if sys.stdout.isatty() else Format.JSON)) is Format.JSON:
        outputs.print_json(found)
    else:
        status_text.show(found, outputs.console(), most=None if everything else status_text.MOST)
    if found["problems"]:
        raise typer.Exit(Exit.FOUND)


@leases.command("list")
def list_leases(
    *,
    config: Annotated[Path | None, CONFIG] = None,
    namespace: Annotated[str | None, NAMESPACE] = None,
    deployment: Annotated[str | None, DEPLOYMENT] = None,
    redis_url: Annotated[str | None, REDIS_URL] = None,
    output: Annotated[Format, OUTPUT] = Format.TEXT,
) -> None:
    """Lists the leases that Redis holds."""
    with _cluster_is_needed():
        from sluice.online import connection
        from sluice.online import leases as online

        at = connection.installation(config, namespace=namespace, deployment=deployment, redis_url=redis_url)
        found = [online.plain(grant) for grant in _run(online.held(at))]
    if output is Format.JSON:
        outputs.print_json(found)
        return
    for one in found:
        typer.echo(f"{one['holder']}  {one['job']}  {', '.join(one['tables'])}")


def _run(asking: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(asking)


@contextmanager
def _cluster_is_needed() -> Iterator[None]:
    """What it can't do is one line, without a trace."""
    from sluice.online.errors import OnlineError

    try:
        yield
    except OnlineError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(Exit.REFUSED) from error
    except ModuleNotFoundError as error:
        typer.echo(
            f'{error.name} is not installed, and commands against a cluster need it: pip install "sluice[operator]"',
            err=True,
        )
        raise typer.Exit(Exit.REFUSED) from error
