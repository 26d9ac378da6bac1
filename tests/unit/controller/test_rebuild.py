"""What a forgotten lease table is put together from, and what is said where that cannot be read."""

from typing import Any

import pytest

from sluice.api import names
from sluice.controller import rebuild
from sluice.controller.world import World
from sluice.leases import Epochs, Grant, Lease

LEASE = Lease("uid-1", 1, "hash", "etl/nightly", ("file:/lake/orders",))
TOKEN = Epochs.token(3, 7)


def held_pod(**annotations: str | None) -> dict[str, Any]:
    """As a list gives it: without its kind."""
    written = {
        names.ANNOTATION_LEASE: LEASE.to_json(),
        names.ANNOTATION_TOKEN: str(TOKEN),
        **{getattr(names, f"ANNOTATION_{name}"): value for name, value in annotations.items()},
    }
    return {
        "metadata": {
            "name": "nightly-1-driver",
            "namespace": "etl",
            "uid": "pod-uid",
            "resourceVersion": "5",
            "labels": {names.LABEL_JOB_UID: LEASE.uid, names.LABEL_ATTEMPT: "1"},
            "finalizers": [names.FINALIZER_LEASE],
            "annotations": {name: value for name, value in written.items() if value is not None},
        }
    }


def world_with(pod: dict[str, Any]) -> World:
    world = World({})
    world.pod_seen(pod)
    return world


def test_a_driver_alone_brings_its_leases_back() -> None:
    world = world_with(held_pod())
    assert rebuild.grants(world) == [Grant(LEASE, TOKEN)]
    assert rebuild.highest_epoch(world) == 3


@pytest.mark.parametrize("lease", [None, "{", "[]", '{"uid": "uid-1"}', '{"tables": 5}'])
def test_a_lease_that_cannot_be_read_is_named_and_not_left_out(lease: str | None) -> None:
    with pytest.raises(
        rebuild.UnreadableLeaseError, match=r"Pod etl/nightly-1-driver holds leases.*put them back"
    ):
        rebuild.grants(world_with(held_pod(LEASE=lease)))


def test_a_lease_that_cannot_be_read_is_taken_from_another_that_saw_it() -> None:
    world = world_with(held_pod(LEASE=None))
    application = held_pod()
    application["metadata"] |= {"name": "nightly-1", "uid": "application-uid"}
    world.application_seen(application)
    assert rebuild.grants(world) == [Grant(LEASE, TOKEN)]


@pytest.mark.parametrize("name", ["TOKEN", "WRITER_EPOCH"])
def test_a_token_that_is_no_number_is_named(name: str) -> None:
    with pytest.raises(
        rebuild.UnreadableLeaseError, match=r"Pod etl/nightly-1-driver: its annotation .* 'seven'"
    ):
        rebuild.highest_epoch(world_with(held_pod(**{name: "seven"})))


def test_what_was_let_go_holds_nothing() -> None:
    pod = held_pod(LEASE=None)
    pod["metadata"]["finalizers"] = ["of/others"]
    assert rebuild.grants(world_with(pod)) == []
