"""The operator's command line: what it is given, and how it ends."""

import argparse
import asyncio
import gc
import logging
from pathlib import Path

from sluice.controller.operator import run
from sluice.controller.process import logs
from sluice.controller.process.configuration import ConfigError, load
from sluice.installations.register import OverlapError
from sluice.kube.kubeconfig import NoClusterKnownError
from sluice.kube.version import TooOldError

logger = logging.getLogger(__name__)

COLLECTED_EACH = (200_000, 10, 100)
"""How many new objects there must be before the garbage collector looks for cycles among the youngest, and how often it does
that before it looks at older ones.

At Python's 700, collecting cost two thirds of a list of 6,000 jobs, and held up everything else for half a second at a time:
what the API server sends has many objects and no cycles. Collecting all generations took 0.3 s with 10,000 jobs, so it happens
once in a thousand times. At 50,000 one page of a list was still collected: two fifths of the time that decoding it took.
"""


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="sluice-operator", description="Runs the operator until it is told to stop."
    )
    parser.add_argument(
        "--config", type=Path, required=True, help="the operator's configuration, a YAML file"
    )
    parser.add_argument("--verbose", action="store_true", help="also log what libraries say")
    arguments = parser.parse_args()
    logs.configure(verbose=arguments.verbose)
    gc.set_threshold(*COLLECTED_EACH)
    gc.freeze()  # what was imported stays until the end
    try:
        asyncio.run(run(load(arguments.config)))
    except (ConfigError, NoClusterKnownError, OverlapError, TooOldError) as error:
        logger.error("%s", error)  # noqa: TRY400 - what is wrong isn't in the code
        return 2
    except Exception:
        logger.exception("the operator failed and is stopping")
        return 1
    return 0
