"""No two installations act on the same jobs, or keep their leases in the same place."""

import json
from dataclasses import replace

import pytest

from sluice.installations.claims import Claim, Identity, claimed, first_of, overlaps, unclaimed

OWN = Claim(
    Identity("cluster", "sluice", "sluice"),
    ("etl", "sales"),
    "redis:6379/0",
    "sluice:{sluice}",
    "2026-11-19T10:00:00Z",
    "0.1.0",
)
OTHER = replace(
    OWN,
    identity=Identity("cluster", "blue", "sluice"),
    namespaces=("blue",),
    redis="redis-blue:6379/0",
)


def beside(other: Claim) -> list[str]:
    return [found.why for found in overlaps(OWN, {other.identity.key: other.to_json()})]


def test_installations_that_share_nothing_stand_beside_each_other() -> None:
    assert beside(OTHER) == []
    assert beside(replace(OTHER, redis=OWN.redis, keys="sluice:{blue}")) == []


def test_one_namespace_that_both_watch_is_named() -> None:
    assert beside(replace(OTHER, namespaces=("blue", "sales"))) == ["both run the jobs of namespace sales"]


def test_of_many_namespaces_that_both_watch_the_first_are_named() -> None:
    many = tuple(f"team-{number}" for number in range(9))
    own, other = replace(OWN, namespaces=many), replace(OTHER, namespaces=many)
    [found] = overlaps(own, {other.identity.key: other.to_json()})
    assert found.why.endswith("team-0, team-1, team-2, team-3, team-4 and 4 more")


@pytest.mark.parametrize(
    ("claims", "left"),
    [
        ([OWN, OTHER], ("gold",)),
        ([OTHER], ("etl", "gold")),
        ([], ("blue", "etl", "gold")),
        ([replace(OTHER, namespaces=())], ()),
    ],
)
def test_namespaces_that_no_claim_covers_are_told(claims: list[Claim], left: tuple[str, ...]) -> None:
    data = {one.identity.key: one.to_json() for one in claims}
    assert unclaimed(["gold", "etl", "blue", "etl"], data) == left
    assert unclaimed(["gold"], data | {"other.sluice": "not a claim"}) == ()


def test_of_many_claims_the_first_are_named_and_how_many_more_there_are() -> None:
    assert first_of(["a.sluice", "b.sluice"]) == "a.sluice, b.sluice"
    many = [f"team-{number}.sluice" for number in range(300)]
    assert first_of(many) == f"{', '.join(many[:5])} and 295 more"


@pytest.mark.parametrize(
    ("own", "other", "told"),
    [
        (("etl",), (), "both run the jobs of namespace etl"),
        ((), ("blue",), "both run the jobs of namespace blue"),
        ((), (), "both run the jobs of all namespaces"),
    ],
)
def test_no_namespaces_are_all_of_them(own: tuple[str, ...], other: tuple[str, ...], told: str) -> None:
    claim = replace(OTHER, namespaces=other)
    found = overlaps(replace(OWN, namespaces=own), {claim.identity.key: claim.to_json()})
    assert [one.why for one in found] == [told]


def test_one_place_for_leases_is_an_overlap_though_the_namespaces_differ() -> None:
    assert beside(replace(OTHER, redis=OWN.redis)) == [
        "both keep their leases in Redis redis:6379/0 under sluice:{sluice}"
    ]


def test_the_own_claim_is_no_overlap_and_may_change() -> None:
    former = replace(OWN, namespaces=("etl",), since="2026-01-01T00:00:00Z")
    data = {former.identity.key: former.to_json(), OTHER.identity.key: OTHER.to_json()}
    assert overlaps(OWN, data) == []
    now = claimed(OWN, data, set())
    assert Claim.from_json(now[OWN.identity.key]) == replace(OWN, since="2026-01-01T00:00:00Z")
    assert now[OTHER.identity.key] == data[OTHER.identity.key]


def test_what_a_backup_of_another_cluster_claims_does_not_count() -> None:
    restored = replace(OTHER, namespaces=(), identity=replace(OTHER.identity, cluster="former"))
    assert beside(restored) == []
    own_before = replace(OWN, identity=replace(OWN.identity, cluster="former"), since="2026-01-01T00:00:00Z")
    now = claimed(OWN, {own_before.identity.key: own_before.to_json()}, set())
    assert Claim.from_json(now[OWN.identity.key]) == OWN


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"namespaces": 1}', "[" * 100_000])
def test_a_claim_that_cannot_be_read_is_an_overlap(text: str) -> None:
    (found,) = overlaps(OWN, {"blue.sluice": text})
    assert found.other is None
    assert "cannot be read" in found.why


@pytest.mark.parametrize("field", ["cluster", "namespace", "deployment", "redis", "keys", "since", "version"])
def test_a_claim_with_half_a_character_cannot_be_read(field: str) -> None:
    text = json.dumps(json.loads(OTHER.to_json()) | {field: "\ud800"})
    (found,) = overlaps(OWN, {"blue.sluice": text})
    assert found.other is None
    assert found.why == (
        "its claim cannot be read: one of its texts holds half a character, which nothing can write"
    )


def test_a_claim_of_a_namespace_with_half_a_character_cannot_be_read() -> None:
    text = json.dumps(json.loads(OTHER.to_json()) | {"namespaces": ["blue", "x\udc00"]})
    (found,) = overlaps(OWN, {"blue.sluice": text})
    assert found.other is None


def test_a_void_claim_goes_when_the_own_one_is_written() -> None:
    assert list(claimed(OWN, {OTHER.identity.key: OTHER.to_json()}, {OTHER.identity.key})) == [
        OWN.identity.key
    ]
