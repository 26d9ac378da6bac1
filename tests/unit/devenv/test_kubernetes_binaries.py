"""Go's sources and objects stay while something is left to compile, and go with the last of it."""

from pathlib import Path

import pytest

from devenv import kubernetes_binaries
from devenv.cache import Cache
from devenv.golang import caches_in, environment
from devenv.kubernetes_binaries import Build, ensure

BUILDS = (Build("first", "etcd", ("example.org/first",)), Build("second", "etcd", ("example.org/second",)))


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
