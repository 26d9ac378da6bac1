"""An answer reaches whoever asked, whatever the encoding of the pipe; where it can't be written, no code of a verdict says so."""

import io
import json
import os
import subprocess
import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from integration.waiting import PATIENCE
from sluice.cli.main import app
from unit.cli.folders import FORKED_COMMANDS, job, sluice, write

OPERATOR = Path(__file__).parents[3] / "operator"
CITY = "Köln \U0001f600"


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    write(tmp_path, a=job("a", f"DELETE FROM delta.`s3://lake/{CITY}`"))
    return tmp_path / "a.yaml"


def _written(encoding: str, *arguments: object) -> str:
    """What a pipe of this encoding gets."""
    pipe = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    with redirect_stdout(pipe), pytest.raises(SystemExit) as ended:
        app([str(argument) for argument in arguments])
    assert ended.value.code == 0
    pipe.flush()
    return pipe.buffer.getvalue().decode(encoding)


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_json_is_the_same_in_every_encoding(manifest: Path, encoding: str) -> None:
    told = json.loads(_written(encoding, "footprint", manifest, "-o", "json"))
    assert told["tables"][0]["table"] == f"s3://lake/{CITY}"


@pytest.mark.parametrize(
    ("encoding", "shown"),
    [
        ("ascii", r"K\u00f6ln \ud83d\ude00"),
        ("cp1252", r"Köln \ud83d\ude00"),
        ("utf-8", CITY),
    ],
)
def test_what_an_encoding_does_not_have_is_escaped(manifest: Path, encoding: str, shown: str) -> None:
    assert f"s3://lake/{shown}" in _written(encoding, "footprint", manifest)


def test_what_is_read_is_utf_8(manifest: Path) -> None:
    sql = {"sql": f"DELETE FROM delta.`s3://lake/{CITY}` WHERE id = 1"}
    line = json.dumps({"table": {}, "first": sql, "second": sql}, ensure_ascii=False)
    done = subprocess.run(
        [sys.executable, "-m", "sluice.cli.main", "explain", "--batch"],
        cwd=OPERATOR,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        input=line.encode(),
        capture_output=True,
        check=True,
    )
    answer = json.loads(done.stdout.decode("ascii"))
    assert f"s3://lake/{CITY}" in json.dumps(answer, ensure_ascii=False)


@pytest.mark.parametrize("more", [(), ("-o", "json")])
def test_a_full_disk_is_told_and_is_no_verdict(manifest: Path, more: tuple[str, ...]) -> None:
    with Path("/dev/full").open("wb") as full, tempfile.TemporaryFile() as stderr:
        process = FORKED_COMMANDS.start(
            ["sluice", "plan", str(manifest), *more], os.environ, stdout=full, stderr=stderr
        )
        assert process.wait(PATIENCE) == 74
        stderr.seek(0)
        said = stderr.read().decode()
    assert said.startswith("the answer could not be written: No space left on device")
    assert len(said.splitlines()) == 1


def test_a_value_that_is_no_choice_is_told_in_our_words(manifest: Path) -> None:
    result = sluice("plan", manifest, "-o", "jsn")
    assert result.exit_code == 2
    assert "Value error" not in result.stderr
    assert "'jsn' is not one of 'text', 'json', 'mermaid'" in result.stderr
