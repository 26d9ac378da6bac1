"""The plan that tells the runner what to do, packed so that it survives the way through Kubernetes and spark-submit.

Plain text would not: Kubernetes expands `$(X)` in arguments, and Linux limits one argument to 128 KiB.
"""

import base64
import json
import zlib
from typing import Any

from sluice.api.job import DeltaWriteJobSpec
from sluice.footprint import split

PLAN_VERSION = 1
_CHUNK = 96 * 1024


def plan_for(
    job: dict[str, str], spec: DeltaWriteJobSpec, *, run_key: str, spec_hash: str, attempt: int, token: int
) -> dict[str, Any]:
    plan: dict[str, Any] = {
        "version": PLAN_VERSION,
        "job": job,
        "runKey": run_key,
        "specHash": spec_hash,
        "attempt": attempt,
        "token": token,
        "parameters": {
            name: value.model_dump(mode="json", by_alias=True, exclude_none=True)
            for name, value in (spec.parameters or {}).items()
        },
    }
    if spec.sql is not None:
        statements = [
            {"number": statement.number, "text": statement.text, "line": statement.line}
            for statement in split(spec.sql)
        ]
        plan["sql"] = {"statements": statements}
    elif spec.write is not None:
        plan["write"] = spec.write.model_dump(mode="json", by_alias=True, exclude_none=True)
        secrets = plan["write"]["source"].pop("optionsFrom", [])
        plan["write"]["source"]["optionsFromEnv"] = {
            secret["option"]: option_variable(index) for index, secret in enumerate(secrets)
        }
    else:
        raise ValueError("only sql and write jobs have a plan for the runner")
    return plan


def option_variable(index: int) -> str:
    """The environment variable that carries a source's option from a Secret."""
    return f"SLUICE_SOURCE_OPTION_{index}"


def plan_arguments(plan: dict[str, Any]) -> list[str]:
    text = json.dumps(plan, separators=(",", ":"), ensure_ascii=False)
    packed = base64.b64encode(zlib.compress(text.encode(), 9)).decode()
    return [f"--plan={packed[start : start + _CHUNK]}" for start in range(0, len(packed), _CHUNK)]


def plan_from_arguments(arguments: list[str]) -> dict[str, Any]:
    packed = "".join(a.removeprefix("--plan=") for a in arguments if a.startswith("--plan="))
    plan: dict[str, Any] = json.loads(zlib.decompress(base64.b64decode(packed)))
    return plan
