"""What can't be taken from `api/names.py`, because it must be written out, says the same."""

from typing import Any, get_args

import pytest
from pydantic import BaseModel

from sluice.api import DeltaTablePolicy, DeltaWriteJob, names


@pytest.mark.parametrize(
    ("model", "kind"), [(DeltaWriteJob, names.JOB_KIND), (DeltaTablePolicy, names.POLICY_KIND)]
)
def test_manifests_bear_the_version_and_the_kind_that_are_served(model: type[BaseModel], kind: str) -> None:
    def taken(field: str) -> tuple[Any, ...]:
        return get_args(model.model_fields[field].annotation)

    assert taken("api_version") == (names.API_VERSION,)
    assert taken("kind") == (kind,)
