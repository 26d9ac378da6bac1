"""A tool in the cache is whole, and is built again exactly when what defines it changes."""

import threading
from pathlib import Path

import pytest

from devenv.cache import Cache, key_of


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
