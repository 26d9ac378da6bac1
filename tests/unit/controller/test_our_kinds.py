"""kopf brings jobs and policies, and does nothing beside that with them."""

from typing import Any, NoReturn, cast

import kopf

from sluice.controller.our_kinds import settle
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
