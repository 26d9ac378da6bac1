"""A program's own image may lack what Sluice would look with: then it says what isn't known, and the program runs as it would."""

from __future__ import annotations

from pathlib import Path

from integration.runner import program_of_one_write
from integration.runner.jobs import DELTA_SETTINGS, Document, location, spark_jars
from integration.runner.programs import program, submit_program
from sluice.engines.result import parse
from sluice_runner.declared import NO_JAR


def run_there(folder: Path, table: Path, kind: str, settings: dict[str, str]) -> tuple[Document, str, str]:
    """The result, its text, and what the driver said."""
    file = Path(program_of_one_write.__file__)
    driver = submit_program(folder, file, [str(table), kind], program(1, table), settings)
    stdout, _ = driver.process.communicate(timeout=500)
    assert driver.process.returncode == 0, (folder / "stderr").read_text()
    return driver.result(), driver.termination_log.read_text(), stdout


def test_without_our_jar_commits_are_reported_and_the_footprint_is_left_to_the_operator(
    tmp_path: Path,
) -> None:
    table = tmp_path / "orders"
    settings = {name: value for name, value in DELTA_SETTINGS.items() if "logStore" not in name}
    deltas = [jar for jar in spark_jars().split(",") if "sluice-logstore" not in jar]
    settings["spark.driver.extraClassPath"] = ":".join(deltas)
    result, _, stdout = run_there(tmp_path, table, "delta", settings)
    assert result["outcome"] == "Succeeded"
    [statement] = result["statements"]
    assert [(commit["table"], commit["version"]) for commit in statement["commits"]] == [(location(table), 0)]
    assert result["footprint"] == {"strayed": [], "unlooked": f"statement 1: {NO_JAR}"}
    assert f"sluice: not known: whether commits keep to the footprint can't be looked at: {NO_JAR}" in stdout


def test_without_delta_nothing_is_said_of_commits(tmp_path: Path) -> None:
    result, text, stdout = run_there(tmp_path, tmp_path / "orders", "parquet", {})
    assert result["outcome"] == "Succeeded"
    [statement] = result["statements"]
    assert "commits" not in statement
    assert "sluice: not known: what is committed can't be looked up" in stdout
    read = parse(text)
    assert read is not None
    assert (read.commits_left_out, read.has_kept_to_footprint) == (True, None)
