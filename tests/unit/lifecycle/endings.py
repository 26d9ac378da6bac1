"""How attempts end, for tests of what is made of it: what a driver's end shows, and a table's log where that doesn't tell."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sluice.api.job_status import Attempt
from sluice.controller.readers.run_commits import RunCommits
from sluice.engines import Observation, Stage
from sluice.lifecycle.evidence.log_findings import LogFindings
from sluice.lifecycle.evidence.outcome import closed, looked_at, must_ask_logs
from sluice.lifecycle.job.job_view import JobView
from sluice.tables.log import commits_of

BEGUN = datetime(2026, 11, 19, 10, tzinfo=UTC)
ATTEMPT = Attempt(number=1, token=1, hash="x", application="a-1", granted_at=BEGUN)


def stamped(path: Path, version: int, user_metadata: str) -> None:
    now = int(datetime.now(UTC).timestamp() * 1000)
    info = {"timestamp": now, "operation": "WRITE", "userMetadata": user_metadata}
    (path / "_delta_log" / f"{version:020}.json").write_text(json.dumps({"commitInfo": info}) + "\n")


def ended_with(exit_code: int, **result: Any) -> Observation:
    message = json.dumps({"version": 1, "attempt": 1} | result) if result else None
    return Observation(Stage.ENDED, exit_code=exit_code, message=message)


async def what_logs_say(job: JobView, attempt: Attempt, seen: Observation) -> LogFindings:
    logs = RunCommits(commits_of, lambda _: None)
    try:
        return await logs.what_logs_say(job, attempt, looked_at(seen))
    finally:
        logs.close()


async def closed_by_logs(job: JobView, attempt: Attempt, seen: Observation) -> Attempt:
    must_ask = must_ask_logs(seen, is_application=job.spec.application is not None)
    logs = await what_logs_say(job, attempt, seen) if must_ask else None
    return closed(attempt, seen, logs, datetime.now(UTC))
