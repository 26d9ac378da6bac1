"""What an older or a newer schema of the two kinds would let through, as data. Each says where its trouble is.

Tables lie under /strange alone.
"""

from dataclasses import dataclass
from typing import Any

from sluice.api.base import Json

MISSING = object()
"""There is no such field at all."""


def append(table: str) -> Json:
    return {"sql": f"INSERT INTO delta.`/strange/{table}` VALUES (1)"}


@dataclass(frozen=True)
class Strange:
    name: str
    spec: Any
    reason: str
    names: str
    """The field, as its condition calls it; a job that runs has none."""
    status: Any = MISSING
    """Written by hand once it is there."""

    def body(self) -> Json:
        return {} if self.spec is MISSING else {"spec": self.spec}


_REFUSED: dict[str, tuple[Any, str]] = {
    "no-spec": (MISSING, "spec"),
    "spec-null": (None, "spec"),
    "spec-list": ([append("a")], "spec"),
    "spec-text": ("INSERT INTO delta.`/strange/a` VALUES (1)", "spec"),
    "spec-number": (7, "spec"),
    "spec-empty": ({}, "spec"),
    "sql-list": ({"sql": ["x"]}, "spec.sql"),
    "sql-object": ({"sql": {"text": "x"}}, "spec.sql"),
    "unknown-field": (append("a") | {"transaction": {}}, "spec.transaction"),
    "unknown-field-null": (append("a") | {"transaction": None}, "spec.transaction"),
    "unknown-field-below": (append("a") | {"admission": {"maxRisk": 1}}, "spec.admission.maxRisk"),
    "unknown-field-deep": (append("a") | {"runtime": {"driver": {"zone": "a"}}}, "spec.runtime.driver.zone"),
    "names-of-the-code": (append("a") | {"runtime_ref": "unsafe"}, "spec.runtime_ref"),
    "when-blocked-of-the-future": (
        append("a") | {"admission": {"whenBlocked": "Preempt"}},
        "spec.admission.whenBlocked",
    ),
    "admission-text": (append("a") | {"admission": "Wait"}, "spec.admission"),
    "retry-list": (append("a") | {"retry": []}, "spec.retry"),
    "priority-text": (append("a") | {"priority": "1"}, "spec.priority"),
    "priority-huge": (append("a") | {"priority": 2**40}, "spec.priority"),
    "parameters-nested": (append("a") | {"parameters": {"a": {"b": 1}}}, "spec.parameters.a"),
    "conf-of-numbers": (append("a") | {"runtime": {"sparkConf": {"x": 1}}}, "spec.runtime.sparkConf.x"),
}

_ATTEMPT = {
    "number": 1,
    "token": 1,
    "hash": "0" * 16,
    "application": "none-1",
    "grantedAt": "2026-11-19T10:00:00Z",
}

_HIDING: dict[str, tuple[Any, str]] = {
    "phase-of-the-future": ({"phase": "Rewinding"}, "status.phase"),
    "outcome-of-the-future": (
        {"attempts": [_ATTEMPT | {"outcome": "Rewound"}]},
        "status.attempts[0].outcome",
    ),
    "attempt-with-more": ({"attempts": [_ATTEMPT | {"holds": ["file:/lake"]}]}, "status.attempts[0].holds"),
    "attempts-object": ({"attempts": {"1": _ATTEMPT}}, "status.attempts"),
    "attempts-text": ({"attempts": "none"}, "status.attempts"),
    "footprint-of-the-future": (
        {
            "footprint": [
                {
                    "table": "file:/strange/x",
                    "statement": 1,
                    "operation": "UPDATE",
                    "reads": "true",
                    "writes": "true",
                    "rewinds": "true",
                }
            ]
        },
        "status.footprint[0].rewinds",
    ),
    "footprint-text": ({"footprint": "all"}, "status.footprint"),
}

_NO_OBJECT: dict[str, Any] = {
    "status-text": "Succeeded",
    "status-list": [{"phase": "Running"}],
    "status-empty-list": [],
}

_HARMLESS: dict[str, Json] = {
    "more-in-status": {"estimatedStart": "2026-11-19T10:00:00Z", "cost": {"dbu": [1]}},
    "conditions-text": {"conditions": "Ready"},
    "conditions-object": {"conditions": {"Ready": "True"}},
    "conditions-of-the-future": {"conditions": [{"type": "Ready", "status": "Perhaps", "severity": 3}]},
    "blockers-of-the-future": {"blockedBy": [{"jobRef": {"name": "x"}}], "blockedByCount": "many"},
    "times-of-the-future": {"queuedAt": 1795408711, "since": {"seconds": 1}},
    "generation-text": {"observedGeneration": "1"},
}

REFUSED = [Strange(name, spec, "NotUnderstood", where) for name, (spec, where) in _REFUSED.items()]
HIDING = [
    Strange(name, append(name), "StatusUnreadable", where, status)
    for name, (status, where) in _HIDING.items()
]
NO_OBJECT = [
    Strange(name, append(name), "StatusUnreadable", "status", status) for name, status in _NO_OBJECT.items()
]
HARMLESS = [Strange(name, append(name), "", "", status) for name, status in _HARMLESS.items()]
"""What only this operator writes there, and can find out again: the job runs."""


def _about(name: str, **more: Any) -> Json:
    return {"table": {"path": f"/strange/policies/{name}"}, **more}


_POLICIES: dict[str, tuple[Any, str]] = {
    "no-spec": (MISSING, "spec"),
    "spec-null": (None, "spec"),
    "spec-list": ([_about("a")], "spec"),
    "spec-text": ("table", "spec"),
    "no-table": ({}, "spec.table"),
    "table-null": ({"table": None}, "spec.table"),
    "table-list": ({"table": ["/strange/policies/x"]}, "spec.table"),
    "table-text": ({"table": "/strange/policies/x"}, "spec.table"),
    "table-empty": ({"table": {}}, "spec.table"),
    "path-number": ({"table": {"path": 5}}, "spec.table.path"),
    "path-relative": ({"table": {"path": "strange"}}, "spec.table.path"),
    "table-with-more": (
        {"table": {"path": "/strange/policies/more", "catalog": "unity"}},
        "spec.table.catalog",
    ),
    "log-store-of-the-future": (_about("log-store", logStore="ConditionalPut"), "spec.logStore"),
    "log-store-object": (_about("log-store-2", logStore={"kind": "Safe"}), "spec.logStore"),
    "names-of-the-code": (_about("code", log_store="Safe"), "spec.log_store"),
    "dialect-of-the-future": (_about("dialect", dialect={"name": "iceberg"}), "spec.dialect.name"),
    "dialect-text": (_about("dialect-2", dialect="oss"), "spec.dialect"),
    "isolation-of-the-future": (_about("isolation", isolationLevel="Snapshot"), "spec.isolationLevel"),
    "unknown-field": (_about("unknown", aliasOf="/lake/good"), "spec.aliasOf"),
    "columns-of-numbers": (_about("columns", partitionBy=[1]), "spec.partitionBy[0]"),
    "admission-of-the-future": (
        _about("admission", admission={"exclusive": True}),
        "spec.admission.exclusive",
    ),
}

_POLICY_STATUSES: dict[str, Any] = {
    "status-text": "Ready",
    "status-list": [1],
    "conditions-text": {"conditions": "Ready"},
    "conditions-number": {"conditions": 7},
    "conditions-object": {"conditions": {"Ready": "True"}},
    "table-object": {"table": {"location": "x"}},
    "more-in-status": {"lineage": ["x"]},
}

POLICIES = [
    *(Strange(name, spec, "NotUnderstood", where) for name, (spec, where) in _POLICIES.items()),
    *(Strange(name, _about(name), "Counts", "", status) for name, status in _POLICY_STATUSES.items()),
]
