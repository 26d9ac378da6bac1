"""The test data of Argo CD's health checks is what the operator really writes."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import yaml
from deltalake import DeltaTable, Field, Schema
from deltalake.schema import PrimitiveType

from argocd import health_tests
from integration.leases.redis_process import RedisProcess
from integration.operator.conftest import StartOperator
from integration.operator.played import Driver, Played, lost_a_race, rewrite, set_property, stream
from integration.operator.test_refused_creates import applications_are_refused
from integration.waiting import eventually
from sluice.api import names
from sluice.api.base import Json

SOME_TIME = "2026-11-19T10:00:00Z"
SOME_UID = "6f1c7d2e-5a0b-4c3f-9a77-2b6a1f0e4d11"


def scrubbed(body: Json, namespace: str) -> Json:
    """The object as it may stand in a file: nothing that differs from run to run, and nothing that the API server alone writes."""
    kept = {name: body["metadata"][name] for name in ("name", "namespace", "generation")}
    text = json.dumps({**body, "metadata": kept})
    for attempt in body.get("status", {}).get("attempts", ()):
        text = text.replace(attempt["application"], f"{kept['name']}-{attempt['number']}")
        text = text.replace(f'"token": {attempt["token"]}', '"token": 1')
        text = text.replace(attempt["hash"], "0123456789abcdef")
    text = re.sub(r'"writerEpoch": \d+', '"writerEpoch": 1', text)
    text = text.replace(namespace, "sales")
    text = re.sub(r'"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)"', f'"{SOME_TIME}"', text)
    text = re.sub(r"@\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", f"@{SOME_TIME}", text)
    text = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", SOME_UID, text)
    text = re.sub(r"-properties-[0-9a-f]{8}-", "-properties-01234567-", text)
    text = re.sub(r"127\.0\.0\.1(:|', )\d+", r"127.0.0.1\g<1>6379", text)
    text = re.sub(r"at \d\d:\d\d:\d\d UTC", "at 10:00:10 UTC", text)
    scrubbed: Json = json.loads(text)
    return scrubbed


class Scene:
    """Brings jobs into each phase, and keeps them as they were then."""

    def __init__(self, cluster: Played, lake: Path) -> None:
        self.cluster = cluster
        self.lake = lake
        self.seen: dict[str, Json] = {}

    def table(self, name: str, **properties: str) -> Json:
        """One that is there."""
        path = str(self.lake / name)
        DeltaTable.create(path, Schema([Field("id", PrimitiveType("long"))]), configuration=dict(properties))
        return {"path": path}

    def job(self, name: str, table: str, **more: object) -> str:
        self.cluster.apply(name, rewrite(f"/lake/{table}", **more))
        return name

    def keep(self, name: str, is_there: Callable[[Json], bool]) -> None:
        def look() -> Json | None:
            body = self.cluster.job(name)
            return body if body is not None and is_there(body) else None

        found = eventually(look, f"{name} is as wanted", show=lambda: self.cluster.job(name))
        self.seen[name] = scrubbed(found, self.cluster.namespace)

    def keep_in(self, name: str, phase: str, reason: str) -> None:
        def is_there(body: Json) -> bool:
            status = body.get("status", {})
            return bool((status.get("phase"), status.get("reason")) == (phase, reason))

        self.keep(name, is_there)

    def keep_policy(self, name: str, reason: str, words: str = "") -> None:
        """Once it has this reason, and its message these words."""
        eventually(
            lambda: words in self.cluster.policy_is(name, reason)["status"]["message"],
            f"policy {name} says {words!r}",
            show=lambda: self.cluster.policy(name),
        )
        body = json.dumps(self.cluster.policy(name)).replace(str(self.lake), "/lake")
        self.seen[name] = scrubbed(json.loads(body), self.cluster.namespace)


def _refused(scene: Scene) -> None:
    with applications_are_refused(scene.cluster):
        scene.job("backing-off", "refused", admission={"quotaTimeout": "10s"})
        scene.keep_in("backing-off", "BackingOff", "ApplicationRefused")


def _running(scene: Scene) -> Driver:
    driver = scene.cluster.start(scene.job("running", "orders"))
    scene.keep_in("running", "Running", "DriverRunning")
    return driver


def _in_the_way(scene: Scene) -> None:
    scene.job("waiting", "orders")
    scene.keep_in("waiting", "Waiting", "Blocked")
    scene.job("skipped", "orders", admission={"whenBlocked": "Skip"})
    scene.keep_in("skipped", "Skipped", "Blocked")
    scene.job("suspended", "orders", admission={"suspend": True})
    scene.keep_in("suspended", "Suspended", "Suspended")


def _ended(scene: Scene) -> None:
    scene.cluster.start(scene.job("succeeded", "succeeded")).succeeds("file:/lake/succeeded", 7)
    scene.keep_in("succeeded", "Succeeded", "Committed")
    scene.cluster.start(scene.job("failed", "failed")).ends(1, lost_a_race())
    scene.keep_in("failed", "Failed", "ConcurrentAppendException")
    scene.cluster.apply("not-understood", {"sql": "DELETE FROM"})
    scene.keep_in("not-understood", "Failed", "NotUnderstood")


def _on_their_way(scene: Scene) -> None:
    scene.job("starting", "starting")
    scene.keep_in("starting", "Starting", "Admitted")
    driver = scene.cluster.start(scene.job("ending", "ending"))
    scene.cluster.reaches("ending", "Running")
    driver.vanishes()
    scene.keep_in("ending", "Ending", "DriverLost")
    scene.cluster.start(scene.job("stalled", "stalled"))
    (attempt,) = scene.cluster.reaches("stalled", "Running")["attempts"]
    scene.cluster.write_status("stalled", {"attempts": [attempt | {"grantedAt": "0000-01-01T00:00:00Z"}]})

    def is_stalled(body: Json) -> bool:
        return any(
            (one["type"], one["status"], one["reason"]) == ("Stalled", "True", "StatusUnreadable")
            for one in body["status"]["conditions"]
        )

    scene.keep("stalled", is_stalled)


def _streams(scene: Scene) -> None:
    scene.cluster.apply("streaming", stream("/lake/streamed"))
    scene.cluster.start("streaming").has_ended_batches(1, "file:/lake/streamed")
    scene.keep_in("streaming", "Running", "Streaming")
    scene.cluster.apply("paused", stream("/lake/paused", **{"yield": "Metadata"}))
    driver = scene.cluster.start("paused")
    driver.has_ended_batches(1, "file:/lake/paused")
    scene.cluster.apply("changes-it", set_property("/lake/paused"))
    driver.is_asked_to_stop()
    driver.stops(1, "file:/lake/paused")
    scene.keep_in("paused", "Paused", "Yielded")


def _policies(scene: Scene) -> None:
    table = {"name": "lake.sales.orders", "path": "s3://lake/sales/orders"}
    scene.cluster.declare("counts", {"table": table, "logStore": "S3Conditional"})
    scene.keep_policy("counts", "Counts")
    scene.cluster.declare("left-out", {"table": table, "logStore": "Safe"})
    scene.keep_policy("left-out", "LeftOut")
    scene.cluster.declare(
        "impossible",
        {"table": {"path": "s3://lake/raw"}, "maintenance": {"vacuum": {"schedule": "0 3 30 2 *"}}},
    )
    scene.keep_policy("impossible", "Impossible")
    append_only = {"delta.appendOnly": "true"}
    scene.cluster.declare("missing", {"table": {"path": f"{scene.lake}/none"}, "properties": append_only})
    scene.keep_policy("missing", "TableMissing")
    scene.cluster.declare("drifted", {"table": scene.table("drifts"), "properties": append_only})
    scene.keep_policy("drifted", "Drifted")
    has_it = scene.table("has-it", **append_only)
    scene.cluster.declare("as-wanted", {"table": has_it, "properties": append_only})
    scene.keep_policy("as-wanted", "AsWanted")


def _policy_at_work(scene: Scene) -> None:
    wishes = {"enforcement": "Enforce", "properties": {"delta.appendOnly": "true"}}
    scene.cluster.declare("changing", {"table": scene.table("changes"), **wishes})
    [job] = eventually(
        lambda: [
            job["metadata"]["name"] for job in scene.cluster.jobs() if "changing" in job["metadata"]["name"]
        ],
        "the policy has made a job",
    )
    scene.cluster.start(job)
    scene.keep_policy("changing", "Changing", "is changing the table")


def test_the_test_data_of_the_health_checks_is_what_the_operator_writes(
    cluster: Played, operators: StartOperator, redis: RedisProcess, tmp_path: Path
) -> None:
    (lake := tmp_path / "lake").mkdir()
    scene = Scene(cluster, lake)
    scene.job("new", "new")
    scene.keep("new", lambda body: "status" not in body)
    cluster.delete("new")
    operators().says("the lease table was rebuilt")
    _policies(scene)
    _policy_at_work(scene)
    _refused(scene)
    _running(scene)
    _in_the_way(scene)
    _ended(scene)
    _on_their_way(scene)
    _streams(scene)
    redis.service.kill()
    scene.job("pending", "pending")
    scene.keep_in("pending", "Pending", "LeasesUnavailable")
    _must_be_in_the_files(scene.seen, tmp_path)


def _must_be_in_the_files(seen: dict[str, Json], now: Path) -> None:
    """What differs is left as files, to be looked at and taken over."""
    kept = {
        test.file.stem: test.object
        for kind in (names.JOB_KIND, names.POLICY_KIND)
        for test in health_tests(kind)
    }
    for name, body in seen.items():
        folder = now / body["kind"]
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.yaml").write_text(
            yaml.safe_dump(body, sort_keys=False, width=120), encoding="utf-8"
        )
    assert seen == kept, f"what the operator writes now is in {now}"
