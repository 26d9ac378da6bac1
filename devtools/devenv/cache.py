"""The cache folder: each tool under its name and under a key made of everything that defines it.

A changed lock or version is another key, so only that tool is built again; keys that nobody has used for a week go when
another of their name is finished. A tool is built beside its place and renamed into it, so what is there is whole. A
file lock makes two ./dev at once wait for one another; the kernel drops it with its holder, so nothing stale can block.
"""

import fcntl
import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from devenv.progress import say

KEPT_UNUSED_SECONDS = 7 * 24 * 3600.0


def key_of(*parts: str | Path) -> str:
    """A short hash of texts and of files' contents."""
    digest = hashlib.sha256()
    for part in parts:
        content = part.read_bytes() if isinstance(part, Path) else part.encode()
        digest.update(len(content).to_bytes(8, "big"))
        digest.update(content)
    return digest.hexdigest()[:16]


class Cache:
    """Finished installs in `<folder>/<name>/<key>`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def log(self, name: str) -> Path:
        """Where the output of building a tool goes."""
        path = self.folder / "log" / f"{name}.log"
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def find(self, name: str, key: str) -> Path | None:
        place = self.folder / name / key
        return place if _note_use(place) else None

    def ensure(self, name: str, key: str, build: Callable[[Path], None]) -> Path:
        """The finished install; `build` fills an empty folder with it when it isn't there yet."""
        place = self.folder / name / key
        if _note_use(place):
            return place
        with self.locked(name):
            if _note_use(place):
                return place
            unfinished = self.folder / name / f".unfinished-{key}"
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir(parents=True)
            build(unfinished)
            unfinished.rename(place)
            _note_use(place)
            self._forget_unused(name)
        return place

    def _forget_unused(self, name: str) -> None:
        """Removes what nobody has used; called under the lock of that name."""
        oldest = time.time() - KEPT_UNUSED_SECONDS
        for place in (self.folder / name).iterdir():
            if place.is_dir() and place.stat().st_mtime < oldest:
                shutil.rmtree(place, ignore_errors=True)

    @contextmanager
    def in_use(self, name: str) -> Iterator[None]:
        """Holds off `when_unused`; several may hold it off at once."""
        with self._lock_file(name) as file:
            fcntl.flock(file, fcntl.LOCK_SH)
            yield

    def when_unused(self, name: str, work: Callable[[], None]) -> None:
        """Does the work unless somebody has that name in use, and keeps others from using it meanwhile."""
        with self._lock_file(name) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return
            work()

    def _lock_file(self, name: str) -> IO[str]:
        path = self.folder / "lock" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("a")

    @contextmanager
    def locked(self, name: str) -> Iterator[None]:
        """Holds the lock of that name, and says so when another ./dev has it."""
        with self._lock_file(name) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                say(f"    waiting: another step or another ./dev is busy with {name}")
                fcntl.flock(file, fcntl.LOCK_EX)
            yield


def _note_use(place: Path) -> bool:
    """Whether it is there; if so, it counts as used now."""
    try:
        os.utime(place)
    except FileNotFoundError:
        return False
    except PermissionError:  # somebody else's cache
        return place.is_dir()
    return True
