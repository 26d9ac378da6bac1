"""The plan that tells the runner what to do, packed so that it survives the way through Kubernetes and spark-submit.

Plain text would not: Kubernetes expands `$(X)` in arguments, and Linux limits one argument to 128 KiB.
"""

import base64
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sluice.api.job import DeltaWriteJobSpec, Stream
from sluice.api.tables import TableRef
from sluice.engines.bound_names import BoundName, bound_names
from sluice.engines.profile import RuntimeProfile
from sluice.footprint import Days, TableFootprint, Texts, promise_at, text_of, texts_of
from sluice.predicates import is_told_in, to_sql
from sluice.tables import Names, TableKey

PLAN_VERSION = 2
APPLICATION_VARIABLE = "SLUICE_APPLICATION"
"""The environment variable that tells the runner its application: its report and its driver's pod are called after it."""
PLAN_VARIABLE = "SLUICE_PLAN"
"""The environment variable that brings a user's own application its plan."""
_TIME_ZONE = "spark.sql.session.timeZone"
_CHUNK = 96 * 1024
_LONGEST_CONDITION = 16 * 1024
"""Characters; where a longer one says what is touched, the runner doesn't look whether it is."""


@dataclass(frozen=True)
class PlannedRun:
    """By what Delta knows the commits of a run, so that another attempt of it leaves out what is done."""

    app_id: str
    closes: bool
    """Whether the id is the run key's own, so that the run is ended under it for good."""
    first_token: int
    """The token of the job's first attempt under it."""


def plan_for(
    job: dict[str, str],
    spec: DeltaWriteJobSpec,
    profile: RuntimeProfile,
    *,
    run_key: str,
    spec_hash: str,
    attempt: int,
    token: int,
    touched: Sequence[TableFootprint] = (),
    names: Names | None = None,
    run: PlannedRun | None = None,
    days: Days | None = None,
) -> dict[str, Any]:
    """`touched`: what the job was judged to touch, by which the runner looks at its commits. `names`: where names led then.
    `run`: absent for a job that has one attempt, and no run key. `days`: those that it was judged by."""
    plan: dict[str, Any] = {
        "version": PLAN_VERSION,
        "job": job,
        "runKey": run_key,
        "specHash": spec_hash,
        "attempt": attempt,
        "token": token,
    }
    if spec.application is None:
        plan["assumed"] = {
            "sparkVersion": profile.spark_version,
            "deltaVersion": profile.delta_version,
            "sparkConf": profile.spark_conf,
        }
        if days is not None:
            plan["assumed"]["days"] = {"first": days.first.isoformat(), "last": days.last.isoformat()}
    texts = texts_of(spec)
    if spec.writes is not None:
        plan["writes"] = [text_of(texts, promise_at(number)) for number in range(len(spec.writes))]
    if spec.sql is not None:
        plan["sql"] = {"statements": _statements(texts, "spec.sql")}
    elif spec.write is not None:
        plan["write"] = spec.write.model_dump(mode="json", by_alias=True, exclude_none=True)
        if spec.write.replace_where is not None:
            plan["write"]["replaceWhere"] = text_of(texts, "spec.write.replaceWhere")
        if spec.write.source.sql is not None:
            plan["write"]["source"]["sql"] = text_of(texts, "spec.write.source.sql")
        _by_environment(plan["write"]["source"])
    elif spec.stream is not None:
        plan["stream"] = _stream(spec.stream, texts)
    else:
        plan["application"] = {}
    if touched:
        is_declared = spec.footprint is not None
        zone = profile.spark_conf.get(_TIME_ZONE)
        plan["touched"] = [_touched(footprint, zone, is_declared=is_declared) for footprint in touched]
    if run is not None:
        plan["run"] = run_in_plan(run, touched)
    bound = _names(spec, texts, names or Names(), profile.spark_conf)
    if bound and spec.application is None:
        plan["names"] = bound
    return plan


def _stream(stream: Stream, texts: Texts) -> dict[str, Any]:
    plan = stream.model_dump(
        mode="json", by_alias=True, exclude_none=True, include={"source", "table", "checkpoint", "trigger"}
    )
    if stream.query is not None:
        plan["query"] = text_of(texts, "spec.stream.query")
    if stream.sql is not None:
        plan["statements"] = _statements(texts, "spec.stream.sql")
    _by_environment(plan["source"])
    return plan


def _statements(texts: Texts, place: str) -> list[dict[str, Any]]:
    return [
        {"number": statement.number, "text": statement.runs, "line": statement.line}
        for statement in texts[place]
    ]


def _by_environment(source: dict[str, Any]) -> None:
    """Options from Secrets come through the driver's environment."""
    source["optionsFromEnv"] = {
        secret["option"]: option_variable(index) for index, secret in enumerate(source.pop("optionsFrom", []))
    }


def run_in_plan(run: PlannedRun, touched: Sequence[TableFootprint]) -> dict[str, Any]:
    return {
        "appId": run.app_id,
        "closes": run.closes,
        "firstToken": run.first_token,
        "tables": [_target(key) for key in dict.fromkeys(footprint.table for footprint in touched)],
    }


def _names(
    spec: DeltaWriteJobSpec, texts: Texts, names: Names, spark_conf: Mapping[str, str]
) -> list[dict[str, Any]]:
    written = [table.name for table in _written(spec) if table.name is not None]
    runs = [statement.runs for statements in texts.values() for statement in statements]
    return [_told(one) for one in bound_names(runs, written, names, spark_conf)]


def _written(spec: DeltaWriteJobSpec) -> Iterator[TableRef]:
    """Tables that are named outside of texts."""
    if spec.write is not None:
        yield spec.write.table
    if spec.stream is not None and spec.stream.table is not None:
        yield spec.stream.table


def _told(one: BoundName) -> dict[str, Any]:
    told = {"name": one.name, "path": _as_written(one.table)}
    return told | {"reported": True} if one.is_reported else told


def _touched(footprint: TableFootprint, zone: str | None, *, is_declared: bool) -> dict[str, Any]:
    """The runner understands conditions by the settings that the job begins with: what is told by another zone's clocks,
    which a statement has set, is left out."""
    # What is declared is declared of the job as a whole.
    statement = None if is_declared else footprint.statement
    found: dict[str, Any] = {"statement": statement, "table": _target(footprint.table)}
    for name, region in (("adds", footprint.adds), ("removes", footprint.removes)):
        condition = to_sql(region)
        if not region.is_everything and len(condition) <= _LONGEST_CONDITION and is_told_in(region, zone):
            found[name] = condition
    return found


def _target(key: TableKey) -> dict[str, str]:
    return {"name": key.text} if key.is_name else {"path": _as_written(key)}


def _as_written(key: TableKey) -> str:
    """The location under the scheme by which the job's settings know its store."""
    return f"{key.scheme}:{key.text.partition(':')[2]}" if key.scheme else key.text


def option_variable(index: int) -> str:
    """The environment variable that carries a source's option from a Secret."""
    return f"SLUICE_SOURCE_OPTION_{index}"


def plan_arguments(plan: dict[str, Any]) -> list[str]:
    packed = _packed(plan)
    return [f"--plan={packed[start : start + _CHUNK]}" for start in range(0, len(packed), _CHUNK)]


def plan_variable(plan: dict[str, Any]) -> dict[str, str]:
    """The environment variable that brings an application its plan. It takes no more than one argument does: where the
    conditions of what is touched need more, the driver doesn't look whether it is."""
    packed = _packed(plan)
    if len(packed) > _CHUNK:
        packed = _packed({name: content for name, content in plan.items() if name != "touched"})
    return {"name": PLAN_VARIABLE, "value": packed}


def plan_from_arguments(arguments: list[str]) -> dict[str, Any]:
    return unpacked("".join(a.removeprefix("--plan=") for a in arguments if a.startswith("--plan=")))


def unpacked(packed: str) -> dict[str, Any]:
    plan: dict[str, Any] = json.loads(zlib.decompress(base64.b64decode(packed)))
    return plan


def _packed(plan: dict[str, Any]) -> str:
    text = json.dumps(plan, separators=(",", ":"), ensure_ascii=False)
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()
