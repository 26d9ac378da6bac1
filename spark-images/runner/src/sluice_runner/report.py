"""The full report of a run, in a ConfigMap of its job: what the result has no room for.

It is written once the result is in the termination log, so that nothing that happens here can cost the result.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from sluice_runner import __version__
from sluice_runner.cluster import MERGE, Cluster, NoClusterError, RequestError
from sluice_runner.failures import Failure
from sluice_runner.plan import Plan
from sluice_runner.result import Report, Result, StatementResult

VERSION = 1
KEY = "report.json"
MAX_BYTES = 256 * 1024
"""A quarter of what a ConfigMap may hold: etcd keeps one for each run."""
_MESSAGES = (64 * 1024, 4 * 1024)
_CONFLICT = 409


@dataclass(frozen=True)
class Seen:
    """What the driver saw around its statements. What could not be read is a sentence in `unread`."""

    versions: Mapping[str, str] = field(default_factory=dict)
    """Of Spark and what belongs to it; those of the runner and its Python are known without."""
    settings: Mapping[str, str] = field(default_factory=dict)
    tables: Sequence[Mapping[str, Any]] = ()
    unread: Sequence[str] = ()


@dataclass(frozen=True)
class ReportedRun:
    """Everything that a report tells."""

    plan: Plan
    result: Result
    seen: Seen
    started: str
    ended: str


UNFINISHED = Report(missing="the driver was ended before it had written its report")


def name_of(application: str) -> str:
    return f"{application}-report"


def write(run: ReportedRun, mask: Callable[[str], str], cluster: Callable[[], Cluster]) -> Report:
    """Says where the report is, or why it isn't there: whatever goes wrong here, the run's outcome stays as it is."""
    try:
        api = cluster()
        return Report(name=_put(api, run, text_of(run, api.application, mask)))
    except NoClusterError as error:
        return Report(missing=f"no report was written: {error}")
    except RequestError as error:
        return Report(missing=f"no report was written: {mask(str(error))}{_advice(error, run)}")
    except Exception as error:  # noqa: BLE001 - told like any other obstacle
        return Report(missing=f"no report was written: {type(error).__name__}: {mask(str(error))}")


def _advice(error: RequestError, run: ReportedRun) -> str:
    if error.code != 403:
        return ""
    return (
        ": let the driver's service account create, get and patch configmaps in namespace "
        f"{run.plan.job.namespace}"
    )


def _put(api: Cluster, run: ReportedRun, text: str) -> str:
    """Creates the ConfigMap, or replaces the report of this job that is there. Of another owner's nothing is changed."""
    namespace = quote(run.plan.job.namespace, safe="")
    body = manifest(run, api.application, text)
    name = body["metadata"]["name"]
    place = f"/api/v1/namespaces/{namespace}/configmaps"
    try:
        api.request("POST", place, body)
    except RequestError as error:
        if error.code != _CONFLICT:
            raise
        there = api.request("GET", f"{place}/{name}")["metadata"]
        if run.plan.job.uid not in {owner["uid"] for owner in there.get("ownerReferences", [])}:
            raise RequestError(
                f"there is a ConfigMap {name} that does not belong to this job: delete it"
            ) from None
        changed = {"metadata": {"resourceVersion": there["resourceVersion"]}, "data": body["data"]}
        api.request("PATCH", f"{place}/{name}", changed, MERGE)
    return str(name)


def manifest(run: ReportedRun, application: str, text: str) -> dict[str, Any]:
    job = run.plan.job
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": name_of(application),
            "namespace": job.namespace,
            "labels": {
                "sluice.dev/job": job.name[:63].rstrip("-."),
                "sluice.dev/job-uid": job.uid,
                "sluice.dev/attempt": str(run.plan.attempt),
            },
            "ownerReferences": [
                {
                    "apiVersion": "sluice.dev/v1alpha1",
                    "kind": "DeltaWriteJob",
                    "name": job.name,
                    "uid": job.uid,
                    # Anything else would need the right to change the job's finalizers.
                    "blockOwnerDeletion": False,
                }
            ],
        },
        "data": {KEY: text},
    }


def text_of(run: ReportedRun, application: str, mask: Callable[[str], str]) -> str:
    """The report as JSON of at most 256 KiB, which says so if something was left out of it."""
    text = ""
    for document in _ever_shorter(_document(run, application, mask)):
        text = json.dumps(document, ensure_ascii=False, indent=1)
        if len(text.encode(errors="replace")) <= MAX_BYTES:
            break
    return text.encode(errors="replace").decode()


def _ever_shorter(whole: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield whole
    for limit in _MESSAGES:
        whole = _without(whole, "messages")
        if "exception" in whole:
            shortened = whole["exception"]["message"][:limit]
            whole = whole | {"exception": whole["exception"] | {"message": shortened}}
        yield whole
    for part in ("settings", "tables", "unread"):
        whole = _without(whole, part, **{part: None})
        yield whole
    count = len(whole["statements"])
    while count > 0:
        count //= 2
        whole = _without(whole, "statements", statements=whole["statements"][-count:] if count else [])
        yield whole


def _without(document: dict[str, Any], part: str, **changes: Any) -> dict[str, Any]:
    cut = list(dict.fromkeys([*document.get("cut", []), part]))
    return {name: value for name, value in {**document, **changes, "cut": cut}.items() if value is not None}


def _document(run: ReportedRun, application: str, mask: Callable[[str], str]) -> dict[str, Any]:
    plan, result = run.plan, run.result
    document: dict[str, Any] = {
        "version": VERSION,
        "job": {"namespace": plan.job.namespace, "name": plan.job.name, "uid": plan.job.uid},
        "application": application,
        "runKey": plan.run_key,
        "specHash": plan.spec_hash,
        "attempt": result.attempt,
        "token": plan.token,
        "outcome": result.outcome,
        "started": run.started,
        "ended": run.ended,
        "versions": {
            "runner": __version__,
            "python": platform.python_version(),
            **run.seen.versions,
        },
        "settings": {name: mask(value) for name, value in sorted(run.seen.settings.items())},
        "statements": [_statement(statement) for statement in result.statements],
        "tables": [_masked(facts, mask) for facts in run.seen.tables],
    }
    if run.seen.unread:
        document["unread"] = [mask(told) for told in run.seen.unread]
    if result.failure is not None:
        document["exception"] = _exception(result, result.failure, mask)
    return document


def _masked(value: Any, mask: Callable[[str], str], name: str = "") -> Any:
    """Locations stay as they are, here as elsewhere: they tell which table is meant."""
    if isinstance(value, str):
        return value if name == "location" else mask(value)
    if isinstance(value, Mapping):
        return {key: _masked(inner, mask, key) for key, inner in value.items()}
    return [_masked(inner, mask) for inner in value] if isinstance(value, list) else value


def _statement(statement: StatementResult) -> dict[str, Any]:
    return {
        "number": statement.number,
        "state": statement.state,
        "operation": statement.operation,
        "commits": [
            {
                "table": commit.table,
                "version": commit.version,
                "operation": commit.operation,
                "metrics": dict(commit.metrics),
            }
            for commit in statement.commits
        ],
    }


def _exception(result: Result, failure: Failure, mask: Callable[[str], str]) -> dict[str, Any]:
    winner = result.winner
    return {
        "class": failure.name,
        "javaClass": failure.java_class,
        "errorClass": failure.error_class,
        "message": mask(failure.message),
        "statement": result.failed_statement,
        "conflictingCommit": None
        if winner is None
        else {
            "table": winner.table,
            "version": winner.version,
            "operation": winner.operation,
            "stamp": winner.stamp,
        },
    }
