"""The command `./dev mutants`."""

import argparse
import resource
import sys
from collections import Counter
from collections.abc import Sequence

from devenv.environment import Prepared
from devenv.errors import UsageError
from devenv.mutants import listed
from devenv.mutants.scratch import Scratch
from devenv.mutants.trial import FOUND, Result, Trial
from devenv.progress import say
from devenv.testing import sections
from devenv.testing.slices import Slice
from devenv.toolchain import cache

AT_ONCE = 2
ABOUT = """\
Shows that the tests still find the mutants that the project knows (tests/mutants/AREA.toml): makes each of them in a copy of the
checkout, and runs the one test that must fail. Prints a line for each: found, SURVIVED, or STALE, if the text to change is not
there exactly once, or the test does not exist or fails without the mutant. The exit code is 0 only if all are found.
"""


def mutants(arguments: Sequence[str]) -> int:
    options = _parser().parse_args(arguments)
    part = _slice(options.slice)
    chosen = listed.read(options.areas)
    prepared = Prepared(cache(), [need for name in _sections(chosen) for need in _needs(name)])
    variables = {name: prepared.variables(*_needs(name)) for name in _sections(chosen)}
    printer = Printer()
    trial = Trial([Scratch.of() for _ in range(1 if options.list else AT_ONCE)], variables, printer.tell)
    known = trial.spread(chosen)
    chosen = listed.slice_of(known, part.number, part.count)
    if not chosen:
        raise UsageError(f"Slice {part} of {len(known)} mutants has none: name a smaller number of slices.")
    if options.list:
        for mutant in chosen:
            sys.stdout.write(f"{mutant.id}\t{mutant.test}\t{mutant.says}\n")
        return 0
    printer.total = len(chosen)
    results = trial.all(chosen)
    return _summarise(results)


class Printer:
    """Prints one line for each mutant, with a count on a terminal."""

    def __init__(self) -> None:
        self.total = 0
        self._told = 0

    def tell(self, result: Result) -> None:
        self._told += 1
        count = f"[{self._told}/{self.total}] " if sys.stdout.isatty() else ""
        detail = f"{result.why}: {result.mutant.says}" if result.why else result.mutant.says
        sys.stdout.write(f"{count}{result.outcome} {result.mutant.id}: {detail}\n")
        sys.stdout.flush()


def _summarise(results: Sequence[Result]) -> int:
    counts = Counter(result.outcome for result in results)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    say(
        f"{len(results)} mutants: {', '.join(f'{count} {outcome}' for outcome, count in counts.items())};"
        f" {(used.ru_utime + used.ru_stime) / 60:.1f} CPU minutes"
    )
    return 0 if counts.total() == counts[FOUND] else 1


def _sections(chosen: Sequence[listed.Mutant]) -> list[str]:
    return list(dict.fromkeys(mutant.section for mutant in chosen))


def _needs(section: str) -> tuple[str, ...]:
    return sections.choose([section])[0].needs


def _slice(text: str) -> Slice:
    part = Slice.of(text)
    if part is None:
        raise UsageError(f"--slice takes K/N with 1 <= K <= N, such as 2/4, but got {text}.")
    return part


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="./dev mutants", description=ABOUT)
    parser.add_argument(
        "areas", nargs="*", metavar="AREA", help=f"one of {', '.join(listed.areas())}; all if none"
    )
    parser.add_argument(
        "--slice", default="1/1", metavar="K/N", help="only every N-th, beginning with the K-th"
    )
    parser.add_argument("--list", action="store_true", help="print the mutants and their tests, and try none")
    return parser
