"""`./dev demo`: sets everything up, starts a stack of its own, and hands over to the demo in the project's environment."""

import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from devenv.cache import Cache
from devenv.environment import Prepared
from devenv.stack import ControlPlane, ControlPlaneTools, Stack
from devenv.toolchain import ensure_control_plane_tools, ensure_stack_tools

# Whoever looks around, or works on another cluster, needs kubectl; looking around includes deleting, which needs controllers.
WITH_KUBECTL = frozenset({"--keep", "--context"})
WITHOUT_A_STACK = frozenset({"--context", "--help", "-h"})


def demo(cache: Cache, arguments: Sequence[str]) -> int:
    """Runs the demo and returns its exit code. With --context it works on that cluster, and only Redis is started here."""
    options = {argument.split("=")[0] for argument in arguments}
    whole = bool(options & WITH_KUBECTL)
    needs = ("spark", "stack" if whole else "control-plane")
    environment = Prepared(cache, needs).variables(*needs)
    tools = ensure_control_plane_tools(cache)
    command = [environment_python(environment), "-m", "demo", "--redis-server", str(tools.redis_server)]
    if options & WITHOUT_A_STACK:
        return subprocess.run([*command, *arguments], env=environment, check=False).returncode
    with (
        tempfile.TemporaryDirectory(prefix="sluice-demo-stack-") as folder,
        _stack(cache, Path(folder), tools, whole) as stack,
    ):
        own = ["--kubeconfig", str(stack.kubeconfig), "--redis-url", stack.redis_url]
        return subprocess.run([*command, *own, *arguments], env=environment, check=False).returncode


def environment_python(environment: dict[str, str]) -> str:
    return str(Path(environment["VIRTUAL_ENV"]) / "bin" / "python")


def _stack(cache: Cache, folder: Path, tools: ControlPlaneTools, whole: bool) -> ControlPlane:
    return Stack(folder, ensure_stack_tools(cache)) if whole else ControlPlane(folder, tools)
