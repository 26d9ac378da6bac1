"""Jobs that stand in the bench's cluster: copies of one, as etcd stores them."""

import json
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import pytest
from bench.admission import workload
from bench.admission.cluster import BenchError
from bench.admission.copies import Place, Template, replaced
from bench.admission.etcd import Stored, key_of
from bench.admission.operator_process import configuration
from bench.admission.workload import Tables

from sluice.controller.process.configuration import OperatorConfig
from sluice.engines.attempt import application_name
from sluice.lifecycle.job.job_view import JobView

PROFILES = OperatorConfig.model_validate(configuration("redis://localhost")).runtimes
TOKEN = 4294967297


def _template(tables: Tables) -> Template:
    job = workload.job("hold-000000", tables.location("table-000000"))
    uid, pod = str(uuid4()), str(uuid4())
    job["metadata"] |= {"uid": uid, "namespace": "default", "generation": 1}
    hashed = JobView(job, PROFILES, datetime.now(UTC)).spec_hash
    application = application_name("hold-000000", uid, 1)
    job["status"] = {"attempts": [{"token": TOKEN, "hash": hashed, "application": application}]}
    key = key_of("deltawritejobs", "sluice.dev", "default", "hold-000000")
    stored = (
        Stored(key, json.dumps(job).encode()),
        Stored(
            key_of("pods", "", "default", f"{application}-driver"), f"k8s\0\x12$ {pod} {uid} {TOKEN}".encode()
        ),
    )
    return Template(Place("hold-000000", uid, "table-000000"), stored, (pod,), PROFILES)


def test_a_copy_has_a_name_ids_a_table_a_token_and_a_hash_of_its_own(tmp_path: Path) -> None:
    template = _template(Tables(tmp_path))
    to = Place.new("hold-000007", "table-000003")
    job, pod = template.copy(to, 7)
    assert job.key == "/registry/sluice.dev/deltawritejobs/default/hold-000007"
    assert pod.key == f"/registry/pods/default/{application_name('hold-000007', to.uid, 1)}-driver"
    body = json.loads(job.value)
    (attempt,) = body["status"]["attempts"]
    assert body["metadata"]["uid"] == to.uid
    assert attempt["token"] == TOKEN + 7
    assert attempt["application"] == application_name("hold-000007", to.uid, 1)
    assert attempt["hash"] == JobView(body, PROFILES, datetime.now(UTC)).spec_hash
    assert "table-000003" in body["spec"]["sql"]
    for old in (template.place.uid, template.place.name, template.place.table, *template.ids, str(TOKEN)):
        assert old.encode() not in job.value + pod.value
    assert len(pod.value) == len(template.objects[1].value)


def test_a_copy_waits_for_the_holder_of_its_own_table() -> None:
    mine, theirs = Place.new("hold-000000", "table-000000"), Place.new("hold-000001", "table-000001")
    place = Place.new("wait-000000", "table-000000", mine)
    value = f"wait-000000 waits for hold-000000 {mine.uid} on table-000000".encode()
    (copied,) = Template(place, (Stored("/wait-000000", value),)).copy(
        Place.new("wait-000001", theirs.table, theirs), 1
    )
    assert copied.value == f"wait-000001 waits for hold-000001 {theirs.uid} on table-000001".encode()


def test_a_copy_has_times_of_its_own_in_the_order_of_its_templates() -> None:
    queued, told = "2026-11-19T10:00:00.999998Z", "2026-11-19T10:00:01.000003Z"
    status = json.dumps({"queuedAt": queued, "since": told, "tables": "table-000000"}).encode()
    template = Template(Place.new("wait-000000", "table-000000"), (Stored("/wait-000000", status),))
    told_by = []
    for number in (1, 2):
        (copied,) = template.copy(Place.new(f"wait-00000{number}", "table-000000"), number)
        told_by.append(json.loads(copied.value))
    assert [one["queuedAt"] for one in told_by] == [
        "2026-11-19T10:00:00.999999Z",
        "2026-11-19T10:00:01.000000Z",
    ]
    assert [one["since"] for one in told_by] == ["2026-11-19T10:00:01.000004Z", "2026-11-19T10:00:01.000005Z"]


def test_nothing_is_replaced_twice() -> None:
    assert replaced(b"a-1 a-2", {"a-1": "a-2", "a-2": "a-3"}) == b"a-2 a-3"


def test_a_text_of_another_length_would_break_what_counts_its_bytes() -> None:
    with pytest.raises(BenchError, match="another length"):
        replaced(b"short", {"short": "longer"})


def test_objects_of_kubernetes_and_of_definitions_are_where_the_api_server_has_them() -> None:
    assert key_of("pods", "", "default", "a") == "/registry/pods/default/a"
    assert (
        key_of("deltawritejobs", "sluice.dev", "default", "a")
        == "/registry/sluice.dev/deltawritejobs/default/a"
    )
