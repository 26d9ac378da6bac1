"""`sluice leases list`: what people read of it, and the names that programs rely on."""

from contextlib import redirect_stdout
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from typer.testing import CliRunner

from sluice.api.base import Json
from sluice.api.job_status import ShownFootprint
from sluice.cli import leases_text, outputs
from sluice.cli.main import app
from sluice.lifecycle.evidence.lease_states import LeaseState
from sluice.online.access.connection import Installation
from sluice.online.answers import leases_json
from sluice.online.leases.lease_list import LeaseListing
from sluice.online.leases.lease_view import LeaseView

NOW = datetime(2026, 11, 19, 12, tzinfo=UTC)
AT = Installation("sluice-system", "sluice")
DAY = "date = '2026-11-19'"


def statement(number: int = 1, reads: str = DAY, writes: str = DAY, **more: Any) -> ShownFootprint:
    return ShownFootprint(
        table="file:/orders", statement=number, operation="Merge", reads=reads, writes=writes, **more
    )


def lease(**more: Any) -> LeaseView:
    one = LeaseView(
        holder="u/1",
        job="etl/a",
        state=LeaseState.RUNNING,
        attempt=1,
        token=12_884_901_895,
        since=NOW - timedelta(hours=3),
        last_seen=NOW - timedelta(seconds=40),
        tables=("file:/orders",),
        footprint=(statement(),),
        in_redis=True,
    )
    return replace(one, **more)


def as_json(*leases: LeaseView) -> Json:
    return leases_json(AT, LeaseListing(list(leases), (), is_redis_missing=False))


def shown(*leases: LeaseView, most: int | None = leases_text.MOST) -> str:
    out = StringIO()
    with redirect_stdout(out):
        leases_text.show(as_json(*leases), outputs.console(), NOW, most)
    return out.getvalue()


def test_the_names_of_fields_stay() -> None:
    [found] = as_json(lease())["leases"]
    assert found == {
        "job": "etl/a",
        "attempt": 1,
        "holder": "u/1",
        "token": 12_884_901_895,
        "state": "running",
        "since": "2026-11-19T09:00:00+00:00",
        "lastSeen": "2026-11-19T11:59:20+00:00",
        "tables": [
            {
                "table": "file:/orders",
                "statements": [
                    {
                        "statement": 1,
                        "operation": "Merge",
                        "reads": DAY,
                        "writes": DAY,
                        "deletes": None,
                        "metadata": False,
                    }
                ],
            }
        ],
        "message": None,
        "revoke": None,
        "inKubernetes": True,
        "inRedis": True,
        "differences": [],
    }


def test_a_lease_is_one_line_of_each_of_its_tables() -> None:
    header, first, second, counted = shown(lease(tables=("file:/orders", "file:/b"))).splitlines()
    assert header.split() == [
        "JOB",
        "ATTEMPT",
        "STATE",
        "SINCE",
        "SEEN",
        "TOKEN",
        "TABLE",
        "KIND",
        "PARTITIONS",
    ]
    assert first.split(maxsplit=8) == [
        "etl/a",
        "1",
        "running",
        "3h",
        "40s",
        "12884901895",
        "file:/orders",
        "Merge",
        DAY,
    ]
    assert second.split() == ["file:/b"]
    assert counted == "1 lease: 1 running"


@pytest.mark.parametrize(
    ("statements", "said"),
    [
        ((statement(reads="false"),), DAY),
        ((statement(writes="true"),), "all"),
        ((statement(reads="false", writes="false", metadata=True),), "none, and its metadata"),
        ((statement(writes="id = 1"),), f"{DAY} or id = 1"),
        ((statement(), statement(2)), DAY),
        ((statement(), statement(2, reads="false", writes="id = 7")), f"{DAY}; id = 7"),
    ],
)
def test_partitions_are_where_it_reads_or_adds_rows(
    statements: tuple[ShownFootprint, ...], said: str
) -> None:
    assert shown(lease(footprint=statements)).splitlines()[1].split("Merge")[1].strip() == said


def test_long_predicates_are_cut_on_a_terminal_and_whole_in_json() -> None:
    long = " or ".join(f"id = {number}" for number in range(100))
    held = lease(footprint=(statement(reads=long, writes="false"),))
    assert long not in shown(held)
    assert "…" in shown(held)
    assert as_json(held)["leases"][0]["tables"][0]["statements"][0]["reads"] == long


def test_what_asks_for_a_person_is_told_below() -> None:
    text = shown(
        lease(state=LeaseState.LOST, message="its node is silent: kubectl delete pod x"),
        lease(job="etl/b", state=LeaseState.UNEXPLAINED, holder="u/7", may_be_revoked=True, footprint=()),
        lease(job="etl/c", differences=("Redis does not hold it",), message="it runs"),
    )
    assert "! etl/a: its node is silent: kubectl delete pod x\n" in text
    assert "! etl/b: no object shows what became of it" in text
    assert "sluice leases revoke u/7 -n sluice-system --yes\n" in text
    assert "! etl/c: Redis does not hold it\n" in text
    assert "it runs" not in text
    assert "3 leases: 1 lost, 1 unexplained, 1 running" in text


def test_what_is_not_known_is_a_question_mark() -> None:
    bare = LeaseView("u/?", "etl/x", LeaseState.UNREADABLE, message="status.attempts: wrong")
    assert shown(bare).splitlines()[1].split() == ["etl/x", "?", "unreadable", "?", "?", "?"]


def test_of_very_many_the_first_are_shown_unless_all_are_asked_for() -> None:
    many = [lease(job=f"etl/job-{number}") for number in range(150)]
    assert "and 50 more; --all shows them" in shown(*many)
    assert "etl/job-149" not in shown(*many)
    assert "etl/job-149" in shown(*many, most=None)
    assert "150 leases: 150 running" in shown(*many)
    assert shown() == "no leases are held\n"


def test_a_name_tells_no_terminal_what_to_do() -> None:
    assert "\x1b" not in shown(lease(job="etl/\x1b[2J", differences=("\x1b]0;x\x07",)))


def test_options_before_a_command_are_not_passed_over() -> None:
    result = CliRunner().invoke(app, ["leases", "-n", "sluice-system", "list"])
    assert result.exit_code == 2
    assert "sluice leases list ..." in result.stderr
