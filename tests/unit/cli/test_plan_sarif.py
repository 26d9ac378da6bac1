"""What a pull request is told of a plan: SARIF 2.1.0 with all that code scanning asks for."""

import json
from pathlib import Path
from typing import Any

import pytest

from sluice.conflicts.rule_ids import RULE_IDS, SAYS
from unit.cli.folders import FACTS, ORDERS, PINNED_DELETE, UNPINNED_MERGE, job, policy, sluice, write

MERGE = (
    "apiVersion: sluice.dev/v1alpha1\nkind: DeltaWriteJob\nmetadata:\n  name: merge\nspec:\n  sql: |\n"
    + "".join(f"    {line}\n" for line in UNPINNED_MERGE.splitlines())
)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of which the command is run in a folder below."""
    (tmp_path / ".git").mkdir()
    jobs = tmp_path / "all my jobs"
    jobs.mkdir()
    write(jobs, facts=json.dumps(FACTS), a=job("a", PINNED_DELETE), b=job("b", PINNED_DELETE))
    (jobs / "merge.yaml").write_text(
        f"{policy('p', table={'path': 's3://lake/p'})}\n---\n{MERGE}", encoding="utf-8"
    )
    monkeypatch.chdir(jobs)
    return jobs


def run_of(*given: object) -> dict[str, Any]:
    found = json.loads(sluice("plan", *given, "-o", "sarif").stdout)
    assert found["version"] == "2.1.0"
    assert found["$schema"].endswith("sarif-2.1.0.json")
    (run,) = found["runs"]
    assert_fit_for_code_scanning(run)
    return dict(run)


def assert_fit_for_code_scanning(run: dict[str, Any]) -> None:
    """By https://docs.github.com/en/code-security/code-scanning/integrating-with-code-scanning/sarif-support-for-code-scanning."""
    driver = run["tool"]["driver"]
    assert driver["name"] == "sluice"
    rules = [rule["id"] for rule in driver["rules"]]
    assert len(rules) == len(set(rules))
    for rule in driver["rules"]:
        assert all(rule[text]["text"] for text in ("shortDescription", "fullDescription", "help"))
        assert rule["defaultConfiguration"]["level"] in ("note", "warning", "error")
    fingerprints = [result["partialFingerprints"]["primaryLocationLineHash"] for result in run["results"]]
    assert len(fingerprints) == len(set(fingerprints))
    assert len(run["results"]) <= 25_000
    for result in run["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in ("note", "warning", "error")
        assert result["message"]["text"]
        (location,) = result["locations"]
        for one in (location, *result.get("relatedLocations", ())):
            physical = one["physicalLocation"]
            assert physical["artifactLocation"]["uri"]
            assert physical["region"]["startLine"] >= 1
    assert isinstance(run["invocations"][0]["executionSuccessful"], bool)


def told(run: dict[str, Any]) -> dict[str, tuple[str, str, int]]:
    """The rule, the level and the line of each result, by its file."""
    found = {}
    for result in run["results"]:
        physical = result["locations"][0]["physicalLocation"]
        place = physical["artifactLocation"]["uri"]
        found[place] = (result["ruleId"], result["level"], physical["region"]["startLine"])
    return found


def test_each_job_is_told_at_its_own_sql_whom_it_cannot_run_with(repository: Path) -> None:
    run = run_of(".")
    assert told(run)["all%20my%20jobs/merge.yaml"] == ("added-files", "warning", 8)
    (merge,) = [one for one in run["results"] if one["message"]["text"].startswith("merge ")]
    assert (
        "cannot run together with a and b on s3://lake/orders: one of them may abort (Concurrent"
        in merge["message"]["text"]
    )
    assert [one["message"]["text"] for one in merge["relatedLocations"]] == ["a", "b"]
    assert run["invocations"] == [{"executionSuccessful": True, "toolExecutionNotifications": []}]


def test_the_line_that_would_help_is_told_where_it_is_to_be_changed(repository: Path) -> None:
    merge = UNPINNED_MERGE.replace("t.id = s.id", "t.id = s.id AND t.date = s.date")
    write(repository, merge=job("merge", merge))
    (found,) = [one for one in run_of(".")["results"] if one["message"]["text"].startswith("merge ")]
    assert "What would help (the result stays the same:" in found["message"]["text"]
    assert "spec.sql, line 3: ON " in found["message"]["text"]


def test_a_finding_is_the_same_one_when_lines_move_and_others_come(repository: Path) -> None:
    before = run_of(".")["results"]
    text = (repository / "merge.yaml").read_text(encoding="utf-8")
    (repository / "merge.yaml").write_text("# a comment\n\n" + text, encoding="utf-8")
    write(repository, more=job("more", PINNED_DELETE))
    after = run_of(".")["results"]
    prints = [
        {one["partialFingerprints"]["primaryLocationLineHash"] for one in some} for some in (before, after)
    ]
    assert prints[0] < prints[1]
    assert len(prints[1]) == len(prints[0]) + 1


def test_what_cannot_be_used_is_told_at_its_line_or_beside_the_results(repository: Path) -> None:
    (repository / "half.yaml").write_text("kind: DeltaWriteJob\n  spec: [\n", encoding="utf-8")
    run = run_of(".", "nowhere")
    assert told(run)["all%20my%20jobs/half.yaml"] == ("unusable", "error", 2)
    assert run["results"][0]["ruleId"] == "unusable", "errors come first"
    (invocation,) = run["invocations"]
    assert not invocation["executionSuccessful"]
    (note,) = invocation["toolExecutionNotifications"]
    assert note["level"] == "error"
    assert "nowhere: there is no such file" in note["message"]["text"]


def test_a_field_that_cannot_be_used_is_told_at_its_own_line(repository: Path) -> None:
    typo = MERGE.replace("name: merge", "name: typo").replace("sql:", "sqll:")
    (repository / "typo.yaml").write_text(typo, encoding="utf-8")
    assert told(run_of("."))["all%20my%20jobs/typo.yaml"] == ("unusable", "error", 6)


def test_streams_that_keep_others_waiting_and_shared_checkpoints_are_errors(repository: Path) -> None:
    stream = {
        "source": {"format": "delta", "path": "s3://lake/raw"},
        "table": {"path": "s3://lake/orders"},
        "checkpoint": "s3://lake/checkpoint",
        "trigger": {"processingTime": "1 minute"},
        "yield": "Never",
    }
    for name in ("one", "two"):
        body = {"kind": "DeltaWriteJob", "metadata": {"name": name}, "spec": {"stream": stream}}
        write(repository, **{name: json.dumps({"apiVersion": "sluice.dev/v1alpha1", **body})})
    write(repository, alter=job("alter", f"ALTER TABLE {ORDERS} ADD COLUMNS (note STRING)"))
    levels = {one["ruleId"]: one["level"] for one in run_of(".")["results"]}
    assert levels["waits-for-ever"] == levels["one-checkpoint"] == "error"


def test_files_outside_of_the_repository_have_their_whole_address(
    repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    write(elsewhere, c=job("c", PINNED_DELETE))
    assert (elsewhere / "c.yaml").resolve().as_uri() in told(run_of(".", elsewhere))


def test_every_rule_has_words_for_those_who_read_of_it_in_a_pull_request() -> None:
    assert {rule for rule in RULE_IDS if not SAYS[rule].endswith(".")} == set()
