"""A tool in the cache is whole, and is built again exactly when what defines it changes."""

import os
import threading
import time
from pathlib import Path

import pytest

from devenv import toolchain
from devenv.cache import Cache, key_of
from devenv.errors import DevError


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path)


def test_a_key_changes_with_a_files_content_and_not_with_its_name(tmp_path: Path) -> None:
    first, second = tmp_path / "a.txt", tmp_path / "b.txt"
    first.write_text("uv==1")
    second.write_text("uv==1")
    assert key_of(first, "v1") == key_of(second, "v1")
    second.write_text("uv==2")
    assert key_of(first, "v1") != key_of(second, "v1")


def test_parts_of_a_key_do_not_run_into_each_other() -> None:
    assert key_of("ab", "c") != key_of("a", "bc")


def test_what_is_installed_is_not_built_again(cache: Cache) -> None:
    builds: list[Path] = []
    places = [cache.ensure("tool", "key", builds.append) for _ in range(2)]
    assert len(builds) == 1
    assert places[0] == places[1] == cache.find("tool", "key")


def test_another_key_is_built_beside_the_old_one(cache: Cache) -> None:
    old = cache.ensure("tool", "old", lambda folder: (folder / "program").touch())
    new = cache.ensure("tool", "new", lambda folder: (folder / "program").touch())
    assert old != new
    assert (old / "program").exists()


def test_a_half_finished_install_is_not_taken_for_a_finished_one(cache: Cache) -> None:
    def breaks(folder: Path) -> None:
        (folder / "half").touch()
        raise RuntimeError("the network went away")

    with pytest.raises(RuntimeError):
        cache.ensure("tool", "key", breaks)
    assert cache.find("tool", "key") is None
    place = cache.ensure("tool", "key", lambda folder: (folder / "whole").touch())
    assert [file.name for file in place.iterdir()] == ["whole"]


def test_two_at_once_build_once(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    builds: list[Path] = []
    said: list[str] = []
    other_waits = threading.Event()

    def say(text: str) -> None:
        said.append(text)
        other_waits.set()

    def slow(folder: Path) -> None:
        builds.append(folder)
        assert other_waits.wait(30)

    monkeypatch.setattr("devenv.cache.say", say)

    threads = [threading.Thread(target=cache.ensure, args=("tool", "key", slow)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(builds) == 1
    assert "busy with tool" in said[0]


def installed(cache: Cache, key: str, unused_days: float = 0.0) -> Path:
    place = cache.ensure("tool", key, lambda folder: (folder / "program").touch())
    last = time.time() - unused_days * 24 * 3600
    os.utime(place, (last, last))
    return place


def test_what_nobody_has_used_for_a_week_goes_when_another_is_finished(cache: Cache) -> None:
    forgotten = installed(cache, "forgotten", unused_days=8)
    recent = installed(cache, "recent", unused_days=6)
    other = cache.ensure("other-tool", "key", lambda folder: (folder / "program").touch())
    os.utime(other, (0, 0))
    installed(cache, "new")
    assert not forgotten.exists()
    assert recent.exists()
    assert other.exists()


@pytest.mark.parametrize("use", ["find", "ensure"])
def test_what_is_used_stays(cache: Cache, use: str) -> None:
    used = installed(cache, "used", unused_days=8)
    if use == "find":
        cache.find("tool", "used")
    else:
        installed_again = cache.ensure("tool", "used", lambda _folder: pytest.fail("it was there"))
        assert installed_again == used
    installed(cache, "new")
    assert used.exists()


def test_what_is_in_use_is_left_alone_until_the_last_has_done_with_it(cache: Cache) -> None:
    done: list[str] = []
    with cache.in_use("sources"):
        with cache.in_use("sources"):
            cache.when_unused("sources", lambda: done.append("beside two"))
        cache.when_unused("sources", lambda: done.append("beside one"))
    cache.when_unused("sources", lambda: done.append("beside none"))
    assert done == ["beside none"]


@pytest.mark.parametrize("place", ["a file", "a file/below", "/proc/self/new"])
def test_a_folder_that_cannot_be_one_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    (tmp_path / "a file").touch()
    monkeypatch.setenv("SLUICE_CACHE", str(tmp_path / place))
    with pytest.raises(DevError, match="Name another one in SLUICE_CACHE"):
        toolchain.cache()


@pytest.mark.parametrize("name", ["SLUICE_CACHE", "XDG_CACHE_HOME"])
def test_a_relative_folder_is_one_of_the_shells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.delenv("SLUICE_CACHE", raising=False)
    monkeypatch.setenv(name, "my own")
    monkeypatch.chdir(tmp_path)
    store = toolchain.cache()
    assert store.folder.is_absolute()
    assert store.folder.is_relative_to(tmp_path / "my own")
