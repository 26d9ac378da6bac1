"""Kubernetes, etcd, containerd, CoreDNS, Helm and an S3 server compiled from Go modules.

The go.mod and go.sum files under gomodules/ pin every module with its hash, so nothing is resolved at set-up.
"""

import json
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from devenv.cache import Cache, key_of
from devenv.errors import DevError
from devenv.golang import caches_in, ensure_go, environment
from devenv.processes import fetch, run
from devenv.progress import step

MODULES = Path(__file__).parent / "gomodules"
# Generated clients, and the code of the built-in kinds: a server of tests spends little time in it, and without inlining it
# compiles in two thirds of the time.
SELDOM_RUN = (
    "k8s.io/kubernetes/...",
    *(
        f"k8s.io/client-go/{part}/..."
        for part in ("applyconfigurations", "informers", "kubernetes", "listers")
    ),
)
# Without what a debugger needs, programs compile in three quarters of the time.
COMPILED = (
    "-trimpath",
    "-buildvcs=false",
    "-gcflags=all=-dwarf=false",
    *(f"-gcflags={packages}=-dwarf=false -l" for packages in SELDOM_RUN),
)
LINKED = "-s -w"
# The compiler collects its garbage less often: a machine with memory for two of them has it for this.
COMPILER_GOGC = "400"
# Only Kubernetes' own tests use this file, yet the API server is compiled with it, and with sixty packages of fake clients that
# the file imports.
TEST_HELPER = ("k8s.io/apiserver", "pkg/admission/plugin/policy/generic/policy_test_context.go")


@dataclass(frozen=True)
class Build:
    """Programs of one pinned Go module that are compiled together."""

    name: str
    module: str
    packages: tuple[str, ...]
    tags: str = ""
    tells_version: str = ""
    """The Go package that is told the version of Kubernetes; without it a program says v0.0.0, which Helm takes for too old."""

    @property
    def linked(self) -> str:
        if not self.tells_version:
            return f"-ldflags={LINKED}"
        version = pinned("k8s.io/kubernetes", MODULES / self.module)
        major, minor, _ = version.removeprefix("v").split(".")
        told = {"gitVersion": version, "gitMajor": major, "gitMinor": minor}
        return f"-ldflags={LINKED} " + " ".join(
            f"-X {self.tells_version}.{name}={value}" for name, value in told.items()
        )

    def key(self) -> str:
        files = sorted((MODULES / self.module).iterdir())
        return key_of(*files, *self.packages, self.tags, *TEST_HELPER, *COMPILED, self.linked)


KUBE = "k8s.io/kubernetes/cmd"
CONTAINERD = "github.com/containerd/containerd/v2/cmd"

# In the API server's module: most of what etcd is made of is in the API server, too, and so is compiled once.
ETCD = Build("etcd", "kubernetes", ("go.etcd.io/etcd/server/v3",))
APISERVER = Build(
    "kube-apiserver",
    "kubernetes",
    (f"{KUBE}/kube-apiserver",),
    tells_version="k8s.io/component-base/version",
)
CONTROLLERS = Build("kube-controller-manager", "kubernetes", (f"{KUBE}/kube-controller-manager",))
KUBECTL = Build("kubectl", "kubernetes", (f"{KUBE}/kubectl",))
NODE = Build("node", "kubernetes", (f"{KUBE}/kube-scheduler", f"{KUBE}/kubelet", f"{KUBE}/kube-proxy"))
CONTAINERS = Build(
    "containerd",
    "containerd",
    (f"{CONTAINERD}/containerd", f"{CONTAINERD}/containerd-shim-runc-v2", f"{CONTAINERD}/ctr"),
    tags="no_btrfs,no_zfs,no_devmapper",
)
# Its own program has some fifty plugins, with the clients of three clouds among them: main.go takes those that serve a cluster.
COREDNS = Build("coredns", "coredns", (".",))
HELM = Build("helm", "helm", ("helm.sh/helm/v3/cmd/helm",))
# A folder as an object store that speaks S3's protocol.
VERSITYGW = Build("versitygw", "versitygw", ("github.com/versity/versitygw/cmd/versitygw",))
STACK = (ETCD, APISERVER, CONTROLLERS, KUBECTL, HELM)
CLUSTER = (NODE, CONTAINERS, COREDNS)


def pinned(module: str, folder: Path) -> str:
    """The version of a module that a go.mod names."""
    for line in (folder / "go.mod").read_text(encoding="utf-8").splitlines():
        match line.removeprefix("require ").split():
            case [name, version, *_] if name == module:
                return version
    raise DevError(f"{folder / 'go.mod'} names no version of {module}.")


def find(cache: Cache, build: Build) -> Path | None:
    """The folder of the programs, if they have been compiled."""
    return cache.find(build.name, build.key())


def ensure(cache: Cache, build: Build) -> Path:
    """The folder of the programs, named as their packages are."""
    found = find(cache, build)
    if found is not None:
        return found
    place = cache.ensure(build.name, build.key(), lambda folder: _compile(cache, build, folder))
    if all(find(cache, other) is not None for other in useful_here()):
        cache.when_unused("go", lambda: shutil.rmtree(caches_in(cache), ignore_errors=True))
    return place


def useful_here() -> tuple[Build, ...]:
    """What this machine may ask for: only root makes clusters."""
    return (*STACK, VERSITYGW, *CLUSTER) if os.geteuid() == 0 else (*STACK, VERSITYGW)


def _compile(cache: Cache, build: Build, folder: Path) -> None:
    go = ensure_go(cache)
    module = MODULES / build.module
    log = cache.log(build.name)
    log.unlink(missing_ok=True)
    # A single program is named after its build; several are named by Go after their packages.
    target = f"{folder}/" if len(build.packages) > 1 else f"{folder}/{build.name}"
    with cache.in_use("go"), step(f"Compiling {build.name}"):
        options = [f"-tags={build.tags}", *_module_options(cache, build, go, log)]
        fetch(  # brings what the build needs, which `go build` would do, too, but not twice
            [go, "list", "-deps", *options, *build.packages],
            log,
            failure=f"The sources of {build.name} could not be fetched: check the network and try again.",
            environment=environment(cache),
            folder=module,
        )
        run(
            [go, "build", *COMPILED, build.linked, *options, "-o", target, *build.packages],
            log,
            failure=f"Compiling {build.name} failed: check the network and the free space, then try again.",
            environment={**environment(cache), "GOGC": COMPILER_GOGC},
            folder=module,
        )


def _module_options(cache: Cache, build: Build, go: Path, log: Path) -> list[str]:
    """Makes Go read the module of the test helper from a copy without the helper."""
    name, helper = TEST_HELPER
    module = MODULES / build.module
    if module.name != "kubernetes":
        return []
    folder = (
        caches_in(cache) / "without-test-helper" / key_of(module / "go.mod", module / "go.sum", *TEST_HELPER)
    )
    with cache.locked("go-modules"):
        if not folder.exists():
            fetch(
                [go, "mod", "download", name],
                log,
                failure=f"The sources of {name} could not be fetched: check the network and try again.",
                environment=environment(cache),
                folder=module,
            )
            copy_without(
                helper, name, caches_in(cache) / "mod" / f"{name}@{pinned(name, module)}", module, folder
            )
    return [f"-modfile={folder / 'go.mod'}"]


def copy_without(file: str, name: str, sources: Path, module: Path, folder: Path) -> None:
    """Fills a folder with a module's sources but for one file, and with a go.mod and go.sum that read the module from there."""
    unfinished = folder.with_suffix(".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    shutil.copytree(sources, unfinished / "sources")
    (unfinished / "sources" / file).unlink()
    shutil.copy(module / "go.sum", unfinished)
    given = (module / "go.mod").read_text(encoding="utf-8")
    replaced, count = re.subn(
        rf"(?m)^(\s*{re.escape(name)} =>) .*$", rf"\1 {json.dumps(str(folder / 'sources'))}", given
    )
    if count != 1:
        raise DevError(f"{module / 'go.mod'} does not replace {name}.")
    (unfinished / "go.mod").write_text(replaced, encoding="utf-8")
    unfinished.rename(folder)
