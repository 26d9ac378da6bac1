"""`python -m cluster up|exec|load|down`: the e2e cluster by hand."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from cluster.cluster import Cluster
from devenv.cache import Cache
from devenv.errors import DevError
from devenv.images import SPARK, ensure_image
from devenv.progress import say
from devenv.project import cache_folder


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m cluster", description="A one-node Kubernetes cluster for tests."
    )
    parser.add_argument("--folder", type=Path, default=cache_folder() / "run" / "cluster")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("up", help="start it with the Spark image loaded; it runs until `down`")
    inside = commands.add_parser("exec", help="run a command inside of its namespaces")
    inside.add_argument("run", nargs=argparse.REMAINDER)
    load = commands.add_parser("load", help="import an image from a docker-archive")
    load.add_argument("archive", type=Path)
    commands.add_parser("down", help="end it with everything in it")
    return parser


def main() -> int:
    options = arguments().parse_args()
    cluster = Cluster(options.folder, outlives_us=True)
    match options.command:
        case "up":
            cluster.up(ensure_image(Cache(cache_folder()), SPARK))
            say(f"kubeconfig inside of it: {cluster.kubeconfig}")
        case "exec":
            command = cluster.command(options.run)
            os.execvp(command[0], command)  # noqa: S606 - it takes this process's place, terminal and all
        case "load":
            cluster.load(options.archive)
        case "down":
            say("ended" if cluster.down() else "there was none")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except DevError as error:
        sys.exit(str(error))
