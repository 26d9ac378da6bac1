"""`python -m sluice.controller --config FILE`: runs the operator until it is told to stop."""

import argparse
import asyncio
import signal
import sys
from pathlib import Path

from sluice.controller import logs
from sluice.controller.config import ConfigError, OperatorConfig, load
from sluice.controller.operator import run


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m sluice.controller", description=__doc__)
    parser.add_argument(
        "--config", type=Path, required=True, help="the operator's configuration, a YAML file"
    )
    parser.add_argument("--verbose", action="store_true", help="log every decision")
    arguments = parser.parse_args()
    logs.configure(verbose=arguments.verbose)
    try:
        config = load(arguments.config)
    except ConfigError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    asyncio.run(_until_stopped(config))
    return 0


async def _until_stopped(config: OperatorConfig) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    await run(config, stop)


if __name__ == "__main__":
    sys.exit(main())
