"""What ./dev writes for a while lies in one folder, which goes at the end."""

import fcntl
import os
import tempfile
from pathlib import Path

import pytest

from devenv import temporary
from devenv.temporary import OUTER, outside, own_temporary_folder

LONGEST_BELOW = "pytest-of-somebody/pytest-100/popen-gw3/cluster0/containerd.sock"


@pytest.fixture(autouse=True)
def outer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def test_the_folder_goes_with_what_is_in_it(outer: Path) -> None:
    with own_temporary_folder() as folder:
        assert tempfile.gettempdir() == os.environ["TMPDIR"] == str(folder)
        (Path(tempfile.mkdtemp()) / "left").touch()
    assert list(outer.iterdir()) == []
    assert tempfile.gettempdir() == os.environ["TMPDIR"] == str(outer)


def test_what_goes_on_is_told_the_outer_folder(outer: Path) -> None:
    with own_temporary_folder():
        variables = outside(os.environ)
    assert variables["TMPDIR"] == str(outer)
    assert OUTER not in variables


def test_an_error_ends_what_may_still_write_before_the_folder_goes(
    outer: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left: list[list[str]] = []
    monkeypatch.setattr(
        temporary, "stop_everything", lambda: left.append([folder.name for folder in outer.iterdir()])
    )
    with pytest.raises(KeyboardInterrupt), own_temporary_folder() as folder:
        raise KeyboardInterrupt
    assert left == [[folder.name]]
    assert list(outer.iterdir()) == []


def test_the_folder_of_a_killed_dev_goes_and_that_of_a_running_one_stays(outer: Path) -> None:
    left, used, others = (outer / f"{temporary.PREFIX}{name}" for name in ("left", "used", "others"))
    for folder in (left, used):
        folder.mkdir()
        (folder / "file").touch()
        os.utime(folder, (0, 0))
    others.symlink_to(used)
    lock = os.open(used, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    with own_temporary_folder() as own:
        assert set(outer.iterdir()) == {used, others, own}
    os.close(lock)


def test_sockets_of_a_cluster_fit_below_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", "/tmp")  # noqa: S108 - its length is what counts
    monkeypatch.setattr(tempfile, "tempdir", None)
    with own_temporary_folder() as folder:
        assert len(os.fsencode(folder / LONGEST_BELOW)) < 108
