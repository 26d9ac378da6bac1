"""Commands that ask a cluster. They import Kubernetes and Redis only when they run, so that all other commands work where
neither is installed."""

import asyncio
import sys
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from sluice.api import names
from sluice.cli import cluster_text, doctor_text, leases_text, outputs, status_text
from sluice.cli.outputs import Exit, Format
from sluice.templates import Permissions

T = TypeVar("T")

PANEL = "Commands against a cluster"
CONFIG = typer.Option(
    "--config",
    help="The operator's configuration file, which sets what the options below set; an option overrides it.",
    show_default=False,
)
NAMESPACE = typer.Option(
    "--namespace",
    "-n",
    help="The namespace of the operator's Lease, not of its jobs.",
    show_default="default",
)
DEPLOYMENT = typer.Option(
    "--deployment",
    help=f"The installation's name: its Lease is {names.leader_lease('DEPLOYMENT')}.",
    show_default=names.DEPLOYMENT,
)
REDIS_URL = typer.Option(
    "--redis-url",
    envvar="SLUICE_REDIS_URL",
    help="Its Redis: redis://, rediss://, unix://, redis+sentinel:// or rediss+sentinel://.",
)
YES = typer.Option("--yes", help="Do it; without this nothing is done.")
OUTPUT = typer.Option("--output", "-o", help="The output format.")

EVERYTHING = typer.Option(
    "--all", help=f"Show all leases, not only the first {leases_text.MOST}; JSON has all anyway."
)

leases = typer.Typer(
    invoke_without_command=True,
    help="Lists leases, and frees by hand one that no object of the cluster explains.",
)


def add_to(app: typer.Typer) -> None:
    app.command(rich_help_panel=PANEL)(status)
    app.command(rich_help_panel=PANEL)(doctor)
    app.add_typer(leases, name="leases", rich_help_panel=PANEL)
    app.command(rich_help_panel=PANEL)(adopt)


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
            help="The output format.",
            show_default="text on a terminal, else json",
        ),
    ] = None,
    everything: Annotated[
        bool,
        typer.Option(
            "--all", help="Show all holders of leases and all Stalled policies, not only the first 20."
        ),
    ] = False,
) -> None:
    """Says who leads, how the operator is, who holds what, and which policies are Stalled. Ends with exit code 1 if
    something is wrong."""
    with cluster_is_needed():
        from sluice.online import answers
        from sluice.online.access import connection
        from sluice.online.installation import status as online

        at = connection.installation(config, namespace=namespace, deployment=deployment)
        found = answers.status_json(run(online.status_of(at)))
    if (output or (Format.TEXT if sys.stdout.isatty() else Format.JSON)) is Format.JSON:
        outputs.print_json(found)
    else:
        status_text.show(found, outputs.console(), most=None if everything else status_text.MOST)
    if found["problems"]:
        raise typer.Exit(Exit.FOUND)


def doctor(
    *,
    config: Annotated[Path | None, CONFIG] = None,
    namespace: Annotated[str | None, NAMESPACE] = None,
    deployment: Annotated[str | None, DEPLOYMENT] = None,
    redis_url: Annotated[
        str | None,
        typer.Option(
            "--redis-url", envvar="SLUICE_REDIS_URL", help="Its Redis, if it can be reached from here."
        ),
    ] = None,
    service_account: Annotated[
        str | None,
        typer.Option(
            "--service-account",
            help="The account that the operator runs as.",
            show_default="that of the Deployment called as the installation",
        ),
    ] = None,
    output: Annotated[Format, OUTPUT] = Format.TEXT,
) -> None:
    """Checks an installation in one go: versions, definitions, rights, Redis, service accounts, log stores, policies. Says of each
    whether it is well and what to do, and ends with exit code 1 if a check failed, and 4 if the cluster let nothing of it be seen.
    Without --config it reads the chart's ConfigMap in the operator's namespace, or in the operator's pod its file."""
    with cluster_is_needed():
        from sluice.online import answers
        from sluice.online.access import connection
        from sluice.online.doctor import examination as online

        at = connection.installation(config, namespace=namespace, deployment=deployment)
        if config is None:  # in an operator's pod the Redis of its file can be reached
            redis_url = redis_url or at.redis_url
        asked = online.ExaminationOptions(redis_url, service_account, deployment)
        examination = run(online.examined(at, asked))
        found = answers.doctor_json(examination)
    if output is Format.JSON:
        outputs.print_json(found)
    else:
        doctor_text.show(found, outputs.console())
    if examination.unseen is not None:
        outputs.say(examination.unseen, error=True)
    if not found["well"]:
        raise typer.Exit(Exit.FOUND if examination.fails else Exit.REFUSED)


@leases.command("list")
def list_leases(
    *,
    config: Annotated[Path | None, CONFIG] = None,
    namespace: Annotated[str | None, NAMESPACE] = None,
    deployment: Annotated[str | None, DEPLOYMENT] = None,
    redis_url: Annotated[str | None, REDIS_URL] = None,
    output: Annotated[Format, OUTPUT] = Format.TEXT,
    everything: Annotated[bool, EVERYTHING] = False,
) -> None:
    """Lists who holds which tables, since when, and in which state, as the cluster's objects tell; with --redis-url or --config
    it also compares that with Redis. `sluice leases` alone does so, too."""
    with cluster_is_needed():
        from sluice.online import answers
        from sluice.online.access import connection
        from sluice.online.leases import lease_list as online

        at = connection.installation(config, namespace=namespace, deployment=deployment, redis_url=redis_url)
        listed = run(online.listed(at))
        found = answers.leases_json(at, listed)
    if output is Format.JSON:
        outputs.print_json(found)
    else:
        most = None if everything else leases_text.MOST
        leases_text.show(found, outputs.console(), datetime.now(UTC), most)
        for what in found["notShown"]:
            outputs.say(f"not shown: {what}", error=True)
    if listed.is_redis_missing:
        raise typer.Exit(Exit.INCOMPLETE)


@leases.callback()
def list_leases_without_a_command(
    context: typer.Context,
    *,
    config: Annotated[Path | None, CONFIG] = None,
    namespace: Annotated[str | None, NAMESPACE] = None,
    deployment: Annotated[str | None, DEPLOYMENT] = None,
    redis_url: Annotated[str | None, REDIS_URL] = None,
    output: Annotated[Format, OUTPUT] = Format.TEXT,
    everything: Annotated[bool, EVERYTHING] = False,
) -> None:
    """Lists leases, and frees by hand one that no object of the cluster explains."""
    given = [name for name in context.params if is_typed(context, name)]
    if context.invoked_subcommand is None:
        list_leases(
            config=config,
            namespace=namespace,
            deployment=deployment,
            redis_url=redis_url,
            output=output,
            everything=everything,
        )
    elif given:
        outputs.say(
            f"options go behind the command: sluice leases {context.invoked_subcommand} ...", error=True
        )
        raise typer.Exit(Exit.USAGE)


def is_typed(context: typer.Context, name: str) -> bool:
    """Whether the option stands on the command line; it may come from a variable, too."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


@leases.command("revoke")
def revoke_lease(
    holder: Annotated[str, typer.Argument(help="The holder as `sluice leases list` names it: UID/ATTEMPT.")],
    *,
    yes: Annotated[bool, YES] = False,
    config: Annotated[Path | None, CONFIG] = None,
    namespace: Annotated[str | None, NAMESPACE] = None,
    deployment: Annotated[str | None, DEPLOYMENT] = None,
    patience: Annotated[float, typer.Option(min=0, help="Seconds to wait for the operator.")] = 60,
    output: Annotated[Format, OUTPUT] = Format.TEXT,
) -> None:
    """Frees a lease that no object of the cluster explains. Do it only once you know that no driver of it runs: afterwards
    others may write to its tables."""
    with cluster_is_needed():
        from sluice.online.access import connection
        from sluice.online.leases import lease_revocation as online

        if not yes:
            _needs_yes(f"a driver of {holder} that still runs would write alongside others")
        at = connection.installation(config, namespace=namespace, deployment=deployment)
        message = run(online.revoke(at, holder, patience))
    if output is Format.JSON:
        outputs.print_json({"holder": holder, "message": message})
    else:
        outputs.say(message)


def adopt(
    *,
    yes: Annotated[bool, YES] = False,
    config: Annotated[Path | None, CONFIG] = None,
    namespace: Annotated[str | None, NAMESPACE] = None,
    deployment: Annotated[str | None, DEPLOYMENT] = None,
    redis_url: Annotated[str | None, REDIS_URL] = None,
    output: Annotated[Format, OUTPUT] = Format.TEXT,
) -> None:
    """Takes over the leases that another installation left in Redis when it was lost for good, for example with its cluster.
    Without --yes it shows which leases they are, and whose."""
    with cluster_is_needed():
        from sluice.online import answers
        from sluice.online.access import connection
        from sluice.online.leases import adoption

        at = connection.installation(config, namespace=namespace, deployment=deployment, redis_url=redis_url)
        found = run(adoption.look(at))
        answer = answers.adoption_json(found, done=yes and found.is_needed)
        if output is Format.TEXT:
            cluster_text.adoption(answer, outputs.console())
        if yes and found.is_needed:
            run(adoption.carry_out(at, found))
    if output is Format.JSON:
        outputs.print_json(answer)
    elif not found.is_needed:
        outputs.say("There is nothing to take over.")
    elif yes:
        outputs.say(
            "Taken over. The operator now holds every lease that no object of this cluster explains: see `sluice leases list`."
        )
    if found.is_needed and not yes:
        _needs_yes("that installation must be gone for good: it is refused from then on")


def _needs_yes(why: str) -> None:
    outputs.say(f"nothing was done: {why}; if you are sure, add --yes", error=True)
    raise typer.Exit(Exit.USAGE)


def run(asking: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(asking)


def permissions_of(config: Path) -> Permissions:
    """What an operator's configuration file lets jobs ask for."""
    with cluster_is_needed():
        from sluice.online.access.connection import configured

        return configured(config).permissions


@contextmanager
def cluster_is_needed() -> Iterator[None]:
    """Turns what a command cannot do into one line, without a trace."""
    from sluice.online.access.errors import CalledWronglyError, OnlineError

    try:
        yield
    except CalledWronglyError as error:
        outputs.say(str(error), error=True)
        raise typer.Exit(Exit.USAGE) from error
    except OnlineError as error:
        outputs.say(str(error), error=True)
        raise typer.Exit(Exit.REFUSED) from error
    except ModuleNotFoundError as error:
        outputs.say(
            f'{error.name} is not installed, and commands against a cluster need it: pip install ".[operator]" in a checkout',
            error=True,
        )
        raise typer.Exit(Exit.REFUSED) from error
