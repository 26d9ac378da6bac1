"""An answer reaches whoever asked, whatever the encoding of the pipe; where it can't be written, no code of a verdict says so."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from unit.cli.folders import job, sluice, write

OPERATOR = Path(__file__).parents[3] / "operator"
COMMAND = [sys.executable, "-m", "sluice.cli.main"]
CITY = "Köln \U0001f600"


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    write(tmp_path, a=job("a", f"DELETE FROM delta.`s3://lake/{CITY}`"))
    return tmp_path / "a.yaml"


def _run(encoding: str, *arguments: object, stdin: bytes = b"") -> str:
    done = subprocess.run(
        [*COMMAND, *map(str, arguments)],
        cwd=OPERATOR,
        env={**os.environ, "PYTHONIOENCODING": encoding},
        input=stdin,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.decode(encoding)


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_json_is_the_same_in_every_encoding(manifest: Path, encoding: str) -> None:
    told = json.loads(_run(encoding, "footprint", manifest, "-o", "json"))
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
    assert f"s3://lake/{shown}" in _run(encoding, "footprint", manifest)


def test_what_is_read_is_utf_8(manifest: Path) -> None:
    sql = {"sql": f"DELETE FROM delta.`s3://lake/{CITY}` WHERE id = 1"}
    line = json.dumps({"table": {}, "first": sql, "second": sql}, ensure_ascii=False)
    answer = json.loads(_run("ascii", "explain", "--batch", stdin=line.encode()))
    assert f"s3://lake/{CITY}" in json.dumps(answer, ensure_ascii=False)


@pytest.mark.parametrize("more", [(), ("-o", "json")])
def test_a_full_disk_is_told_and_is_no_verdict(manifest: Path, more: tuple[str, ...]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*COMMAND, "plan", manifest, *more],
            cwd=OPERATOR,
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 74
    said = done.stderr.decode()
    assert said.startswith("the answer could not be written: No space left on device")
    assert len(said.splitlines()) == 1


def test_a_value_that_is_no_choice_is_told_in_our_words(manifest: Path) -> None:
    result = sluice("plan", manifest, "-o", "jsn")
    assert result.exit_code == 2
    assert "Value error" not in result.stderr
    assert "'jsn' is not one of 'text', 'json', 'mermaid'" in result.stderr
