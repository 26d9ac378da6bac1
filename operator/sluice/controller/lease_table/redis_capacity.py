"""Whether Redis has room for another lease, as it said when it was last asked for one."""

import time

from sluice.api.operator_status import OperatorConditionType
from sluice.controller.process.operator_conditions import OperatorConditions
from sluice.leases.endpoint import Endpoint

COUNTS = 15.0
"""Seconds for which a refusal counts: whoever waits asks again before that, and nobody else would find that there is room again."""


class RedisCapacity:
    def __init__(self, redis: Endpoint, conditions: OperatorConditions) -> None:
        self._redis = redis
        self._conditions = conditions
        self._why: str | None = None
        self._said_at = 0.0

    @property
    def lacks(self) -> str | None:
        """Why nothing new can be granted."""
        return self._why if time.monotonic() - self._said_at < COUNTS else None

    def is_lacking(self, error: Exception) -> None:
        self._said_at = time.monotonic()
        self._why = (
            f"Redis at {self._redis.address} is full ({error}); leases end as ever, and nothing new is granted until there is "
            "room: raise its maxmemory, or wait for jobs that run"
        )
        self._conditions.fails(OperatorConditionType.LEASE_TABLE_USABLE, "RedisFull", self._why)

    def is_there(self) -> None:
        self._why = None
