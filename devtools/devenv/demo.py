"""`./dev demo`: sets everything up, starts a stack of its own, and hands over to the demo in the project's environment."""

import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from devenv.cache import Cache
from devenv.environment import Prepared
from devenv.stack import Stack
from devenv.toolchain import ensure_stack_tools


def demo(cache: Cache, arguments: Sequence[str]) -> int:
    """The demo's own exit code. With --context it works on that cluster, and only Redis is started here."""
    environment = Prepared(cache, ["spark", "stack"]).variables("spark", "stack")
    tools = ensure_stack_tools(cache)
    command = [environment_python(environment), "-m", "demo", "--redis-server", str(tools.redis_server)]
    foreign = any(argument.split("=")[0] in {"--context", "--help", "-h"} for argument in arguments)
    if foreign:
        return subprocess.run([*command, *arguments], env=environment, check=False).returncode
    with (
        tempfile.TemporaryDirectory(prefix="sluice-demo-stack-") as folder,
        Stack(Path(folder), tools) as stack,
    ):
        own = ["--kubeconfig", str(stack.kubeconfig), "--redis-url", stack.redis_url]
        return subprocess.run([*command, *own, *arguments], env=environment, check=False).returncode


def environment_python(environment: dict[str, str]) -> str:
    return str(Path(environment["VIRTUAL_ENV"]) / "bin" / "python")
