"""Tries mutants: each must make its named test fail, which passes without the mutant."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from queue import Queue

from devenv.environment import Variables
from devenv.mutants.listed import Mutant, is_named
from devenv.mutants.scratch import Scratch, Tested
from devenv.testing import records

FOUND, SURVIVED, STALE = "found", "SURVIVED", "STALE"
_BROKEN = re.compile(
    r"^E +((?:NameError|UnboundLocalError|SyntaxError|ImportError|ModuleNotFoundError):.*)", re.MULTILINE
)
"""Errors of code that doesn't run: each test finds such a change, also one that promises something else."""
WITHOUT_STOPPING = ("--maxfail=0",)


@dataclass(frozen=True)
class Result:
    mutant: Mutant
    outcome: str
    why: str = ""


Tell = Callable[[Result], None]
OfSections = Mapping[str, Variables]


class Trial:
    """Tries mutants in scratch copies, as many at a time as there are copies."""

    def __init__(self, scratches: Sequence[Scratch], variables: OfSections, tell: Tell) -> None:
        self._scratches: Queue[Scratch] = Queue()
        for scratch in scratches:
            self._scratches.put(scratch)
        self._at_once = len(scratches)
        self._variables = variables
        self._tell = tell
        self._passed: set[str] = set()

    def spread(self, mutants: Sequence[Mutant]) -> list[Mutant]:
        """Returns the mutants with one for each parameter of a test that seeds its mutants itself."""
        seeding = [mutant for mutant in mutants if mutant.edit is None]
        collected = self._collected(seeding)
        spread = []
        for mutant in mutants:
            cases = (
                [test for test in collected if is_named(test, {mutant.test})] if mutant.edit is None else []
            )
            spread += [replace(mutant, name=_case(test), test=test) for test in cases] or [mutant]
        return spread

    def all(self, mutants: Sequence[Mutant]) -> list[Result]:
        """Returns the results in the order of the mutants; each is told when it is known."""
        with ThreadPoolExecutor(self._at_once) as pool:
            list(pool.map(self._run_unchanged, _batches(mutants, self._at_once)))
            return list(pool.map(self._try, mutants))

    def _collected(self, seeding: Sequence[Mutant]) -> list[str]:
        found: list[str] = []
        for section in dict.fromkeys(mutant.section for mutant in seeding):
            tests = [mutant.test for mutant in seeding if mutant.section == section]
            with self._scratch() as scratch:
                tested = scratch.run(tests, self._variables[section], options=["--collect-only"])
            found += [record.test for record in tested.written if record.when == "collected"]
        return found

    def _run_unchanged(self, batch: Sequence[Mutant]) -> None:
        """Runs the tests of these mutants, all of one section, without any mutant."""
        tests = list(dict.fromkeys(mutant.test for mutant in batch))
        with self._scratch() as scratch:
            tested = scratch.run(tests, self._variables[batch[0].section], options=WITHOUT_STOPPING)
        ran = [record.test for record in tested.written if record.when == "collected"]
        passed = records.passed(tested.written)
        for test in tests:
            cases = [one for one in ran if is_named(one, {test})]
            if cases and passed.issuperset(cases):
                self._passed.add(test)

    def _try(self, mutant: Mutant) -> Result:
        result = self._outcome(mutant)
        self._tell(result)
        return result

    def _outcome(self, mutant: Mutant) -> Result:
        unchanged = mutant.test in self._passed
        if mutant.edit is None:
            # The test takes out a step or a rule itself, and passes only if that is seen.
            return (
                Result(mutant, FOUND)
                if unchanged
                else Result(mutant, SURVIVED, f"{mutant.test} does not pass")
            )
        if not unchanged:
            return Result(mutant, STALE, f"{mutant.test} does not exist, or does not pass without the mutant")
        with self._scratch() as scratch, scratch.edited(mutant.edit) as is_edited:
            if not is_edited:
                return Result(mutant, STALE, f"{mutant.edit.file} does not hold the text exactly once")
            return _judged(mutant, scratch.run([mutant.test], self._variables[mutant.section]))

    @contextmanager
    def _scratch(self) -> Iterator[Scratch]:
        scratch = self._scratches.get()
        try:
            yield scratch
        finally:
            self._scratches.put(scratch)


def _judged(mutant: Mutant, tested: Tested) -> Result:
    said = records.failures(tested.written)
    failed = said.keys() - records.uncollected(tested.written)
    broken = [found[1] for test in failed if (found := _BROKEN.search(said[test]))]
    if broken and len(broken) == len(failed):
        return Result(mutant, STALE, f"its text does not run: {broken[0]}")
    if failed:
        return Result(mutant, FOUND)
    if not records.passed(tested.written):
        return Result(mutant, STALE, f"pytest ended with {tested.code} and ran no test: {_last_line(tested)}")
    return Result(mutant, SURVIVED, f"{mutant.test} passes")


def _last_line(tested: Tested) -> str:
    return next((line for line in reversed(tested.output.splitlines()) if line.strip()), "no output")


def _case(test: str) -> str:
    return test.partition("[")[2].removesuffix("]") or test


def _batches(mutants: Sequence[Mutant], count: int) -> list[list[Mutant]]:
    """Splits the mutants by section, and each section's into as many batches as there are workers, by the tests' files."""
    batches = []
    for section in dict.fromkeys(mutant.section for mutant in mutants):
        of_section = sorted(
            (mutant for mutant in mutants if mutant.section == section), key=lambda mutant: mutant.test
        )
        size = -(-len(of_section) // count)
        batches += [of_section[start : start + size] for start in range(0, len(of_section), size)]
    return batches
