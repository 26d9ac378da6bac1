"""Features are known by name, as Delta's versions know them."""

import pytest

from sluice.delta.features import BY_OTHER_MEANS, FEATURES, WANTED, why_irreversible, with_needed
from sluice.policies.state import features_of, why_unwritable
from sluice.tables.table_observation import TableState


def test_those_of_the_documentation_can_be_wanted() -> None:
    assert set(WANTED) == {
        "deletionVectors",
        "rowTracking",
        "columnMapping",
        "changeDataFeed",
        "inCommitTimestamp",
        "v2Checkpoint",
        "typeWidening",
    }


def test_what_comes_by_other_means_is_a_feature_that_cannot_be_wanted_by_its_name() -> None:
    assert set(BY_OTHER_MEANS) <= set(FEATURES) - set(WANTED)


@pytest.mark.parametrize(
    ("reader", "writer", "implied"),
    [
        (1, 1, set()),
        (1, 2, {"appendOnly", "invariants"}),
        (1, 3, {"appendOnly", "invariants", "checkConstraints"}),
        (1, 4, {"appendOnly", "invariants", "checkConstraints", "changeDataFeed", "generatedColumns"}),
        (
            2,
            5,
            {
                "appendOnly",
                "invariants",
                "checkConstraints",
                "changeDataFeed",
                "generatedColumns",
                "columnMapping",
            },
        ),
        (
            2,
            6,
            {
                "appendOnly",
                "invariants",
                "checkConstraints",
                "changeDataFeed",
                "generatedColumns",
                "columnMapping",
                "identityColumns",
            },
        ),
    ],
)
def test_an_old_protocol_implies_features_by_its_numbers(reader: int, writer: int, implied: set[str]) -> None:
    assert features_of(TableState(reader_version=reader, writer_version=writer)) == implied


def test_columns_are_not_mapped_for_readers_that_are_too_old_for_it() -> None:
    assert "columnMapping" not in features_of(TableState(reader_version=1, writer_version=5))


def test_a_protocol_that_lists_its_features_has_no_others() -> None:
    state = TableState(
        reader_version=3,
        writer_version=7,
        reader_features=frozenset({"deletionVectors"}),
        writer_features=frozenset({"deletionVectors", "rowTracking"}),
    )
    assert features_of(state) == {"deletionVectors", "rowTracking"}
    assert features_of(TableState(reader_version=1, writer_version=7)) == frozenset()


def test_what_a_feature_needs_comes_with_it() -> None:
    assert set(with_needed("clustering")) == {"clustering", "domainMetadata"}
    assert set(with_needed("icebergCompatV3")) == {
        "icebergCompatV3",
        "columnMapping",
        "rowTracking",
        "domainMetadata",
    }
    assert all(needed in FEATURES for name in FEATURES for needed in with_needed(name))


def test_it_is_told_which_version_takes_a_feature_out_again_if_any_does() -> None:
    assert why_irreversible(()) is None
    assert "DROP FEATURE takes it out again, from Delta 3.3 on" in str(why_irreversible({"v2Checkpoint"}))
    assert "DROP FEATURE takes it out again, from Delta 4.0 on" in str(why_irreversible({"deletionVectors"}))
    assert "DROP FEATURE takes it out again, from Delta 4.1 on" in str(
        why_irreversible({"rowTracking", "domainMetadata"})
    )
    assert "no version of Delta takes clustering out again" in str(
        why_irreversible({"clustering", "domainMetadata"})
    )


def _listing(*features: str) -> TableState:
    return TableState(reader_version=3, writer_version=7, writer_features=frozenset(features))


@pytest.mark.parametrize(
    ("state", "version", "why"),
    [
        (TableState(), (3, 3), None),
        (TableState(), None, None),
        (TableState(), (3, 2), "Sluice knows properties from 3.3 on"),
        (TableState(writer_version=8), (4, 4), "newer than any that Sluice knows"),
        (TableState(reader_version=4), (4, 4), "newer than any that Sluice knows"),
        (_listing("fancyFeature"), (4, 4), "its protocol has fancyFeature"),
        (_listing("variantType"), (4, 0), None),
        (_listing("variantType"), (3, 3), "its protocol needs Delta 4.0 or newer"),
        (_listing("variantType"), None, "do not say which version of Delta they run"),
        (_listing("catalogManaged"), (4, 4), "through a catalog or a coordinator"),
        (_listing("coordinatedCommits-preview"), (4, 4), "through a catalog or a coordinator"),
    ],
)
def test_a_table_that_the_jobs_could_not_write_is_told_from_others(
    state: TableState, version: tuple[int, int] | None, why: str | None
) -> None:
    found = why_unwritable(state, version)
    assert found is None if why is None else why in str(found)
