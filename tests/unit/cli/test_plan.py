"""`sluice plan`: every pair of a folder, and what is unusable named while the rest is planned."""

import json
from pathlib import Path
from typing import Any

import pytest

from sluice.offline import improvements
from sluice.offline.advice import Change, changes_of
from sluice.offline.jobs import Job
from unit.cli.folders import (
    FACTS,
    MERGE_BY_SOURCE,
    ORDERS,
    PINNED_DELETE,
    UNPINNED_MERGE,
    complaints,
    job,
    policy,
    sluice,
    write,
)

OTHER_DAY = f"DELETE FROM {ORDERS} WHERE date = DATE '2026-11-17' AND id = 1"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(
        tmp_path,
        facts=json.dumps(FACTS),
        a=job("a", PINNED_DELETE),
        b=job("b", OTHER_DAY),
        c=job("c", MERGE_BY_SOURCE),
    )
    return tmp_path


def planned(folder: Path, *more: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(sluice("plan", folder, "-o", "json", *more).stdout)
    return found


def test_every_pair_is_judged(folder: Path) -> None:
    found = planned(folder)
    assert found["pairs"] == 3
    assert [(c["first"], c["second"]) for c in found["conflicts"]] == [("a", "c"), ("b", "c")]
    assert found["runTogether"] == {"jobs": ["a", "b"], "atMost": 2, "exact": True}


def test_a_vacuum_waits_for_whoever_reads_its_table(tmp_path: Path) -> None:
    write(
        tmp_path,
        a=job("a", "INSERT INTO delta.`s3://lake/report` SELECT * FROM delta.`s3://lake/other`"),
        b=job("b", "VACUUM delta.`s3://lake/other` RETAIN 0 HOURS"),
        c=job("c", "INSERT INTO delta.`s3://lake/third` VALUES (1)"),
    )
    (found,) = planned(tmp_path)["conflicts"]
    assert (found["first"], found["second"], found["table"]) == ("a", "b", "s3://lake/other")


def test_who_may_change_the_columns_of_a_source_is_told_of_whoever_reads_it(tmp_path: Path) -> None:
    other = {**FACTS, "path": "s3://lake/other"}
    write(
        tmp_path,
        facts=json.dumps(FACTS),
        facts_of_other=json.dumps(other),
        a=job(
            "a", f"INSERT INTO {ORDERS} SELECT * FROM delta.`s3://lake/other` WHERE date = DATE '2026-11-19'"
        ),
        b=job("b", "ALTER TABLE delta.`s3://lake/other` ADD COLUMNS (more INT)"),
    )
    (found,) = planned(tmp_path)["conflicts"]
    assert (found["first"], found["second"], found["table"]) == ("a", "b", "s3://lake/other")


def test_advice_says_how_many_pairs_it_frees_the_most_first(folder: Path) -> None:
    write(folder, d=job("d", UNPINNED_MERGE.replace("18", "16")))
    advice = [one for one in planned(folder)["advice"] if one["change"]]
    assert [one["pairs"] for one in advice] == sorted((one["pairs"] for one in advice), reverse=True)
    assert advice[0]["change"]["job"] in ("c", "d")
    assert advice[0]["pairs"] == 2


def test_the_advised_line_frees_as_many_pairs_as_it_says(folder: Path) -> None:
    before = planned(folder)
    line = before["advice"][0]["change"]["lines"][0]
    write(folder, c=job("c", MERGE_BY_SOURCE.replace(line["before"], line["after"])))
    assert len(before["conflicts"]) - len(planned(folder)["conflicts"]) == before["advice"][0]["pairs"]


def test_fail_on_is_for_pull_requests(folder: Path) -> None:
    assert sluice("plan", folder).exit_code == 0
    assert sluice("plan", folder, "--fail-on", "may").exit_code == 1
    assert sluice("plan", folder, "--fail-on", "will").exit_code == 0
    write(
        folder,
        x=job("x", f"ALTER TABLE {ORDERS} ADD COLUMNS (v INT)"),
        y=job("y", f"INSERT INTO {ORDERS} VALUES (1, 2, DATE '2026-11-19')"),
    )
    assert sluice("plan", folder, "--fail-on", "will").exit_code == 1


def test_text_for_people_says_which_answer_is_exact(folder: Path) -> None:
    shown = sluice("plan", folder).stdout
    assert "3 jobs on 1 table: 2 of 3 pairs must wait for each other (2 may)." in shown
    assert "2 can run together (no more can): a, b" in shown


def test_an_unusable_place_is_named_and_the_rest_is_planned(folder: Path) -> None:
    (folder / "half.yaml").write_text(f"{job('good', OTHER_DAY)}\n---\nkind: DeltaWriteJob\n  spec: [\n")
    (folder / "again.yaml").write_text(job("a", OTHER_DAY))
    (folder / "template.yaml").write_text("kind: DeltaWriteJob\nmetadata: {{ name }}\n")
    (folder / "bytes.yaml").write_bytes(b"kind: DeltaWriteJob # \x80\x81")
    (folder / "list.yaml").write_text("- kind: DeltaWriteJob\n")
    (folder / "twice.yaml").write_text(
        "kind: DeltaWriteJob\nmetadata: {name: q}\nspec:\n  sql: x\n  sql: y\n"
    )
    (folder / "wrong.yaml").write_text("kind: DeltaWriteJob\nmetadata: {name: w}\nspec: {sqll: x}\n")
    (folder / "deployment.yaml").write_text("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\n")
    result = sluice("plan", folder, folder / "nowhere", "-o", "json")
    assert result.exit_code == 3
    found = json.loads(result.stdout)
    assert [one["name"] for one in found["jobs"]] == ["a", "b", "c", "good"]
    told = {Path(one["place"].partition(",")[0]).name: one["why"] for one in found["troubles"]}
    assert set(told) == {
        *("half.yaml", "template.yaml", "bytes.yaml", "list.yaml", "twice.yaml", "wrong.yaml", "nowhere"),
        "again.yaml",
    }
    assert "a template? render it first" in told["template.yaml"]
    assert "is not UTF-8 text" in told["bytes.yaml"]
    assert 'key "sql" appears twice' in told["twice.yaml"]
    assert "spec.sqll" in told["wrong.yaml"]
    assert "already in" in told["again.yaml"]
    assert "there is no such file" in told["nowhere"]
    assert next(t["place"] for t in found["troubles"] if "half" in t["place"]).endswith("line 4, column 7")


def test_a_job_whose_name_is_no_text_is_told_by_its_place(tmp_path: Path) -> None:
    (tmp_path / "bool.yaml").write_text(job("named", PINNED_DELETE).replace('"named"', "y"))
    found = json.loads(sluice("plan", tmp_path, "-o", "json").stdout)
    assert [one["name"] for one in found["jobs"]] == [f"({tmp_path / 'bool.yaml'})"]


def test_it_is_said_where_the_unusable_places_are_named(folder: Path) -> None:
    (folder / "list.yaml").write_text("- kind: DeltaWriteJob\n")
    assert "1 place could not be used: standard error names it." in sluice("plan", folder).stdout


def test_windows_files_and_many_documents_in_one_are_read(tmp_path: Path) -> None:
    documents = (job("a", PINNED_DELETE), job("b", OTHER_DAY), json.dumps(FACTS))
    text = "\r\n---\r\n".join(documents)
    (tmp_path / "bom.yaml").write_bytes(b"\xef\xbb\xbf" + text.encode())
    (tmp_path / "utf16.yml").write_bytes(job("c", MERGE_BY_SOURCE).encode("utf-16"))
    block = "apiVersion: sluice.dev/v1alpha1\r\n"
    block += "kind: DeltaWriteJob\r\nmetadata: {name: d}\r\nspec:\r\n  sql: |\r\n    " + OTHER_DAY.replace(
        " WHERE", "\r\n    WHERE"
    )
    (tmp_path / "crlf.yaml").write_bytes(block.encode())
    (tmp_path / "items.json").write_text(f'{{"kind": "List", "items": [{job("e", OTHER_DAY)}]}}')
    result = sluice("plan", tmp_path, "-o", "json")
    assert result.exit_code == 0, result.stderr
    assert [one["name"] for one in json.loads(result.stdout)["jobs"]] == ["a", "b", "d", "e", "c"]


def test_what_is_assumed_of_many_tables_is_one_paragraph(tmp_path: Path) -> None:
    for n in range(6):
        column = "region" if n == 5 else "date"
        write(
            tmp_path,
            **{
                f"p{n}": policy(f"p{n}", table={"path": f"s3://lake/t{n}"}, partitionBy=[column]),
                f"j{n}": job(f"j{n}", f"DELETE FROM delta.`s3://lake/t{n}` WHERE date = DATE '2026-11-19'"),
            },
        )
    told = " ".join(sluice("plan", tmp_path).stdout.split())
    assert told.count("Assumed:") == 1
    assert (
        "Assumed: s3://lake/t0, s3://lake/t1, s3://lake/t2 and 2 more: taken to be partitioned by date date"
        in told
    )
    assert "; s3://lake/t5: taken to be partitioned by region (its type is not known)" in told
    assert len(planned(tmp_path)["assumptions"]) == 6


def test_an_empty_folder_is_said_to_be_empty(tmp_path: Path) -> None:
    result = sluice("plan", tmp_path)
    assert result.exit_code == 3
    assert "no YAML or JSON files" in complaints(result)
    assert "0 jobs" in result.stdout


def test_a_table_without_facts_is_taken_to_be_touched_everywhere(tmp_path: Path) -> None:
    store = policy("orders", table={"path": "s3://lake/orders"}, logStore="Safe")
    write(tmp_path, a=job("a", PINNED_DELETE), b=job("b", OTHER_DAY), policy=store)
    found = planned(tmp_path)
    assert len(found["conflicts"]) == 1
    assert found["conflicts"][0]["firstLoses"]["overlap"] == "true"


def test_an_unbound_name_is_one_piece_of_advice_however_many_tables_it_may_be(tmp_path: Path) -> None:
    names = {f"j{n}": job(f"j{n}", f"DELETE FROM delta.`hdfs://lake/t{n}` WHERE id = 1") for n in range(3)}
    write(tmp_path, **names, named=job("named", "DELETE FROM sales.orders WHERE id = 1"))
    found = planned(tmp_path)
    hints = [
        one for one in found["advice"] if (one["hint"] or "").startswith("bind sales.orders to its path")
    ]
    assert [one["pairs"] for one in hints] == [3]


def test_a_name_that_both_jobs_of_a_pair_leave_unbound_is_bound_once(tmp_path: Path) -> None:
    for name in "pq":
        sql = f"DELETE FROM sales.orders WHERE id = 1; DELETE FROM delta.`hdfs://lake/{name}` WHERE id = 2"
        write(tmp_path, **{name: job(name, sql)})
    hints = [(one["pairs"], one["hint"]) for one in planned(tmp_path)["advice"] if one["change"] is None]
    assert len(hints) == len(set(hints))
    assert all(pairs <= 1 for pairs, _ in hints), hints


@pytest.mark.parametrize(("store", "asked"), [("Safe", 2), ("S3SingleDriver", 0)])
def test_no_changed_text_is_looked_for_where_the_log_store_loses_commits(
    folder: Path, monkeypatch: pytest.MonkeyPatch, store: str, asked: int
) -> None:
    jobs = list[str]()

    def counted(job: Job, *given: Any) -> list[Change]:
        jobs.append(job.name)
        return changes_of(job, *given)

    monkeypatch.setattr(improvements, "changes_of", counted)
    write(folder, m=job("m", UNPINNED_MERGE), n=job("n", UNPINNED_MERGE))
    write(folder, policy=policy("orders", table={"path": "s3://lake/orders"}, logStore=store))
    planned(folder)
    assert sum(name.rpartition("/")[2] in "mn" for name in jobs) == asked


def test_two_policies_for_one_table_are_a_trouble(tmp_path: Path) -> None:
    write(
        tmp_path,
        p=policy("p", table={"path": "s3://lake/orders"}),
        q=policy("q", table={"path": "s3a://lake//orders/"}),
    )
    assert "another policy is about the same table" in complaints(sluice("plan", tmp_path))


def test_a_policy_that_the_table_contradicts_is_named(folder: Path) -> None:
    write(folder, policy=policy("orders", table={"path": "s3://lake/orders"}, partitionBy=["region"]))
    result = sluice("plan", folder)
    assert "a policy says partitionBy: region, but the table has date" in complaints(result)
    assert result.exit_code == 3


def test_the_log_of_a_copy_says_what_is_known_of_the_table(tmp_path: Path) -> None:
    lake = pytest.importorskip("unit.tables.lake")
    lake.orders(tmp_path / "copy")
    write(tmp_path, a=job("a", PINNED_DELETE), b=job("b", OTHER_DAY))
    write(tmp_path, policy=policy("orders", table={"path": "s3://lake/orders"}, logStore="Safe"))
    found = planned(tmp_path, "--table-path", f"s3://lake/orders={tmp_path / 'copy'}")
    assert found["conflicts"] == []
    assert found["troubles"] == []


def test_a_stream_that_only_reads_a_table_waits_for_its_changes_in_a_plan_too(tmp_path: Path) -> None:
    stream = {
        "source": {"format": "delta", "path": "s3://lake/orders"},
        "table": {"path": "s3://lake/report"},
        "checkpoint": "s3://lake/checkpoint",
        "trigger": {"availableNow": True},
    }
    body = {"kind": "DeltaWriteJob", "metadata": {"name": "stream"}, "spec": {"stream": stream}}
    stores = {
        name: policy(
            name,
            table={"path": f"s3://lake/{name}"},
            logStore="Safe",
            dialect={"name": "databricks", "runtime": "15.4"},
        )
        for name in ("orders", "report")
    }
    alter = job("alter", f"ALTER TABLE {ORDERS} ADD COLUMNS (note STRING)")
    write(tmp_path, stream=json.dumps(body), alter=alter, **stores)
    (conflict,) = planned(tmp_path)["conflicts"]
    assert conflict["secondLoses"]["rule"] == "streaming-read"
    assert "streaming-read on s3://lake/orders" in sluice("plan", tmp_path).stdout


def test_tables_that_only_may_be_one_come_after_those_that_are(tmp_path: Path) -> None:
    write(tmp_path, a=job("a", "DELETE FROM sales.orders WHERE id = 1"))
    write(tmp_path, b=job("b", PINNED_DELETE), c=job("c", PINNED_DELETE))
    lines = [line.strip() for line in sluice("plan", tmp_path, terminal_width=200).stdout.splitlines()]
    edges = [line for line in lines if line.startswith("unsafe ")]
    assert edges[0] == "unsafe b and c  lost-commits on s3://lake/orders"
    assert edges[1].endswith("if sales.orders is s3://lake/orders")


def test_two_jobs_of_one_run_wait_for_each_other_whatever_they_write(tmp_path: Path) -> None:
    other = PINNED_DELETE.replace("orders", "other")
    write(tmp_path, a=job("a", PINNED_DELETE, runKey="daily"), b=job("b", other, runKey="daily"))
    (found,) = planned(tmp_path)["conflicts"]
    assert found["firstLoses"]["rule"] == "same-run"


def test_what_the_operators_configuration_refuses_is_told(tmp_path: Path) -> None:
    node = {"spark.kubernetes.executor.volumes.hostPath.node.options.path": "/"}
    write(tmp_path, a=job("a", PINNED_DELETE, runtime={"sparkConf": node}))
    [warning] = planned(tmp_path)["warnings"]
    assert warning.startswith("a: the operator refuses hostPath volumes (spec.runtime.sparkConf.")
    assert warning.endswith("unless its configuration (jobPermissions) permits it: name that by --config")
    config = tmp_path / "config" / "operator.txt"
    config.parent.mkdir()
    config.write_text("runtimes: {default: {sparkVersion: 4.2.0}}\njobPermissions: [{namespaces: [etl]}]\n")
    told = sluice("plan", tmp_path, "--config", config)
    assert told.exit_code == 3
    assert "does not let jobs of the namespace default use hostPath volumes" in complaints(told)
    config.write_text(config.read_text().replace("[etl]", '["*"], volumes: ["*"]'))
    assert planned(tmp_path, "--config", config)["warnings"] == []


def test_a_configuration_that_cannot_be_used_is_told_with_its_place(folder: Path) -> None:
    told = sluice("plan", folder, "--config", folder / "none.yaml")
    assert told.exit_code == 4
    assert "none.yaml: cannot be read" in complaints(told)
