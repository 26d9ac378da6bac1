"""Commands that ask a cluster. What they need of Kubernetes and Redis is imported when one of them is run: all others work
where neither is installed."""

import asyncio
import sys
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from sluice.cli import cluster_text, outputs, status_text
from sluice.cli.outputs import Exit, Format

T = TypeVar("T")

CONFIG = typer.Option(
    "--config",
    help="The operator's own configuration file, which names what the options below name; an option wins over it.",
    show_default=False,
)
NAMESPACE = typer.Option(
    "--namespace", "-n", help="Where the operator keeps its Lease, not its jobs.", show_default="default"
)
DEPLOYMENT = typer.Option(
    "--deployment", help="The installation's name: its Lease is DEPLOYMENT-leader.", show_default="sluice"
)
REDIS_URL = typer.Option(
    "--redis-url", envvar="SLUICE_REDIS_URL", help="Its Redis, as redis://, rediss:// or unix://."
)
YES = typer.Option("--yes", help="Do it. Without this nothing is done.")
OUTPUT = typer.Option("--output", "-o", help="How the answer is written.")

leases = typer.Typer(
    no_args_is_help=True, help="Lists leases, and frees one by hand that no object of the cluster explains."
)


def add_to(app: typer.Typer) -> None:
    app.add_typer(leases, name="leases")
    app.command()(status)
    app.command()(adopt)


def status(
    *,
    config: Annotated[Path | None, CONFIG] = None,
    namespace: Annotated[str | None, NAMESPACE] = None,
    deployment: Annotated[str | None, DEPLOYMENT] = None,
    output: Annotated[
        Format | None,
        typer.Option(
            "--output",
            "-o",
            help="How the answer is written.",
            show_default="text on a terminal, else json",
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Show all holders of leases, not the first 20 alone.")
    ] = False,
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
    """Lists the leases that are held though no object of the cluster explains them; with --redis-url or --config all others,
    too.
    """
    with _cluster_is_needed():
        from sluice.online import connection
        from sluice.online import leases as online

        at = connection.installation(config, namespace=namespace, deployment=deployment, redis_url=redis_url)
        found = [one.plain() for one in _run(online.known(at))]
    if output is Format.JSON:
        outputs.print_json(found)
    else:
        cluster_text.leases(found, outputs.console(), all_of_them=at.redis_url is not None)


@leases.command("revoke")
def revoke_lease(
    holder: Annotated[str, typer.Argument(help="As `sluice leases list` names it: UID/ATTEMPT.")],
    *,
    yes: Annotated[bool, YES] = False,
    config: Annotated[Path | None, CONFIG] = None,
    namespace: Annotated[str | None, NAMESPACE] = None,
    deployment: Annotated[str | None, DEPLOYMENT] = None,
    patience: Annotated[float, typer.Option(min=0, help="Seconds to wait for the operator.")] = 60,
    output: Annotated[Format, OUTPUT] = Format.TEXT,
) -> None:
    """Frees a lease that no object of the cluster explains. Do it only once you know that no driver of it runs: others may
    write to its tables then.
    """
    with _cluster_is_needed():
        from sluice.online import connection
        from sluice.online import leases as online

        if not yes:
            _needs_yes(f"a driver of {holder} that still runs would write beside others")
        at = connection.installation(config, namespace=namespace, deployment=deployment)
        message = _run(online.revoke(at, holder, patience))
    if output is Format.JSON:
        outputs.print_json({"holder": holder, "message": message})
    else:
        typer.echo(message)


def adopt(
    *,
    yes: Annotated[bool, YES] = False,
    config: Annotated[Path | None, CONFIG] = None,
    namespace: Annotated[str | None, NAMESPACE] = None,
    deployment: Annotated[str | None, DEPLOYMENT] = None,
    redis_url: Annotated[str | None, REDIS_URL] = None,
    output: Annotated[Format, OUTPUT] = Format.TEXT,
) -> None:
    """Takes over the leases in Redis of another installation that is gone for good, such as a lost cluster's. Without --yes
    it shows whose they are, and which.
    """
    with _cluster_is_needed():
        from sluice.online import adoption, connection

        at = connection.installation(config, namespace=namespace, deployment=deployment, redis_url=redis_url)
        found = _run(adoption.look(at))
        plain = found.plain() | {"done": yes and found.is_needed}
        if output is Format.TEXT:
            cluster_text.adoption(plain, outputs.console())
        if yes and found.is_needed:
            _run(adoption.carry_out(at, found))
    if output is Format.JSON:
        outputs.print_json(plain)
    elif not found.is_needed:
        typer.echo("There is nothing to take over.")
    elif yes:
        typer.echo(
            "Taken over. The operator holds what no object of this cluster explains: see `sluice leases list`."
        )
    if found.is_needed and not yes:
        _needs_yes("that installation is refused from then on, and must be gone for good")


def _needs_yes(why: str) -> None:
    typer.echo(f"nothing was done: {why}; if you are sure, add --yes", err=True)
    raise typer.Exit(Exit.REFUSED)


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
            f'{error.name} is not installed, and commands against a cluster need it: pip install "sluice-operator[operator]"',
            err=True,
        )
        raise typer.Exit(Exit.REFUSED) from error
