"""kopf brings policies, and does nothing beside that with them."""

import asyncio
from typing import Any, NoReturn, cast

import kopf
import pytest

from sluice.controller.policy_work import policy_watch
from sluice.controller.policy_work.policy_watch import are_discovered, settle
from sluice.kube.client import ApiError
from sluice.kube.resources import POLICIES, Resource
from unit.controller.bodies import job_body


class Uncopied(dict[str, Any]):
    def __deepcopy__(self, _: Any) -> NoReturn:
        raise AssertionError("a body is copied for an event")


def test_no_body_is_copied_for_an_event() -> None:
    settings = kopf.OperatorSettings()
    settle(settings)
    body = kopf.Body(cast("kopf.RawBody", job_body("a") | {"spec": Uncopied(sql="...")}))
    diffbase, progress = settings.persistence.diffbase_storage, settings.persistence.progress_storage
    assert diffbase.fetch(body=body) is None
    essence = progress.clear(essence=diffbase.build(body=body))
    assert essence == {}


def test_a_silent_watch_of_kopf_is_given_up_within_half_a_minute() -> None:
    settings = kopf.OperatorSettings()
    settle(settings)
    assert settings.watching.server_timeout is not None
    assert settings.watching.client_timeout is not None
    assert settings.watching.server_timeout < settings.watching.client_timeout <= 30


class Starting:
    """Stands in for an API server that comes back, and gives these answers in turn."""

    def __init__(self, *answers: Exception | bool) -> None:
        self.answers = list(answers)

    async def is_discovered(self, resource: Resource) -> bool:
        assert resource is POLICIES
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


async def test_kopf_is_not_started_before_the_api_server_names_policies(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It would look once, find nothing to watch, and bring no policy any more."""
    monkeypatch.setattr(policy_watch, "LOOK_EVERY", 0.0)
    kube: Any = Starting(ApiError(503, "ServiceUnavailable", "not yet"), False, False, True)
    assert await are_discovered(kube, asyncio.Event())
    assert kube.answers == []
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == 2
    assert "knows no deltatablepolicies of sluice.dev" in told[1]


async def test_nobody_waits_for_kinds_once_it_is_to_stop() -> None:
    stop = asyncio.Event()
    stop.set()
    kube: Any = Starting()
    assert not await are_discovered(kube, stop)
