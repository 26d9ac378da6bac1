"""The cache folder: each tool under its name and under a key made of everything that defines it.

A changed lock or version is another key, so only that tool is built again. A tool is built beside its place and
renamed into it, so what is there is whole. A file lock makes two ./dev at once wait for one another; the kernel
drops it with its holder, so nothing stale can block.
"""

import fcntl
import hashlib
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from devenv.progress import say


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
        return place if place.is_dir() else None

    def ensure(self, name: str, key: str, build: Callable[[Path], None]) -> Path:
        """The finished install; `build` fills an empty folder with it when it isn't there yet."""
        place = self.folder / name / key
        if place.is_dir():
            return place
        with self.locked(name):
            if place.is_dir():
                return place
            unfinished = self.folder / name / f".unfinished-{key}"
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir(parents=True)
            build(unfinished)
            unfinished.rename(place)
        return place

    @contextmanager
    def locked(self, name: str) -> Iterator[None]:
        """Holds the lock of that name, and says so when another ./dev has it."""
        path = self.folder / "lock" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                say(f"    waiting: another step or another ./dev is busy with {name}")
                fcntl.flock(file, fcntl.LOCK_EX)
            yield
