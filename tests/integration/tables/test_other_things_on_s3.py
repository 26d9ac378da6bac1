"""A look at S3 tells what else lies where a table would be, with keys of the environment."""

import pytest

from devenv.s3_server import S3Server
from integration.tables.store_proxy import StoreProxy, s3_error
from sluice.tables import key_of_path
from sluice.tables.table_observation import TableState
from sluice.tables.table_observer import TableObserver


def seen(path: str) -> TableState:
    return TableObserver().look(key_of_path(path)).state


@pytest.mark.usefixtures("signed_in")
@pytest.mark.parametrize(
    ("folder", "names", "holds"),
    [
        ("plain", ["_SUCCESS", "part-0.parquet"], "part-0.parquet"),
        ("parted", ["date=2026-11-19/part-0.parquet"], "date=2026-11-19"),
        ("hidden", ["_started", ".crc"], None),
        ("pla", [], None),
        ("begun", ["_delta_log/_staged/a", "part-0.parquet"], None),
    ],
)
def test_what_lies_in_the_place_of_a_table_is_told(
    s3: S3Server, folder: str, names: list[str], holds: str | None
) -> None:
    for name in names:
        file = s3.bucket("lake") / folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    state = seen(f"s3://lake/{folder}")
    assert (state.exists, state.unread, state.holds) == (False, None, holds)


@pytest.mark.usefixtures("signed_in")
def test_a_name_of_any_characters_is_told_as_it_is(s3: S3Server) -> None:
    file = s3.bucket("lake") / "odd" / "a b+c%&<é.parquet"
    file.parent.mkdir()
    file.touch()
    assert seen("s3://lake/odd").holds == file.name


@pytest.mark.usefixtures("signed_in")
def test_that_there_is_no_table_counts_where_what_else_there_is_cannot_be_told(
    s3: S3Server, store: StoreProxy
) -> None:
    file = s3.bucket("lake") / "untold" / "part-0.parquet"
    file.parent.mkdir()
    file.touch()
    store.fault = lambda request: s3_error(403, "AccessDenied") if "max-keys=100" in request.target else None
    state = seen("s3://lake/untold")
    assert (state.exists, state.unread, state.holds) == (False, None, None)
