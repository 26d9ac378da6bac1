"""How long nobody grants anything when the leader goes: two operators behind the chart's admission policies, a real API server,
etcd and Redis, and jobs of which some run, some wait behind them, and most have finished.

./dev run python -m bench.failover                # with 1,000, 3,000 and 10,000 jobs
./dev run python -m bench.failover -n 1000 --rounds 1
"""

import argparse
import sys
from collections.abc import Sequence
from functools import partial

from bench.admission.catalogue import play
from bench.admission.command import command
from bench.admission.figures import Measured, table
from bench.admission.stage import Bench, Options
from bench.failover.rounds import Failovers, Goes, Sizes

from devenv.toolchain import cache, ensure_control_plane_tools

JOBS = (1_000, 3_000, 10_000)


def main(given: Sequence[str] | None = None) -> int:
    arguments = _parser().parse_args(given)
    return command(lambda: _measure_all(arguments), as_json=arguments.output == "json", told=_told)


def _told(found: list[Measured]) -> str:
    return "".join(
        f"{table([one for one in found if one.scenario == goes], f'the leader is {goes}')}\n" for goes in Goes
    )


def _measure_all(arguments: argparse.Namespace) -> list[Measured]:
    tools = ensure_control_plane_tools(cache())
    found: list[Measured] = []
    for jobs in arguments.jobs or JOBS:
        sys.stderr.write(f"{jobs:,} jobs ...\n")
        sizes = Sizes(
            running=min(arguments.running, jobs // 5),
            waiting=min(arguments.waiting, jobs // 2),
            rounds=arguments.rounds,
        )
        of_it = {goes: Measured(goes, jobs, wanted=sizes.rounds) for goes in Goes}
        scenario = partial(_failovers, sizes=sizes, found=of_it)
        play(scenario, Options(limit=arguments.limit), tools, of_it[Goes.KILLED])
        found += of_it.values()
    return found


async def _failovers(bench: Bench, sizes: Sizes, found: dict[Goes, Measured]) -> None:
    await Failovers(bench, sizes, found).play()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="./dev run python -m bench.failover",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("-n", "--jobs", type=int, action="append", help="given several times, a column each")
    parser.add_argument("--running", type=int, default=200, help="at most a fifth of all")
    parser.add_argument("--waiting", type=int, default=1_000, help="at most half of all")
    parser.add_argument("--rounds", type=int, default=3, help="how often it is killed, and told to stop")
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table")
    parser.add_argument("--limit", type=float, default=Options.limit, help="seconds for each round")
    return parser


if __name__ == "__main__":
    sys.exit(main())
