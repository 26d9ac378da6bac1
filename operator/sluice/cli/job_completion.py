"""Offers a shell the names of the cluster's jobs. Where they can't be had, or not at once, it offers none: whoever types must be
left to type, and what went wrong is told by the command itself."""

import typer

from sluice.cli.cluster import run


def jobs_of_the_cluster(context: typer.Context, incomplete: str) -> list[str]:
    try:
        from sluice.online.access.errors import OnlineError
        from sluice.online.jobs.job_completion import offered
    except ModuleNotFoundError:
        return []
    try:
        found = run(offered(incomplete, context.params.get("namespace")))
    except (OnlineError, OSError, TimeoutError):
        return []
    return [one for one in found if one not in (context.params.get("jobs") or ())]
