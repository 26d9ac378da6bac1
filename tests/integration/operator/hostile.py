"""What nobody should write, as data: each entry is named by what it attacks.

A finding of this corpus is mended with a unit test. Entries touch tables under /hostile alone, so that nothing of them stands in
another job's way by right. What the API server itself refuses does no harm and stays here all the same: another version of it
may let it through.
"""

import json
import random
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from sluice.api import names
from sluice.api.base import Json
from sluice.engines import RuntimeProfile
from sluice.footprint import NotUnderstoodError
from sluice.leases import Epochs, Lease
from sluice.lifecycle.job.job_view import JobView

FUZZED = 60
CROWD = 60
"""Policies of each kind of crowd."""
_SEED = 20261123


@dataclass(frozen=True)
class HostileJob:
    attacks: str
    spec: Json
    status: Json | None = None
    """Written by hand once the job is there."""
    metadata: Json = field(default_factory=dict)


@dataclass(frozen=True)
class HostileObject:
    """An application or a pod with our label."""

    attacks: str
    body: Json

    @property
    def is_pod(self) -> bool:
        return "kind" not in self.body


@dataclass(frozen=True)
class HostilePolicy:
    attacks: str
    name: str
    spec: Json


@dataclass(frozen=True)
class Victim:
    """A job of somebody else, under way."""

    namespace: str
    uid: str
    attempt: Json


def append(table: str) -> Json:
    return {"sql": f"INSERT INTO delta.`/hostile/{table}` VALUES (1)"}


_STATEMENTS = {
    "a parser that fails on NOT over AND": "MERGE INTO delta.`/hostile/a` t USING delta.`/hostile/s` s ON t.id = s.id WHEN NOT AND "
    "s.op = 'd' THEN DELETE",
    "a parser that fails on a source that is none": "INSERT INTO delta.`/hostile/a` FROM AND (*",
    "the parser's stack, by parentheses": "SELECT " + "(" * 20_000,
    "the parser's stack, by subqueries": "SELECT * FROM (" * 3_000,
    "the parser's stack, by CASE": "UPDATE delta.`/hostile/a` SET x = " + "CASE WHEN a THEN " * 5_000,
    "the parser's stack, by NOT": "DELETE FROM delta.`/hostile/a` WHERE " + "NOT " * 20_000 + "a",
    "whoever counts statements": ";" * 50_000,
    "whoever ends comments": "/*" * 10_000,
    "texts with NUL": "\u0000 \ufffd ; ;;; /*",
    "texts with NUL in a name": "INSERT INTO delta.`/hostile/\u0000` VALUES (1)",
    "halves of characters": "INSERT INTO delta.`/hostile/\ud800` VALUES ('\udfff')",
    "an expression without its end": "INSERT INTO delta.`/hostile/a` VALUES (" + "1," * 5000,
    "whoever joins a long list of conditions": "DELETE FROM delta.`/hostile/a` WHERE "
    + " OR ".join(f"id = {number}" for number in range(8_000)),
    "names without an end": "INSERT INTO delta.`/hostile/" + "x" * 100_000 + "` VALUES (1)",
    "right-to-left marks and blanks of no width": "INSERT\u200b INTO delta.`/hostile/\u202ea` VALUES (1)",
}

_WORDS = r"""
SELECT INSERT UPDATE DELETE MERGE INTO USING ON WHEN MATCHED NOT THEN SET VALUES FROM WHERE AND OR IN EXISTS
CASE END WITH AS UNION ALL BETWEEN LIKE IS NULL INTERVAL DATE TIMESTAMP PARTITION OVERWRITE OPTIMIZE VACUUM
ALTER TABLE ADD COLUMNS CREATE OR REPLACE RESTORE TO VERSION OF LATERAL VIEW EXPLODE PIVOT BY GROUP ORDER
( ) , ; . * + - / % = <> < > <=> || :: => -> ? : { } [ ] ' " ` -- /* */ @ $ \ ! ~ ^ & |
1 0.5 1e999 -1 9223372036854775808 'a' '' 'it''s' "b" x'00' id s.id t.* current_date() `a``b` :p {{p}} é
"""
_TOKENS = (*_WORDS.split(), "delta.`/hostile/fuzz`", "delta.`/hostile/source` s")
_BEGINNINGS = (
    "INSERT INTO delta.`/hostile/fuzz`",
    "UPDATE delta.`/hostile/fuzz` SET",
    "DELETE FROM delta.`/hostile/fuzz` WHERE",
    "MERGE INTO delta.`/hostile/fuzz` t USING delta.`/hostile/source` s ON",
    "",
)


def _fuzzed() -> Iterator[HostileJob]:
    chance = random.Random(_SEED)  # noqa: S311 - the same each time
    found = 0
    while found < FUZZED:
        tokens = [chance.choice(_TOKENS) for _ in range(chance.randrange(1, 30))]
        text = " ".join((chance.choice(_BEGINNINGS), *tokens)).strip()
        if text and _stays_under_hostile(text):
            found += 1
            yield HostileJob(f"the reader of SQL, by tokens ({found})", {"sql": text})


def _stays_under_hostile(text: str) -> bool:
    body = {"metadata": {"name": "x", "namespace": "x", "uid": "x", "generation": 1}, "spec": {"sql": text}}
    view = JobView(body, {"default": RuntimeProfile(spark_version="4.2.0")}, datetime.now(UTC))
    try:
        return all(key.text.startswith("file:/hostile/") for key in view.footprint_from_spec.keys)
    except NotUnderstoodError:
        return True
    except Exception:  # noqa: BLE001 - all the better
        return True


def _attempt(**changed: Any) -> Json:
    return {
        "number": 1,
        "token": Epochs.token(1, 1),
        "hash": "0" * 16,
        "application": "no-such-application-1",
        "grantedAt": "2026-11-19T10:00:00Z",
    } | changed


def _footprint(table: str, **changed: Any) -> Json:
    return {
        "table": table,
        "statement": 1,
        "operation": "UPDATE",
        "reads": "true",
        "writes": "true",
    } | changed


def _statuses(victim: Victim) -> dict[str, Json]:
    own = [_footprint("file:/hostile/claimed")]
    return {
        "dates before year 1": {"queuedAt": "0000-01-01T00:00:00Z"},
        "dates before year 1, in more places": {
            "phase": "Waiting",
            "since": "0000-01-01T00:00:00Z",
            "queuedAt": "0000-12-31T23:59:59Z",
        },
        "dates after all": {
            "phase": "BackingOff",
            "since": "9999-12-31T23:59:59.999999999Z",
            "queuedAt": "9999-12-31T23:59:59Z",
        },
        "dates with leap seconds": {"queuedAt": "2016-12-31T23:59:60Z"},
        "a phase without its attempt": {"phase": "Running", "attempt": 2147483647},
        "an end without a beginning": {"phase": "Succeeded", "finishedAt": "2026-11-19T10:00:00Z"},
        "blockers of nothing": {
            "blockedBy": [{"job": "", "uid": "", "table": "", "verdict": "?", "rule": "", "reason": ""}],
            "blockedByCount": 2147483647,
        },
        "an attempt that nobody granted": {"phase": "Running", "attempts": [_attempt()], "footprint": own},
        "an attempt with the largest token": {"attempts": [_attempt(token=2**63 - 1)], "footprint": own},
        "an attempt with the largest token of an operator, so that no epoch is left": {
            "attempts": [_attempt(token=Epochs.token(Epochs.END - 1, 1))],
            "footprint": own,
        },
        "an ended attempt with the largest token of an operator": {
            "attempts": [_attempt(token=Epochs.token(Epochs.END - 1, 2), outcome="Failed")],
        },
        "an attempt with the largest number": {"attempts": [_attempt(number=2147483647)], "footprint": own},
        "two open attempts with one number": {
            "attempts": [_attempt(), _attempt(application="another-1")],
            "footprint": own,
        },
        "the application of another job": {
            "phase": "Running",
            "attempts": [_attempt(application=victim.attempt["application"], token=victim.attempt["token"])],
            "footprint": own,
        },
        "tables that are none": {
            "attempts": [_attempt()],
            "footprint": [_footprint("\u0000:// /\n"), _footprint("")],
        },
        "whoever copies a status, by its size": {
            "message": "m" * 2048,
            "footprint": [
                _footprint(f"file:/hostile/huge-{number}", reads="r" * 4096, writes="w" * 4096)
                for number in range(64)
            ],
            "attempts": [
                _attempt(number=number, outcome="Failed", message="x" * 2048, application=f"huge-{number}")
                for number in range(1, 11)
            ],
        },
        "a loss that nobody saw": {
            "phase": "Failed",
            "attempts": [
                _attempt(
                    outcome="DriverLost",
                    loss={"at": "9999-12-31T23:59:59Z", "podUid": "u" * 256, "silentSince": "\u202e"},
                )
            ],
        },
        "a run that ended without a proof": {
            "phase": "Failed",
            "attempts": [_attempt(outcome="Unknown", commits=[])],
        },
    }


def _metadata() -> dict[str, Json]:
    return {
        "names at their limit": {"name": ".".join(("n" * 63, "a" * 63, "m" * 63, "e" * 61))},
        "names that are numbers": {"name": "0" * 63},
        "names of many dots": {"name": ".".join("a" * 60)},
        "annotations at their limit": {
            "name": "annotated",
            "annotations": {"example.com/huge": "x" * 250_000},
        },
        "our own annotations, on a job": {
            "name": "annotated-as-ours",
            "annotations": {
                names.ANNOTATION_LEASE: "[" * 5000,
                names.ANNOTATION_TOKEN: "99999999999999999999",
                names.ANNOTATION_DRIVER_DEAD: "\u0000",
                names.ANNOTATION_DRIVER_LOST: "[" * 5000,
            },
            "labels": {names.LABEL_JOB_UID: "x", names.LABEL_ATTEMPT: "x"},
        },
        "finalizers of others": {"name": "kept-by-others", "finalizers": ["example.com/never-ends"]},
    }


def jobs(victim: Victim) -> list[HostileJob]:
    found = [HostileJob(attacks, {"sql": text}) for attacks, text in _STATEMENTS.items()]
    found += _fuzzed()
    found += [
        HostileJob(attacks, append(f"status-{number}"), status)
        for number, (attacks, status) in enumerate(_statuses(victim).items())
    ]
    found += [
        HostileJob(attacks, append(f"metadata-{number}"), metadata=metadata)
        for number, (attacks, metadata) in enumerate(_metadata().items())
    ]
    rows = ", ".join(["(1)"] * 120_000)
    found += [
        HostileJob(
            "whoever copies a spec, by its size", {"sql": f"INSERT INTO delta.`/hostile/huge` VALUES {rows}"}
        ),
        HostileJob(
            "settings without an end",
            append("conf") | {"runtime": {"sparkConf": {f"x.{n}": "y" * 500 for n in range(900)}}},
        ),
        HostileJob("a runtime that there is not", append("runtime") | {"runtimeRef": "no-such-runtime"}),
        HostileJob("parameters that are names", {"sql": "INSERT INTO IDENTIFIER(:t) VALUES (1)"}),
        *_by_names(),
        HostileJob("a queue, by its highest priority", append("first") | {"priority": 2147483647}),
    ]
    return found


def _by_names() -> Iterator[HostileJob]:
    """Yields jobs on tables that policies name."""
    for name in ("hostile.circle", "circle.hostile", "hostile.crowd", "default.hostile", "hostile.long"):
        yield HostileJob(f"names that policies bind, by {name}", {"sql": f"DELETE FROM {name} WHERE id = 1"})


def policies() -> list[HostilePolicy]:
    where = "/hostile/policies"
    found = [
        HostilePolicy("one path, by many", f"crowd-path-{number}", _policy(f"{where}/one", logStore="Safe"))
        for number in range(CROWD)
    ]
    found += [
        HostilePolicy(
            "one name, by many paths", f"crowd-name-{number}", _policy(f"{where}/{number}", "hostile.crowd")
        )
        for number in range(CROWD)
    ]
    found += [
        HostilePolicy(
            "one path, by many names", f"crowd-names-{number}", _policy(f"{where}/two", f"hostile.n{number}")
        )
        for number in range(CROWD)
    ]
    circle = [(name, end) for name in ("hostile.circle", "circle.hostile") for end in ("east", "west")]
    found += [
        HostilePolicy("names in circles", f"circle-{number}", _policy(f"{where}/{end}", name))
        for number, (name, end) in enumerate(circle)
    ]
    spelled = ("hostile", "default.hostile", "spark_catalog.default.hostile", "`HOSTILE`", "Default.Hostile")
    found += [
        HostilePolicy("one name, by its spellings", f"spelled-{number}", _policy(f"{where}/spelled", name))
        for number, name in enumerate(spelled)
    ]
    paths = {
        "paths at their limit": "file:" + where + "/" + "p" * (1024 - len("file:" + where + "/")),
        "paths beyond their limit": where + "/" + "p" * 1024,
        "paths of many folders": where + "/p" * 400,
        "paths with halves of an address": "http://[::1/hostile",
        "paths with a port that is none": "hdfs://hostile:port/x",
        "paths with escapes": "s3a://hostile/%2e%2e/%00/%zz",
        "paths with signs": where + "/\u202e\u0661 \\ ' \" ` ; --",
        "paths that nobody reads": "ftp://hostile/table",
        "stores that answer nobody": "abfss://hostile@nowhere.invalid/table",
        "paths within paths": where + "/one/below",
        "the log of a table": where + "/one/_delta_log",
        "the root": "/",
    }
    found += [
        HostilePolicy(attacks, f"path-{number}", _policy(path))
        for number, (attacks, path) in enumerate(paths.items())
    ]
    names_ = {
        "names at their limit": ".".join(("n" * 84, "a" * 85, "m" * 84)),
        "names beyond their limit": "n" * 4000,
        "names of many parts": ".".join("abcdefgh"),
        "names of nothing": "``.``",
        "names with halves of quotes": "hostile.`x",
        "names of other letters": "hostile.\u0130\u00df\ufb01",
    }
    found += [
        HostilePolicy(attacks, f"name-{number}", _policy(f"{where}/name-{number}", name))
        for number, (attacks, name) in enumerate(names_.items())
    ]
    found += [
        HostilePolicy("a long way", "n" * 253, _policy(f"{where}/long", "hostile.long")),
        HostilePolicy("a name alone", "name-alone", {"table": {"name": "hostile.alone"}}),
        HostilePolicy(
            "columns without an end", "columns", _policy(f"{where}/c", partitionBy=["c" * 255] * 33)
        ),
        HostilePolicy(
            "all that isn't kept",
            "not-kept",
            _policy(
                f"{where}/kept",
                properties={f"team.p{number}": "x" * 1000 for number in range(60)},
                features=["deletionVectors"],
                enforcement="Enforce",
                allowIrreversible=True,
                allowedNamespaces=["nowhere"],
                admission={
                    "maxWriters": 1,
                    "risk": "Optimistic",
                    "unknownFootprint": "Reject",
                    "ageAfter": "1s",
                },
            ),
        ),
        HostilePolicy(
            "versions without an end",
            "versions",
            _policy(f"{where}/versions", dialect={"name": "oss", "version": f"{10**20}.{10**9}"}),
        ),
    ]
    return found


def _policy(path: str, name: str | None = None, **more: Any) -> Json:
    return {"table": {"path": path} | ({"name": name} if name is not None else {}), **more}


def objects(victim: Victim) -> list[HostileObject]:
    nobody = str(uuid.UUID(int=7))
    found = []
    for epoch in (
        "99999999999999999999",
        "abc",
        str(Epochs.END - 1),
        str(Epochs.END),
        "-1",
        "",
        "\u0661",
        "1e9",
        " 7 ",
    ):
        for uid in (victim.uid, nobody, "", "no-uid"):
            annotations = {
                names.ANNOTATION_WRITER_EPOCH: epoch,
                names.ANNOTATION_TOKEN: "99999999999999999999",
                names.ANNOTATION_LEASE: '{"uid": "\\ud800", "tables": [{}]}',
            }
            attacks = f"epochs, by {epoch!r} on an object of {uid or 'nobody'}"
            found += [_application(attacks, uid, annotations), _pod(attacks, uid, annotations)]
    record = Lease(victim.uid, 1, "hash", f"{victim.namespace}/victim", ("file:/hostile/x",))
    records = {
        "nesting": "[" * 5000,
        "a list": "[]",
        "a number": "1" * 4000,
        "NaN": "NaN",
        "another job's uid": json.dumps(json.loads(record.to_json()) | {"uid": nobody}),
        "another namespace": json.dumps(json.loads(record.to_json()) | {"job": "other/victim"}),
        "an attempt that is no number": json.dumps(json.loads(record.to_json()) | {"attempt": "1"}),
        "halves of characters": json.dumps(json.loads(record.to_json()) | {"tables": ["\ud800"]}),
        "a huge list": json.dumps(json.loads(record.to_json()) | {"tables": ["t" * 1000] * 200}),
    }
    for what, text in records.items():
        annotations = {names.ANNOTATION_LEASE: text, names.ANNOTATION_TOKEN: "NaN"}
        found += [
            _application(f"records, by {what}", victim.uid, annotations),
            _pod(f"records, by {what}", victim.uid, annotations),
        ]
    huge = _application("whoever copies an application, by its size", victim.uid, {})
    huge.body["spec"]["arguments"] = ["a" * 10_000] * 130
    long = _application("names at their limit", nobody, {})
    long.body["metadata"]["name"] = "a" * 253
    taken = _pod("a placeholder that somebody made", nobody, {})
    taken.body["metadata"]["labels"][names.LABEL_PLACEHOLDER] = "true"
    return [*found, huge, long, taken]


def _application(attacks: str, uid: str, annotations: Json) -> HostileObject:
    return HostileObject(
        attacks,
        {
            "apiVersion": "sparkoperator.k8s.io/v1beta2",
            "kind": "SparkApplication",
            "metadata": {
                "name": f"foreign-{uuid.uuid4().hex[:10]}",
                "labels": {names.LABEL_JOB_UID: uid, names.LABEL_ATTEMPT: "one"},
                "annotations": annotations,
            },
            "spec": {
                "type": "Python",
                "sparkVersion": "4.2.0",
                "mainApplicationFile": "local:///x.py",
                "driver": {},
                "executor": {},
            },
        },
    )


def _pod(attacks: str, uid: str, annotations: Json) -> HostileObject:
    return HostileObject(
        attacks,
        {
            "metadata": {
                "name": f"foreign-{uuid.uuid4().hex[:10]}-driver",
                "labels": {names.LABEL_JOB_UID: uid, names.LABEL_ATTEMPT: "00x1"},
                "annotations": annotations,
            },
            "spec": {"containers": [{"name": "spark-kubernetes-driver", "image": "none"}]},
        },
    )
