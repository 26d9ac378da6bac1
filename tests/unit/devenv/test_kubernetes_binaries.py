"""Go's sources and objects stay while something is left to compile, and a file of tests is left out of the API server."""

from pathlib import Path

import pytest

from devenv import kubernetes_binaries
from devenv.cache import Cache
from devenv.errors import DevError
from devenv.golang import caches_in, environment
from devenv.kubernetes_binaries import APISERVER, MODULES, Build, copy_without, ensure, pinned

BUILDS = (Build("first", "helm", ("example.org/first",)), Build("second", "helm", ("example.org/second",)))


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cache:
    """Compiling leaves what Go leaves."""

    def compiles(cache: Cache, build: Build, folder: Path) -> None:
        caches_in(cache).mkdir(exist_ok=True)
        (caches_in(cache) / build.name).touch()
        (folder / build.name).touch()

    monkeypatch.setattr(kubernetes_binaries, "_compile", compiles)
    monkeypatch.setattr(kubernetes_binaries, "useful_here", lambda: BUILDS)
    return Cache(tmp_path)


def test_go_keeps_everything_in_the_cache_folder(cache: Cache) -> None:
    variables = environment(cache)
    places = [Path(variables[name]) for name in ("GOPATH", "GOMODCACHE", "GOCACHE")]
    assert all(place.is_relative_to(caches_in(cache)) for place in places)


def test_its_caches_go_when_everything_is_compiled(cache: Cache) -> None:
    ensure(cache, BUILDS[0])
    assert caches_in(cache).exists()
    ensure(cache, BUILDS[1])
    assert not caches_in(cache).exists()


def test_its_caches_stay_while_another_compiles(cache: Cache) -> None:
    with cache.in_use("go"):
        for build in BUILDS:
            ensure(cache, build)
    assert caches_in(cache).exists()


def test_the_api_server_tells_the_version_that_is_pinned() -> None:
    version = pinned("k8s.io/kubernetes", MODULES / "kubernetes")
    assert f"gitVersion={version}" in APISERVER.linked
    assert f"gitMinor={version.split('.')[1]}" in APISERVER.linked
    with pytest.raises(DevError, match=r"names no version of k8s\.io/nothing"):
        pinned("k8s.io/nothing", MODULES / "kubernetes")


def test_a_program_of_ours_is_compiled_again_when_its_code_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kubernetes_binaries, "MODULES", tmp_path)
    build = Build("ours", "module", (".",))
    code = tmp_path / "module" / "main.go"
    code.parent.mkdir()
    code.write_text("package main")
    before = build.key()
    code.write_text("package main\n\nfunc main() {}")
    assert build.key() != before


@pytest.fixture
def module(tmp_path: Path) -> Path:
    folder = tmp_path / "module"
    folder.mkdir()
    (folder / "go.mod").write_text(
        "module m\n\nreplace (\n\texample.org/a => example.org/a v1.2.3\n\texample.org/ab => example.org/ab v1.2.3\n)\n"
    )
    (folder / "go.sum").write_text("example.org/a v1.2.3 h1:x\n")
    return folder


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    folder = tmp_path / "sources"
    (folder / "p").mkdir(parents=True)
    for name in ("kept.go", "helper.go"):
        (folder / "p" / name).write_text("package p\n")
    return folder


def test_a_module_is_read_from_a_copy_without_the_file(tmp_path: Path, module: Path, sources: Path) -> None:
    folder = tmp_path / "with a space" / "copy"
    copy_without("p/helper.go", "example.org/a", sources, module, folder)
    assert [file.name for file in (folder / "sources" / "p").iterdir()] == ["kept.go"]
    assert (sources / "p" / "helper.go").exists()
    read = (folder / "go.mod").read_text()
    assert f'\texample.org/a => "{folder}/sources"\n' in read
    assert "\texample.org/ab => example.org/ab v1.2.3\n" in read
    assert (folder / "go.sum").read_text() == (module / "go.sum").read_text()


def test_a_module_that_is_not_replaced_is_an_error(tmp_path: Path, module: Path, sources: Path) -> None:
    with pytest.raises(DevError, match=r"does not replace example\.org/b"):
        copy_without("p/helper.go", "example.org/b", sources, module, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
