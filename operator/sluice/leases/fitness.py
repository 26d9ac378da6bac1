"""Whether a Redis can keep leases, as its INFO tells. That right is the only one it takes: servers that others run often refuse
CONFIG."""

import re
from collections.abc import Mapping
from typing import Any

OLDEST = (6, 2)
EVICTS_NOTHING = "noeviction"


class UnfitError(ValueError):
    """This Redis cannot keep leases."""


def unfit(info: Mapping[str, Any]) -> str | None:
    """Why it cannot, and what to do; None if it can. What INFO does not tell counts against it."""
    return _of_another_kind(info) or _forgetful(info)


def _of_another_kind(info: Mapping[str, Any]) -> str | None:
    version = str(info.get("redis_version"))
    number = re.match(r"(\d+)\.(\d+)", version)
    mode = info.get("server_mode", info.get("redis_mode"))  # as Valkey calls it, and as Redis does
    if mode == "sentinel":
        return "it is a Sentinel, which keeps no leases: name it by redis+sentinel://HOST:PORT/MASTER"
    if number is None or (int(number[1]), int(number[2])) < OLDEST:
        return f"its version is {version}: {'.'.join(map(str, OLDEST))} or later is needed"
    if mode == "cluster" or info.get("cluster_enabled") != 0:
        return (
            "it is a Redis Cluster, which moves keys between servers: use a Redis without cluster mode, with replicas "
            "and Sentinels if it has to be there all the time"
        )
    if info.get("role") != "master":
        master = f" of {info['master_host']}:{info.get('master_port')}" if "master_host" in info else ""
        return (
            f"it is a replica{master}, which takes no leases: name its master, or the Sentinels that know it, by "
            "redis+sentinel://HOST:PORT/MASTER"
        )
    return None


def _forgetful(info: Mapping[str, Any]) -> str | None:
    if not info.get("run_id"):
        return "its INFO has no run_id, by which a restart is noticed: use a server that tells it"
    policy = info.get("maxmemory_policy")
    if policy != EVICTS_NOTHING:
        return f"it may evict leases, because its maxmemory-policy is {policy}: set it to {EVICTS_NOTHING}"
    return None
