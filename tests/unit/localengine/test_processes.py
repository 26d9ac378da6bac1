"""Real processes: what the engine may conclude about a driver from its folder and the kernel."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from localengine import supervisor
from localengine.membership import MARKER, end_all, members
from localengine.processes import KEPT_FOLDERS, Drivers, Facts, Life


@pytest.fixture
def uid() -> str:
    return str(uuid.uuid4())


@pytest.fixture
async def drivers(tmp_path: Path) -> AsyncIterator[Drivers]:
    drivers = Drivers(tmp_path / "drivers")
    yield drivers
    for known in drivers.known():
        end_all(known)
        for _ in range(2400):
            if drivers.facts(known).life is not Life.RUNNING:
                break
            await asyncio.sleep(0.05)
    for started in drivers._supervisors:
        started.wait(120)


async def start(drivers: Drivers, uid: str, program: str) -> None:
    await drivers.start(uid, [sys.executable, "-c", program], {"PATH": os.environ["PATH"]})


async def eventually(condition: Callable[[], object]) -> None:
    for _ in range(6000):
        if condition():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it didn't come to pass within 120 s")


async def until(drivers: Drivers, uid: str, life: Life) -> Facts:
    for _ in range(2400):
        if (facts := drivers.facts(uid)).life is life:
            return facts
        await asyncio.sleep(0.05)
    raise AssertionError(f"{drivers.facts(uid)} and not {life}")


async def test_an_exit_code_is_kept(drivers: Drivers, uid: str) -> None:
    assert drivers.facts(uid).life is Life.UNBORN
    await start(drivers, uid, "import sys; print('out'); sys.exit(7)")
    facts = await until(drivers, uid, Life.EXITED)
    assert facts.exit_code == 7
    assert (drivers.folder(uid) / supervisor.LOG).read_text() == "out\n"
    assert not (drivers.folder(uid) / supervisor.LAUNCH).exists(), "the environment's secrets stay on disk"


async def test_a_program_that_does_not_exist_ends_with_127_and_says_so(drivers: Drivers, uid: str) -> None:
    await drivers.start(uid, ["/no/such/program"], {})
    assert (await until(drivers, uid, Life.EXITED)).exit_code == 127
    assert "can't start /no/such/program" in (drivers.folder(uid) / supervisor.LOG).read_text()


@pytest.mark.parametrize(("ends", "code"), [("terminate", 143), ("kill", 137)])
async def test_a_driver_is_ended_with_all_that_it_started(
    drivers: Drivers, uid: str, ends: str, code: int
) -> None:
    child = "import subprocess,sys,time; subprocess.Popen(['sleep','600'], start_new_session=True); time.sleep(600)"
    await start(drivers, uid, child)
    await eventually(lambda: len(members(uid)) == 2)
    getattr(drivers, ends)(uid)
    facts = await until(drivers, uid, Life.EXITED)
    assert facts.exit_code == code
    assert members(uid) == []


async def test_a_second_start_does_nothing(drivers: Drivers, uid: str, tmp_path: Path) -> None:
    count = f"open({str(tmp_path / 'count')!r}, 'a').write('x'); import time; time.sleep(600)"
    await start(drivers, uid, count)
    await start(drivers, uid, count)
    await until(drivers, uid, Life.RUNNING)
    await eventually(lambda: (tmp_path / "count").exists() and (tmp_path / "count").read_text() != "")
    drivers.kill(uid)
    await until(drivers, uid, Life.EXITED)
    assert (tmp_path / "count").read_text() == "x"


def test_of_many_supervisors_at_once_one_starts_the_driver(
    drivers: Drivers, uid: str, tmp_path: Path
) -> None:
    folder = drivers.folder(uid)
    folder.mkdir()
    count = tmp_path / "count"
    program = [sys.executable, "-c", f"open({str(count)!r}, 'a').write('x')"]
    launch = {"command": program, "environment": {MARKER: uid}, "folder": str(folder)}
    (folder / supervisor.LAUNCH).write_text(json.dumps(launch))
    devtools = Path(supervisor.__file__).parents[1]
    racers = [
        subprocess.Popen([sys.executable, "-m", "localengine.supervisor", str(folder)], cwd=devtools)
        for _ in range(6)
    ]
    assert [racer.wait(30) for racer in racers] == [0] * 6
    assert count.read_text() == "x"


async def test_a_sealed_driver_is_never_started(drivers: Drivers, uid: str, tmp_path: Path) -> None:
    drivers.seal(uid)
    await start(drivers, uid, f"open({str(tmp_path / 'count')!r}, 'a')")
    for process in drivers._supervisors:
        process.wait(60)
    assert drivers.facts(uid).life is Life.SEALED
    assert not (tmp_path / "count").exists()


async def test_a_driver_without_its_supervisor_runs_until_it_is_dead(drivers: Drivers, uid: str) -> None:
    await start(drivers, uid, "import time; time.sleep(600)")
    await eventually(lambda: members(uid))
    [process] = drivers._supervisors
    process.kill()
    process.wait(60)
    assert drivers.facts(uid).life is Life.RUNNING
    drivers.terminate(uid)
    assert (await until(drivers, uid, Life.LOST)).exit_code is None


async def test_a_supervisor_cannot_be_asked_to_leave(drivers: Drivers, uid: str, tmp_path: Path) -> None:
    asked_all = tmp_path / "asked-all"
    await start(
        drivers, uid, f"import os, time\nwhile not os.path.exists({str(asked_all)!r}): time.sleep(0.05)"
    )
    [process] = drivers._supervisors
    await eventually(lambda: members(uid))
    for asked in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        process.send_signal(asked)
    asked_all.touch()
    assert (await until(drivers, uid, Life.EXITED)).exit_code == 0


async def test_only_folders_that_nobody_needs_are_forgotten(drivers: Drivers) -> None:
    names = [f"d-{number:03}" for number in range(KEPT_FOLDERS + 3)]
    for number, name in enumerate(names):
        drivers.seal(name)
        moment = time.time() - 1000 + number
        os.utime(drivers.folder(name), (moment, moment))
    drivers.forget_oldest(needed={"d-000"})
    assert set(names) - set(drivers.known()) == {"d-001", "d-002"}
