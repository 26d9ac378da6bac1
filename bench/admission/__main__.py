"""How the operator grows with the number of jobs: a process of its own against a real API server, etcd and Redis.

./dev run python -m bench.admission                          # how each figure grows with 200 to 10,000 jobs
./dev run python -m bench.admission admit -n 3000 --profile  # one scenario, and where the main thread's CPU goes
"""

import argparse
import sys
from collections.abc import Sequence

from bench.admission.catalogue import BAD_INPUT, GROWTH, SCENARIOS, measure
from bench.admission.command import command
from bench.admission.figures import Measured, table
from bench.admission.stage import Options

from devenv.toolchain import cache, ensure_control_plane_tools

JOBS = (200, 1_000, 3_000, 10_000)
JOBS_OF_BAD_INPUT = (1_000,)


def main(given: Sequence[str] | None = None) -> int:
    arguments = _parser().parse_args(given)
    return command(lambda: _measure_all(arguments), as_json=arguments.output == "json")


def _measure_all(arguments: argparse.Namespace) -> list[Measured]:
    options = Options(
        limit=arguments.limit,
        samples=arguments.samples,
        good=arguments.good,
        finished=arguments.finished,
        suspended=arguments.suspended,
        tables_exist=not arguments.no_tables,
        profile=arguments.profile,
    )
    tools = ensure_control_plane_tools(cache())
    found = []
    for scenario in arguments.scenarios or GROWTH:
        of_it = []
        for jobs in arguments.jobs or (JOBS if scenario in GROWTH else JOBS_OF_BAD_INPUT):
            sys.stderr.write(f"{scenario}, {jobs:,} jobs ...\n")
            of_it.append(measure(scenario, jobs, options, tools))
        found += of_it
        if arguments.output == "table":
            sys.stdout.write(f"{_told(scenario, of_it)}\n")
            sys.stdout.flush()
    return found


def _told(scenario: str, found: Sequence[Measured]) -> str:
    about = (SCENARIOS[scenario].__doc__ or "").strip()
    parts = [f"{about}\n", table(found, scenario)]
    parts += [
        "\n".join([f"{one.jobs:,} jobs, {one.profile[0]}", *one.profile[1:], ""])
        for one in found
        if one.profile
    ]
    return "\n".join(parts)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="./dev run python -m bench.admission",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="\n".join(f"{name:17} {(work.__doc__ or '').strip()}" for name, work in SCENARIOS.items()),
    )
    parser.add_argument(
        "scenarios",
        nargs="*",
        choices=[*SCENARIOS, []],
        metavar="SCENARIO",
        help=f"by default those of growth: {', '.join(GROWTH)}; there are {', '.join(BAD_INPUT)}, too",
    )
    parser.add_argument(
        "-n", "--jobs", type=_whole, action="append", help="given several times, a column each"
    )
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table")
    parser.add_argument("--limit", type=float, default=Options.limit, help="seconds for what is measured")
    parser.add_argument(
        "--samples", type=_whole, default=Options.samples, help="jobs one at a time, and releases"
    )
    parser.add_argument(
        "--good", type=_whole, default=Options.good, help="jobs whose time is told alone and beside bad input"
    )
    parser.add_argument(
        "--finished",
        type=int,
        default=Options.finished,
        help="jobs that have finished long before, beside all",
    )
    parser.add_argument(
        "--suspended",
        action="store_true",
        help="admit: release by spec.admission.suspend, not by the operator's start",
    )
    parser.add_argument("--no-tables", action="store_true", help="jobs on tables that don't exist yet")
    parser.add_argument("--profile", action="store_true", help="py-spy if it is on PATH, else cProfile")
    return parser


def _whole(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is too few: at least 1")
    return number


if __name__ == "__main__":
    sys.exit(main())
