"""A measurement as a command: it leaves nothing running, and its exit code tells whether all of it could be measured."""

import json
import signal
import sys
from collections.abc import Callable

from bench.admission.figures import Measured

from devenv.errors import DevError
from devenv.processes import adopt_orphans
from devenv.temporary import own_temporary_folder


def command(
    measure: Callable[[], list[Measured]],
    *,
    as_json: bool,
    told: Callable[[list[Measured]], str] = lambda _: "",
) -> int:
    """`told`: what is said of it all at the end, where it isn't to be JSON."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    adopt_orphans()
    try:
        with own_temporary_folder():
            found = measure()
    except DevError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("interrupted: everything that was started has been ended\n")
        return 130
    sys.stdout.write(
        json.dumps([one.as_json() for one in found], indent=2) + "\n" if as_json else told(found)
    )
    return 0 if all(one.is_whole for one in found) else 1
