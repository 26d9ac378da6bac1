"""What a plan changes is changed: afterwards the same policy finds nothing more to do, whatever the table was."""

import contextlib
import random
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from sluice.api.policy import DeltaTablePolicySpec, PolicyTable
from sluice.delta.features import WANTED
from sluice.policies.alteration import Alteration, ClusterBy, SetProperties
from sluice.policies.difference import AlterationPlan, plan_of
from sluice.tables.table_observation import TableState
from unit.policies.model_table import RefusedError, applied
from unit.policies.specs import spec_of

_BOOLEANS = ("true", "false", "TRUE", "False")
_INTERVALS = ("7 days", "interval 1 week", "168 hours", "2 days", "30 days", "interval 60 DAYS")
_VALUES: dict[str, tuple[str, ...]] = {
    "delta.appendOnly": _BOOLEANS,
    "delta.autoOptimize.autoCompact": _BOOLEANS,
    "delta.checkpointInterval": ("10", "010", "20"),
    "delta.checkpointPolicy": ("classic", "v2"),
    "delta.columnMapping.mode": ("none", "name", "NAME", "id"),
    "delta.compatibility.symlinkFormatManifest.enabled": _BOOLEANS,
    "delta.dataSkippingNumIndexedCols": ("-1", "1", "32"),
    "delta.dataSkippingStatsColumns": ("a", "A,b", "day", "missing"),
    "delta.dataSkippingStringPrefixLength": ("64",),
    "delta.deletedFileRetentionDuration": _INTERVALS,
    "delta.enableChangeDataFeed": _BOOLEANS,
    "delta.enableDeletionVectors": _BOOLEANS,
    "delta.enableIcebergCompatV1": _BOOLEANS,
    "delta.enableIcebergCompatV2": _BOOLEANS,
    "delta.enableIcebergCompatV3": _BOOLEANS,
    "delta.enableRowTracking": _BOOLEANS,
    "delta.enableTypeWidening": _BOOLEANS,
    "delta.isolationLevel": ("Serializable", "serializable"),
    "delta.logRetentionDuration": _INTERVALS,
    "delta.setTransactionRetentionDuration": _INTERVALS,
    "delta.universalFormat.enabledFormats": ("", "iceberg", "hudi", "iceberg,hudi"),
    "team": ("", "sales", "Sales"),
    "it's `odd`\\": ("${value}\n'",),
}
_PAIRS = [(name, value) for name, values in _VALUES.items() for value in values]
_SOME = st.lists(st.sampled_from(_PAIRS), max_size=8, unique_by=lambda pair: pair[0]).map(dict)
_FEATURES = st.lists(st.sampled_from(sorted(WANTED)), max_size=3, unique=True)
_CLUSTERED = st.lists(st.sampled_from(["a", "b", "c.d", "B.x", "missing"]), max_size=4, unique=True)
_VERSIONS = st.sampled_from([None, (3, 3), (4, 0), (4, 1), (4, 4)])
_OLD_PROTOCOLS = st.sampled_from([(1, 1), (1, 2), (1, 4), (2, 5), (1, 7), (3, 7)])


def _table(
    protocol: tuple[int, int], properties: dict[str, str], layout: tuple[str, ...] | str, has_ids: bool
) -> TableState:
    """A table as statements make it that Delta takes, one after the other."""
    reader, writer = protocol
    state = TableState(
        version=0,
        reader_version=reader,
        writer_version=writer,
        partition_by=(layout,) if isinstance(layout, str) else (),
        columns=("a", "B", "c.d", "day"),
    )
    if has_ids:
        state = replace(
            applied(state, SetProperties(_TABLE, {"delta.columnMapping.mode": "name"})),
            properties={"delta.columnMapping.mode": "id"},
        )
    changes: list[Alteration] = [SetProperties(_TABLE, {name: value}) for name, value in properties.items()]
    if not isinstance(layout, str):
        changes.append(ClusterBy(_TABLE, tuple((column,) for column in layout)))
    for change in changes:
        with contextlib.suppress(RefusedError):
            state = applied(state, change)
    return state


_TABLE = PolicyTable(path="s3://lake/orders")
_TABLES = st.builds(
    _table,
    _OLD_PROTOCOLS,
    _SOME,
    st.sampled_from(["day", (), ("a",), ("B", "a")]),
    st.sampled_from([False, False, False, True]),
)


def _is_taken(fields: dict[str, Any]) -> bool:
    try:
        spec_of(**fields)
    except ValidationError:  # it contradicts itself
        return False
    return True


_POLICIES = st.fixed_dictionaries(
    {"properties": _SOME, "features": _FEATURES.map(lambda names: names or None)},
    optional={"clusterBy": _CLUSTERED, "allowIrreversible": st.just(True)},
).filter(_is_taken)


def _changed(plan: AlterationPlan, state: TableState, version: tuple[int, int] | None) -> TableState:
    for change in plan.changes:
        state = applied(state, change, version)  # raises if Delta would refuse it
    return state


@settings(max_examples=200, deadline=None)
@given(_POLICIES, _TABLES, _VERSIONS)
def test_after_its_changes_a_plan_changes_nothing_more(
    fields: dict[str, Any], state: TableState, version: tuple[int, int] | None
) -> None:
    spec = spec_of(**fields)
    plan = plan_of(spec, state, version)
    assert [type(change) for change in plan.changes] in (
        [],
        [SetProperties],
        [ClusterBy],
        [SetProperties, ClusterBy],
    )
    after = _changed(plan, state, version)
    remaining = plan_of(spec, after, version)
    tried = {difference.field for difference in plan.differences if difference.is_tried}
    left = {difference.field for difference in remaining.differences}
    assert not tried & left
    for _ in range(3):  # what had to wait until something else was off
        after = _changed(remaining, after, version)
        remaining = plan_of(spec, after, version)
    assert remaining.changes == ()
    assert not [difference for difference in remaining.differences if difference.is_tried]


@settings(max_examples=100, deadline=None)
@given(_POLICIES, _TABLES, _VERSIONS)
def test_no_change_sets_what_the_table_has_already(
    fields: dict[str, Any], state: TableState, version: tuple[int, int] | None
) -> None:
    plan = plan_of(spec_of(**fields), state, version)
    for change in plan.changes:
        if isinstance(change, SetProperties):
            new = {name for name, value in change.properties.items() if state.properties.get(name) != value}
            others = {"delta.logRetentionDuration", "delta.deletedFileRetentionDuration"}
            assert new
            assert set(change.properties) - new <= others
        else:
            assert sorted(".".join(path).lower() for path in change.columns) != sorted(
                column.lower() for column in state.cluster_by or ()
            )


@settings(max_examples=100, deadline=None)
@given(_POLICIES, _TABLES, st.randoms(use_true_random=False))
def test_the_order_of_keys_changes_nothing(
    fields: dict[str, Any], state: TableState, by: random.Random
) -> None:
    def shuffled(entries: dict[str, str]) -> dict[str, str]:
        items = list(entries.items())
        by.shuffle(items)
        return dict(items)

    one = plan_of(spec_of(**fields), state, (4, 4))
    fields["properties"] = shuffled(fields["properties"])
    fields["features"] = (fields["features"] or [])[::-1] or None
    other = plan_of(spec_of(**fields), replace(state, properties=shuffled(dict(state.properties))), (4, 4))
    assert [change.sql for change in one.changes] == [change.sql for change in other.changes]
    assert one.differences == other.differences
    assert sorted(one.problems) == sorted(other.problems)


@settings(max_examples=100, deadline=None)
@given(_POLICIES, _TABLES, _VERSIONS)
def test_nothing_that_cannot_be_taken_back_is_changed_unless_it_is_allowed(
    fields: dict[str, Any], state: TableState, version: tuple[int, int] | None
) -> None:
    spec = spec_of(**{**fields, "allowIrreversible": False})
    after = _changed(plan_of(spec, state, version), state, version)
    assert after.reader_version == state.reader_version
    assert after.writer_version == state.writer_version
    assert (after.reader_features, after.writer_features) == (state.reader_features, state.writer_features)


def test_a_spec_that_wants_nothing_changes_nothing() -> None:
    assert (
        plan_of(DeltaTablePolicySpec.model_validate({"table": {"name": "a"}}), TableState(), None)
        == AlterationPlan()
    )
