"""The operator's command line: what it is given, and how it ends."""

import argparse
import asyncio
import gc
import logging
from pathlib import Path

from sluice.controller import logs
from sluice.controller.config import ConfigError, load
from sluice.controller.operator import run
from sluice.installations.register import OverlapError

logger = logging.getLogger(__name__)

COLLECTED_EACH = (200_000, 10, 100)
"""New objects before cycles among the youngest are looked for, and how often that is done before older ones are, too. At Python's
700 that was two thirds of what a list of 6,000 jobs cost, and held up everything else for half a second at a time: what the API
server sends has many objects and no cycles. Those of all ages took 0.3 s with 10,000 jobs: they are looked at one time in a
thousand. At 50,000 one page of a list still came to be looked at: two fifths of what decoding it took."""


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m sluice.controller", description="Runs the operator until it is told to stop."
    )
    parser.add_argument(
        "--config", type=Path, required=True, help="the operator's configuration, a YAML file"
    )
    parser.add_argument("--verbose", action="store_true", help="log what libraries say, too")
    arguments = parser.parse_args()
    logs.configure(verbose=arguments.verbose)
    gc.set_threshold(*COLLECTED_EACH)
    gc.freeze()  # what was imported stays until the end
    try:
        asyncio.run(run(load(arguments.config)))
    except (ConfigError, OverlapError) as error:
        logger.error("%s", error)  # noqa: TRY400 - what is wrong isn't in the code
        return 2
    except Exception:
        logger.exception("the operator failed, and ends")
        return 1
    return 0
