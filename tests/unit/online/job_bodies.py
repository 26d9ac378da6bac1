"""Jobs as the API server has them, made for tests."""

from typing import Any

from sluice.api.base import Json


def job(name: str, *tables: str, operation: str = "Merge", priority: int = 0, **status: Any) -> Json:
    """Its uid is its name."""
    footprint = [{"table": table, "statement": 1, "operation": operation} for table in tables]
    return {
        "metadata": {
            "namespace": "etl",
            "name": name,
            "uid": name,
            "creationTimestamp": "2026-11-26T09:00:00Z",
        },
        "spec": {"priority": priority},
        "status": {"footprint": footprint} | status,
    }


def waiting(name: str, *tables: str, queued_at: str, **more: Any) -> Json:
    return job(name, *tables, phase="Waiting", queuedAt=queued_at, **more)


def holding(name: str, *tables: str, granted_at: str, **more: Any) -> Json:
    return job(name, *tables, phase="Running", attempts=[{"grantedAt": granted_at}], **more)


STREAM = {
    "batch": 17,
    "batches": 3,
    "batchAt": "2026-11-26T09:59:30Z",
    "lag": {"files": 3, "bytes": 5_242_880},
}


def stream(name: str, *tables: str, **status: Any) -> Json:
    """One that runs for ever, and has come as far as STREAM says."""
    body = job(name, *tables, operation="Stream", stream=STREAM, **status)
    body["spec"]["stream"] = {"trigger": {"processingTime": "30 seconds"}}
    return body


def pause(*waiters: str, until: str | None = None) -> Json:
    found: Json = {"reason": "Yields", "since": "2026-11-26T09:59:40Z"}
    found["for"] = [{"job": f"etl/{one}", "uid": one} for one in waiters]
    return found | ({"until": until} if until is not None else {})


def done(name: str, *tables: str, granted_at: str, ended_at: str, **more: Any) -> Json:
    attempt = {"grantedAt": granted_at, "endedAt": ended_at, "outcome": "Succeeded"}
    return job(name, *tables, phase="Succeeded", attempts=[attempt], **more)


def behind(*blockers: str) -> list[Json]:
    return [{"job": f"etl/{one}", "uid": one, "table": "file:/a", "rule": "added-files"} for one in blockers]


def policy(name: str, **spec: Any) -> Json:
    metadata = {
        "namespace": "etl",
        "name": name,
        "uid": name,
        "generation": 1,
        "creationTimestamp": "2026-11-26T08:00:00Z",
    }
    return {"metadata": metadata, "spec": spec}
