"""What the Helm chart runs before and after an installation, as Jobs in the cluster. People need none of it."""

import asyncio
import signal
from typing import Annotated

import typer

from sluice.api.engine_kind import EngineKind
from sluice.cli import outputs
from sluice.cli.cluster import cluster_is_needed, run

STOPS_WITHIN = 90.0
"""Seconds: a pod that is told to stop is killed after thirty."""
FINAL = 10
"""The exit code of an answer, after which the Job doesn't try again; after any other it does."""

hooks = typer.Typer(
    no_args_is_help=True,
    help="What the Helm chart runs before an installation, before its end, and after it.",
)

NAMESPACE = typer.Option("--namespace", "-n", help="The namespace of the release.")
DEPLOYMENT = typer.Option("--deployment", help="The installation's name.")


@hooks.command("make-password")
def make_password(
    *,
    namespace: Annotated[str, NAMESPACE],
    secret: Annotated[str, typer.Option(help="The Secret to make.")],
    key: Annotated[str, typer.Option(help="The key of the password in it.")],
) -> None:
    """Makes a Secret with a random password, unless it is there."""
    with cluster_is_needed():
        from sluice.online.installation.passwords import PasswordMissingError
        from sluice.online.installation.passwords import make_password as make

        try:
            made = run(make(namespace, secret, key))
        except PasswordMissingError as error:
            outputs.say(str(error), error=True)
            raise typer.Exit(FINAL) from error
    outputs.say(f"Secret {namespace}/{secret} {'was made' if made else 'is there already, and is kept'}")


@hooks.command("may-go")
def may_go(
    *,
    namespace: Annotated[str, NAMESPACE],
    deployment: Annotated[str, DEPLOYMENT],
    instance: Annotated[str, typer.Option(help="The release's name.")],
    watch_namespaces: Annotated[
        str, typer.Option(help="The namespaces that it watches, separated by commas; empty: all.")
    ] = "",
    takes_definitions: Annotated[
        bool, typer.Option("--takes-definitions", help="The resource definitions go with the release.")
    ] = False,
    engines: Annotated[
        str, typer.Option(help="The Spark operators whose applications it makes, separated by commas.")
    ] = EngineKind.KUBEFLOW.value,
    replicas: Annotated[int, typer.Option(min=1, help="How many operators go on if it may not go.")] = 1,
    patience: Annotated[
        float, typer.Option(min=0, help="Seconds within which the operator has to stop.")
    ] = STOPS_WITHIN,
) -> None:
    """Stops the operator for good, unless a driver lives, a lease is held or another installation's jobs would go: exit code 10."""
    with cluster_is_needed():
        from sluice.online.access.connection import Installation
        from sluice.online.installation.operator_pods import NotStoppedError
        from sluice.online.installation.uninstall import Release, StillNeededError, stop_unless_needed

        watched = tuple(name for name in watch_namespaces.split(",") if name)
        kinds = tuple(EngineKind(name) for name in engines.split(","))
        at = Installation(namespace, deployment, watch_namespaces=watched, engines=kinds)
        try:
            run(stop_unless_needed(Release(at, instance, takes_definitions, replicas), patience))
        except (StillNeededError, NotStoppedError) as error:
            outputs.say(str(error), error=True)
            raise typer.Exit(FINAL) from error
        except asyncio.CancelledError as error:
            outputs.say(f"told to stop before it was known: the operator {deployment} goes on", error=True)
            raise typer.Exit(128 + signal.SIGTERM) from error
    outputs.say(f"the operator {deployment} has stopped, and nothing needs it")


@hooks.command("tidy-up")
def tidy_up(
    *,
    namespace: Annotated[str, NAMESPACE],
    deployment: Annotated[str, DEPLOYMENT],
    secret: Annotated[
        str | None,
        typer.Option(help="The Secret that was made for Redis, if there was one; another's stays."),
    ] = None,
) -> None:
    """Removes the Lease, the claim and whatever else the operator made for itself."""
    with cluster_is_needed():
        from sluice.online.access.connection import Installation
        from sluice.online.installation.uninstall import tidy_up as tidy

        run(tidy(Installation(namespace, deployment), secret))
    outputs.say(f"nothing is left of {deployment} in {namespace}")
