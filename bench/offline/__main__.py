"""How long `sluice plan` takes for a repository of 1,000 jobs with facts, for one of 1,000 manifests that has only policies, and
for 600 jobs on one table; and `sluice explain --history` for a log of 10,000 commits.

./dev run python -m bench.offline          # CPU time and time on the clock, each part by itself
"""

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from time import perf_counter, process_time
from typing import TypeVar

import yaml

from sluice.api.base import Json
from sluice.offline import answers
from sluice.offline.history import read_log, replayed
from sluice.offline.plan import planned
from sluice.offline.workspace import opened

JOBS = 1_000
COMMITS = 10_000
TABLES = 20
ON_ONE_TABLE = 600
POLICIES = 200

T = TypeVar("T")


def write_jobs(folder: Path, jobs: int = JOBS, tables: int = TABLES) -> None:
    """One file a job: merges, deletes, appends and compactions of one day, some without a pin."""
    random = Random(7)  # noqa: S311 - the same folder each time
    for number in range(jobs):
        table = f"s3://lake/t{random.randrange(tables)}"
        day = f"DATE '2026-11-{1 + random.randrange(28):02}'"
        pin = "" if random.random() < 0.2 else f" AND t.date = {day}"
        sql = random.choice(
            (
                f"INSERT INTO delta.`{table}` SELECT id, amount, {day} AS date FROM delta.`s3://lake/raw`",
                f"DELETE FROM delta.`{table}` WHERE date = {day} AND id = {number}",
                f"OPTIMIZE delta.`{table}` WHERE date = {day}",
                f"MERGE INTO delta.`{table}` t\n"
                f"USING (SELECT * FROM delta.`s3://lake/raw` WHERE date = {day}) s\n"
                f"ON t.id = s.id{pin}\nWHEN MATCHED THEN UPDATE SET amount = s.amount\n"
                f"WHEN NOT MATCHED THEN INSERT *",
            )
        )
        body = {"kind": "DeltaWriteJob", "metadata": {"name": f"job-{number}"}, "spec": {"sql": sql}}
        _write_manifest(folder, body)


def write_facts(folder: Path) -> None:
    for number in range(TABLES):
        facts = {
            "path": f"s3://lake/t{number}",
            "schema": [
                {"name": name, "type": kind}
                for name, kind in (("id", "bigint"), ("amount", "int"), ("date", "date"))
            ],
            "partitionColumns": ["date"],
            "logStore": "S3DynamoDB",
            "dialect": {"name": "oss", "version": "4.4.0"},
        }
        (folder / f"facts-{number}.json").write_text(json.dumps(facts), encoding="utf-8")


def write_policies(folder: Path) -> None:
    """The types of their partition columns are told by nothing but the jobs."""
    for number in range(POLICIES):
        spec = {
            "table": {"path": f"s3://lake/t{number}", "name": f"lake.sales.t{number}"},
            "partitionBy": ["date"],
            "logStore": "S3DynamoDB",
            "dialect": {"name": "oss", "version": "4.4.0"},
        }
        _write_manifest(
            folder, {"kind": "DeltaTablePolicy", "metadata": {"name": f"t{number}"}, "spec": spec}
        )


def _write_manifest(folder: Path, body: Json) -> None:
    name = f"{body['kind']}-{body['metadata']['name']}.yaml"
    text = yaml.safe_dump({"apiVersion": "sluice.dev/v1alpha1", **body})
    (folder / name).write_text(text, encoding="utf-8")


def write_log(table: Path) -> None:
    """Writers of all kinds, up to four beside one another, with the statistics that make real logs large."""
    random = Random(11)  # noqa: S311 - the same log each time
    log = table / "_delta_log"
    log.mkdir()
    metadata = {"metaData": {"partitionColumns": ["date"], "schemaString": "{}", "configuration": {}}}
    stats = json.dumps({"numRecords": 1, "minValues": {f"c{n}": n for n in range(30)}})
    for version in range(COMMITS):
        kind = random.choice(("append", "append", "merge", "pinned", "delete", "optimize"))
        days = [f"2026-11-{1 + random.randrange(28):02}" for _ in range(random.choice((1, 1, 1, 3)))]
        operation, parameters = {
            "append": ("WRITE", {"mode": "Append", "partitionBy": "[]"}),
            "merge": ("MERGE", {"predicate": '["(id#12 = id#40)"]'}),
            "pinned": ("MERGE", {"predicate": f'["((id#12 = id#40) AND (date#13 = {days[0]}))"]'}),
            "delete": ("DELETE", {"predicate": f'["(date#13 IN ({",".join(days)}))"]'}),
            "optimize": ("OPTIMIZE", {"predicate": "[]", "auto": "false"}),
        }[kind]
        info = {
            "timestamp": 1_790_000_000_000 + version * 20_000,
            "operation": operation,
            "operationParameters": parameters,
            "readVersion": max(0, version - random.randint(1, 4)),
            "isBlindAppend": kind == "append",
            "userMetadata": f"{kind}-{random.randrange(3)} run {version}",
        }
        touched = days[:1] if kind == "pinned" else days
        files = [
            {
                "path": f"date={day}/part-{version}-{n}.parquet",
                "partitionValues": {"date": day},
                "stats": stats,
            }
            for day in touched
            for n in range(4)
        ]
        actions = [{"commitInfo": info}, *([metadata] if version == 0 else [])]
        actions += [{"add": file} for file in files if kind != "delete"]
        actions += [{"remove": file} for file in files if kind != "append"]
        text = "\n".join(map(json.dumps, actions)) + "\n"
        (log / f"{version:020}.json").write_text(text, encoding="utf-8")


def timed(what: str, work: Callable[[], T]) -> T:
    clock, cpu = perf_counter(), process_time()
    found = work()
    sys.stdout.write(f"{what:40} {perf_counter() - clock:7.2f} s ({process_time() - cpu:.2f} s of CPU)\n")
    return found


def plan_a_folder(write: Callable[[Path], None]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder)
        manifests = sum(1 for _ in folder.iterdir())
        clock, cpu = perf_counter(), process_time()
        workspace = timed(f"read {manifests:,} manifests", lambda: opened([folder]))
        plan = timed("hold them against each other", lambda: planned(workspace))
        timed("write the plan as JSON", lambda: json.dumps(answers.plan_json(plan)))
        sys.stdout.write(
            f"  {len(plan.jobs):,} jobs, {len(plan.edges):,} conflicts, {len(plan.widest.members)} together "
            f"(at most {plan.widest.at_most}), {len(plan.savings):,} pieces of advice: "
            f"{perf_counter() - clock:.2f} s in all ({process_time() - cpu:.2f} s of CPU)\n"
        )


def with_facts(folder: Path) -> None:
    write_jobs(folder)
    write_facts(folder)


def on_one_table(folder: Path) -> None:
    write_jobs(folder, ON_ONE_TABLE, 1)
    write_facts(folder)


def with_policies(folder: Path) -> None:
    write_jobs(folder, JOBS - POLICIES, POLICIES)
    write_policies(folder)


def main() -> None:
    plan_a_folder(with_facts)
    plan_a_folder(with_policies)
    plan_a_folder(on_one_table)
    with tempfile.TemporaryDirectory() as name:
        write_log(Path(name))
        log = timed(f"read a log of {COMMITS:,} commits", lambda: read_log(Path(name)))
        history = timed("replay it", lambda: replayed(log))
        sys.stdout.write(
            f"  {history.overlaps:,} overlaps, {len(history.collisions)} pairs of writers that met\n"
        )


if __name__ == "__main__":
    main()
