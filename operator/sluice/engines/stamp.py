"""The mark by which the commits of a user's own application are told from others', without any code of its own: Delta puts the
setting's value into each commit. A runner's stamps name the statement, too."""

import json
from collections.abc import Mapping
from typing import Any

from sluice.api import names

USER_METADATA = "spark.databricks.delta.commitInfo.userMetadata"


def stamping(plan: Mapping[str, Any]) -> dict[str, str]:
    """The setting by which each commit of this attempt carries its stamp."""
    job = plan["job"]
    content = {
        "runKey": plan["runKey"],
        "specHash": plan["specHash"],
        "job": f"{job['namespace']}/{job['name']}",
        "uid": job["uid"],
        "attempt": plan["attempt"],
        "token": plan["token"],
    }
    return {USER_METADATA: json.dumps({names.STAMP: content}, separators=(",", ":"))}
