"""The commands `./dev test` and `./dev check`."""

import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from devenv.environment import Prepared
from devenv.errors import DevError, UsageError
from devenv.processes import spawn
from devenv.progress import say
from devenv.project import ROOT
from devenv.testing import checking, coverage, results, sections, slices, times
from devenv.testing.report import FLAKY_ALLOWED, OVER_BUDGET, Report, summarise
from devenv.testing.run import Run
from devenv.testing.slowest import write_slowest
from devenv.toolchain import cache

STRICT = "--strict"
COVERAGE = "--coverage"
NAMED_AT_MOST = 10
TO_LIST = ("spark",)
"""What pytest needs to read the files of all tests."""
HELP_OPTIONS = {"-h", "--help"}


def test_help() -> str:
    """What there is to run, from the sections themselves."""
    listed = [
        f"  {section.name:<12} {section.about}" for section in sections.all_sections() if section.present
    ]
    return "\n".join(
        [
            "./dev test [SECTION...] [--strict] [--coverage] [PYTEST OPTION...]",
            "",
            "Runs all tests that this machine can, or some sections, those that compute beside those that wait:",
            "",
            *listed,
            "",
            f"  --strict     one flaky test fails the run; else it takes more than {FLAKY_ALLOWED}",
            "  --coverage   prints which lines and branches of the product the tests execute; takes half as long again",
            "  --long       adds the tests that take minutes",
            "  --slice K/N  with --long: runs only part K of N of the long tests, and records it in docs/testing.md;",
            f"               with N = {slices.USUAL_COUNT} each part takes at most forty minutes",
            "  -k WORDS, -x, --durations=30 and any other option of pytest are passed on to it; budgets hold without such",
            "",
            "One file or folder: ./dev run pytest tests/unit/leases",
            "",
            "A failed test of contract, runner, integration or e2e runs once more, alone; if it passes then, it is FLAKY.",
            f"A whole section that takes more than {OVER_BUDGET:g} times its budget of CPU minutes fails.",
            "Output, results and evidence of the newest ten runs, and of the newest ten with failed tests, stay in the cache",
            "folder, under results/.",
            "",
        ]
    )


CHECK_HELP = f"""\
./dev check [--since COMMIT]

What one wants after each change, in two minutes: lint, and the tests that rest on what has changed, the nearest first. Unit
and protocol have {checking.QUICK_SECONDS:.0f} seconds of tests, and the other sections {checking.SLOW_SECONDS:.0f}.
Changed is what differs from where this branch left main, or on main from the commit before; --since names another commit.
"""


def test(arguments: Sequence[str]) -> int:
    if HELP_OPTIONS & set(arguments):
        sys.stdout.write(test_help())
        return 0
    strict, covered = STRICT in arguments, COVERAGE in arguments
    part, options = slices.taken_from([one for one in arguments if one not in (STRICT, COVERAGE)])
    names: list[str] = []
    while options and not options[0].startswith("-"):
        names.append(options.pop(0))
    unknown = [name for name in names if name not in sections.names()]
    if unknown:
        raise UsageError(f"There is no section {', '.join(unknown)}.\n\n{test_help()}")
    chosen = sections.choose(names)
    if part is None:
        return _tested(chosen, options, strict=strict, covered=covered)[0]
    whole = not names and options == [slices.LONG]
    return _run_slice(part, chosen, options, strict=strict, covered=covered, whole=whole)


def check(arguments: Sequence[str]) -> int:
    if HELP_OPTIONS & set(arguments):
        sys.stdout.write(CHECK_HELP)
        return 0
    match list(arguments):
        case []:
            since = None
        case ["--since", str(since)]:
            pass
        case [str(one)] if one.startswith("--since="):
            since = one.removeprefix("--since=")
        case _:
            raise UsageError(f"./dev check doesn't understand {' '.join(arguments)}.\n\n{CHECK_HELP}")
    changed = checking.changed_files(since)
    _list(f"Changed since {since}" if since else "Changed (--since COMMIT for another span)", changed)
    choice = checking.choose(changed, times.read(cache().folder))
    _list("Run beside lint, because they rest on that", choice.chosen)
    _list("Rest on it, too, and are left to ./dev test, because time is short", choice.left_out)
    _list(
        "No import leads to these: tests that name them run first, others of unit and protocol as there is time for",
        choice.unknown,
    )
    return _tested(choice.sections, [], strict=False)[0]


def lint(arguments: Sequence[str]) -> int:
    if arguments:
        raise DevError(f"./dev lint takes no arguments, but got: {' '.join(arguments)}")
    return test(["lint"])


def _run_slice(
    part: slices.Slice,
    chosen: Sequence[sections.Section],
    options: Sequence[str],
    *,
    strict: bool,
    covered: bool,
    whole: bool,
) -> int:
    """Runs one slice of the long tests. Of a whole slice docs/testing.md records what became of it."""
    commit, day = _commit(), time.strftime("%-d %b %Y", time.gmtime())
    minutes = slices.declared_minutes(Prepared(cache(), TO_LIST).variables(*TO_LIST))
    tests = slices.split(minutes, part.count)[part.number - 1]
    narrowed = slices.narrowed(chosen, tests)
    declared = sum(minutes[test] for test in tests)
    say(f"Slice {part}: {len(tests)} of {len(minutes)} long tests, {declared:.0f} declared minutes")
    for file, count in Counter(test.partition("::")[0] for test in tests).items():
        say(f"    {count:3} of {file}")
    ran = [section.name for section in narrowed]
    passed_over = [section.name for section in chosen if section.name not in ran]
    say(f"    sections without a test in it, passed over: {', '.join(passed_over) or 'none'}")
    began, code, reports = time.monotonic(), 0, list[Report]()
    if narrowed:
        code, reports = _tested(narrowed, options, strict=strict, covered=covered, only=tests)
    if whole:
        slices.note(part, commit, day, slices.result_of(reports, code, time.monotonic() - began))
    return code


def _commit() -> str:
    commit = (checking.git(ROOT, "rev-parse", "--short=10", "HEAD") or "unknown").strip()
    changed = checking.git(ROOT, "status", "--porcelain", "--", ".", ":!docs/testing.md")
    return f"{commit} and changes" if changed else commit


def _tested(
    chosen: Sequence[sections.Section],
    options: Sequence[str],
    *,
    strict: bool,
    covered: bool = False,
    only: Sequence[str] = (),
) -> tuple[int, list[Report]]:
    """The exit code, and what became of each section."""
    store = cache()
    began = time.monotonic()
    prepared = Prepared(store, [need for section in chosen for need in section.needs])
    set_up = time.monotonic() - began
    kept = results.begin(store.folder)
    began = time.monotonic()
    measured = coverage.variables(kept.coverage) if covered else None
    reports = Run(prepared, kept, options, only, measured).sections(chosen)
    write_slowest(kept)
    if not options and not covered:
        times.note(store.folder, kept)
    code = summarise(
        reports,
        set_up_seconds=set_up,
        seconds=time.monotonic() - began,
        kept=kept.folder,
        strict=strict,
    )
    if covered:
        code = _report_coverage(prepared, kept) or code
    return code, reports


def _report_coverage(prepared: Prepared, kept: results.Results) -> int:
    """A process of its own: the `coverage` package is in the tests' environment only."""
    say("\n### coverage")
    report = (*coverage.REPORT, str(kept.coverage))
    return spawn(report, environment=prepared.variables(), folder=ROOT).wait()


def _list(title: str, files: Sequence[Path]) -> None:
    if files:
        say(f"{title}:")
    for file in files[:NAMED_AT_MOST]:
        say(f"    {_shown(file)}")
    if len(files) > NAMED_AT_MOST:
        say(f"    and {len(files) - NAMED_AT_MOST} more")


def _shown(file: Path) -> str:
    return ascii(str(file.relative_to(ROOT))).strip("'")
