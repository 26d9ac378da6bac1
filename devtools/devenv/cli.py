"""The commands of ./dev."""

import os
import re
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext

from devenv import locks
from devenv.demo import demo
from devenv.environment import NEEDS, Prepared, for_people, python_variables
from devenv.errors import DevError, UsageError
from devenv.local_stack import LocalStack
from devenv.mutants.command import mutants
from devenv.processes import adopt_orphans, spawn, stop_everything
from devenv.progress import say
from devenv.project import ROOT
from devenv.temporary import outside, own_temporary_folder
from devenv.testing import sections
from devenv.testing.commands import check, lint, test
from devenv.toolchain import cache, ensure_stack_tools

HELP = """\
./dev sets up what it needs by itself, in one cache folder ($SLUICE_CACHE, by default ~/.cache/sluice).

  ./dev test [SECTION...] [PYTEST OPTION...]  run all tests that this machine can, or some sections:
                                              lint unit protocol contract runner integration e2e
                                              (--help lists them; --long adds the tests that take minutes)
  ./dev check [--since COMMIT]                after each change, two minutes on a quiet machine: lint, and the
                                              tests nearest to what has changed
  ./dev demo [--plain] [OPTION...]            watch jobs that would abort one another run side by side or in turn;
                                              --plain runs them without Sluice as well, and compares (--help: more)
  ./dev mutants [AREA...] [--slice K/N]       show that the tests find the mutants of tests/mutants (--list lists them)
  ./dev lint                                  the same as ./dev test lint
  ./dev run CMD...                            run a command in the project's environment
  ./dev up [NAME]                             start a local Kubernetes API and Redis, with our CRDs
  ./dev down [NAME]                           stop them
  ./dev generate                              write anew what is made from the code: CRDs, the chart's schema, docs
  ./dev lock                                  lock the newest Python packages that pyproject.toml allows
  ./dev setup [NEED...]                       only install: python spark spark35 control-plane stack cluster image
  ./dev help                                  this page
"""


def up(arguments: Sequence[str]) -> int:
    store = cache()
    local = LocalStack(store, _name_in("up", arguments))
    with own_temporary_folder():
        tools = ensure_stack_tools(store)
    local.up(tools)
    sys.stdout.write(f"export KUBECONFIG={local.kubeconfig}\nexport SLUICE_REDIS_URL={local.redis_url}\n")
    when = " where these are exported" if arguments else ""
    say(f"    ./dev run kubectl ... talks to it{when}; {' '.join(('./dev down', *arguments))} stops it")
    return 0


def down(arguments: Sequence[str]) -> int:
    stopped = LocalStack(cache(), _name_in("down", arguments)).down()
    say(f"    stopped {stopped} processes" if stopped else "    nothing was running")
    return 0


def run(arguments: Sequence[str]) -> int:
    if not arguments:
        raise DevError("./dev run needs a command, such as: ./dev run pytest tests/unit")
    with own_temporary_folder():
        variables = outside(for_people(cache()))
    adopt_orphans(False)
    try:
        os.execvpe(arguments[0], list(arguments), variables)  # noqa: S606 - this is what the command is for
    except FileNotFoundError as error:
        raise DevError(f"There is no program {arguments[0]} in the project's environment.") from error


def show_demo(arguments: Sequence[str]) -> int:
    return demo(cache(), arguments)


def generate(arguments: Sequence[str]) -> int:
    return spawn((*sections.GENERATOR, *arguments), environment=python_variables(cache()), folder=ROOT).wait()


def lock(arguments: Sequence[str]) -> int:
    _takes_nothing("lock", arguments)
    locks.rewrite(cache())
    return 0


def setup(arguments: Sequence[str]) -> int:
    unknown = [name for name in arguments if name not in NEEDS]
    if unknown:
        raise DevError(f"./dev setup does not know {', '.join(unknown)}; it knows {', '.join(NEEDS)}.")
    needs = list(arguments or NEEDS)
    Prepared(cache(), needs).variables(*needs)
    return 0


def show_help(_arguments: Sequence[str]) -> int:
    sys.stdout.write(HELP)
    return 0


OWN_HELP = ("test", "check", "demo", "mutants")
COMMANDS: Mapping[str, Callable[[Sequence[str]], int]] = {
    "test": test,
    "check": check,
    "lint": lint,
    "mutants": mutants,
    "run": run,
    "up": up,
    "down": down,
    "demo": show_demo,
    "generate": generate,
    "lock": lock,
    "setup": setup,
    "help": show_help,
    "--help": show_help,
    "-h": show_help,
}


# What they start goes on without ./dev, so only their set-up has a folder that goes.
LASTING = frozenset({"up", "run"})


def main(arguments: Sequence[str]) -> int:
    """Runs one command; however it ends, no process and no file stays that it didn't mean to leave."""
    name = arguments[0] if arguments else "help"
    command = COMMANDS.get(name)
    if command is None:
        sys.stderr.write(f"./dev has no command {name}; ./dev help lists them.\n")
        return 2
    if list(arguments[1:2]) in (["-h"], ["--help"]) and name not in OWN_HELP:
        return show_help([])
    if not sys.platform.startswith("linux"):
        sys.stderr.write("./dev runs on Linux.\n")
        return 1
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    adopt_orphans()
    with nullcontext() if name in LASTING else own_temporary_folder():
        return _carry_out(name, command, arguments[1:])


def _carry_out(name: str, command: Callable[[Sequence[str]], int], arguments: Sequence[str]) -> int:
    try:
        code = command(arguments)
    except DevError as error:
        stop_everything()
        say(f"./dev: {error}")
        return 2 if isinstance(error, UsageError) else 1
    except KeyboardInterrupt:
        stop_everything()
        say("./dev: interrupted; what it had started has been stopped.")
        return 130
    except BaseException:
        stop_everything()
        raise
    if name != "up":
        stop_everything()
    return code


def _name_in(command: str, arguments: Sequence[str]) -> str | None:
    if len(arguments) > 1 or any(not re.fullmatch(r"[a-z0-9][a-z0-9-]*", name) for name in arguments):
        raise DevError(f"./dev {command} takes one name in lower case, but got: {' '.join(arguments)}")
    return arguments[0] if arguments else None


def _takes_nothing(command: str, arguments: Sequence[str]) -> None:
    if arguments:
        raise DevError(f"./dev {command} takes no arguments, but got: {' '.join(arguments)}")
