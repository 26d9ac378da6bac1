"""Writers of delta-rs, by what its conflict checker does (C16-C24 in docs/sources.md), as far as statements can say it."""

from typing import Any

import pytest

from sluice.api.policy import DeltaTablePolicySpec
from sluice.conflicts import Level, Pair, Verdict, pair_of
from sluice.tables import declared_by, delta_rs
from unit.conflicts import pairs as p

RUST = delta_rs("1.3.0")
CF = "CommitFailedError"
REMOVES = [p.DELETE, p.DELETE_B, p.UPDATE_B, p.MERGE_B, p.OVERWRITE, p.REPLACE_WHERE_B, p.TRUNCATE]


def pair(first: str | dict[str, Any], second: str | dict[str, Any], **table: Any) -> Pair:
    known = p.facts(**{"dialect": RUST, **table})
    return pair_of(p.job(first, known), p.job(second, known))


def loses(loser: str | dict[str, Any], winner: str | dict[str, Any], **table: Any) -> Verdict:
    return pair(loser, winner, **table).first_loses


def test_two_plain_appends_pass_each_other() -> None:
    assert pair(p.APPEND, p.APPEND).together
    assert pair(p.APPEND, p.APPEND, partitioned=False).together


@pytest.mark.parametrize("winner", REMOVES)
def test_c20_a_plain_append_loses_to_any_removal(winner: str) -> None:
    """No predicate: it counts as a reader of all files, of other partitions, too."""
    found = loses(p.APPEND, winner)
    assert (found.level, found.rule, found.exception) == (Level.MAY, "removed-files", CF)


@pytest.mark.parametrize(
    ("loser", "winner"),
    [
        ("DELETE FROM {t} WHERE k > 10", "DELETE FROM {t} WHERE k < 10"),
        ("UPDATE {t} SET v = 'x' WHERE k > 10", p.APPEND),
    ],
)
def test_c19_c20_what_statistics_may_tell_apart_waits(loser: str, winner: str) -> None:
    for partitioned in (True, False):
        assert loses(loser, winner, partitioned=partitioned).level is Level.MAY


def test_c21_the_same_file_removed_twice() -> None:
    assert loses(p.DELETE, p.DELETE).level is Level.MAY
    assert loses(p.OPTIMIZE, p.DELETE).exception == CF


@pytest.mark.parametrize("loser", [p.DELETE, p.UPDATE, p.REPLACE_WHERE, p.MERGE])
def test_c19_files_added_where_the_predicate_may_match(loser: str) -> None:
    found = loses(loser, p.APPEND)
    assert (found.level, found.rule, found.exception) == (Level.MAY, "added-files", CF)


@pytest.mark.parametrize("loser", [p.DELETE, p.UPDATE])
def test_a_predicate_on_other_partitions_sees_nothing(loser: str) -> None:
    for winner in (p.APPEND_B, p.DELETE_B, p.UPDATE_B):
        assert loses(loser, winner).level is Level.NEVER


@pytest.mark.parametrize("winner", [p.SET, p.ADD_COLUMN, p.CHANGE_FEED])
def test_c18_any_metadata_action_aborts_everything(winner: str) -> None:
    found = loses(p.APPEND, winner)
    assert (found.level, found.rule, found.exception) in (
        (Level.WILL, "metadata-changed", CF),
        (Level.MAY, "protocol-changed", CF),
    )
    assert loses(p.APPEND, p.SET).level is Level.WILL
    assert loses(p.APPEND, p.SET, properties={"owner": "ops"}).level is Level.WILL
    for loser in (p.DELETE, p.MERGE, p.OPTIMIZE, p.VACUUM):
        assert loses(loser, winner).level is Level.MAY


def test_c17_two_changes_of_the_protocol() -> None:
    found = loses(p.VECTORS, p.TIMESTAMPS)
    assert (found.level, found.rule, found.exception) == (Level.MAY, "protocol-changed", CF)


@pytest.mark.parametrize("winner", [p.APPEND_B, p.DELETE_B, p.MERGE_B])
def test_c19_nobody_knows_the_predicate_of_a_merge_before(winner: str) -> None:
    assert loses(p.MERGE, winner).level is Level.MAY


def test_c20_a_compactions_files_are_no_deletes() -> None:
    assert loses(p.APPEND, p.OPTIMIZE).level is Level.NEVER
    assert loses(p.OPTIMIZE, p.APPEND).level is Level.NEVER


@pytest.mark.parametrize("version", ["1.0.0", "1.2.1", None])
def test_before_1_3_a_plain_append_loses_to_a_compaction_as_to_any_removal(version: str | None) -> None:
    found = loses(p.APPEND, p.OPTIMIZE, dialect=delta_rs(version))
    assert (found.level, found.rule, found.exception) == (Level.MAY, "removed-files", CF)
    assert not pair(p.OPTIMIZE, p.APPEND, dialect=delta_rs(version)).together


def test_c19_the_files_that_a_compaction_adds_may_be_in_the_way_of_a_predicate() -> None:
    assert loses(p.DELETE, p.OPTIMIZE).level is Level.MAY
    assert loses(p.DELETE, p.OPTIMIZE_B).level is Level.NEVER


def test_c21_two_compactions_may_remove_the_same_files() -> None:
    found = loses(p.OPTIMIZE, p.OPTIMIZE)
    assert (found.level, found.rule, found.exception) == (Level.MAY, "removed-twice", CF)
    assert loses(p.OPTIMIZE, p.OPTIMIZE_B).level is Level.NEVER


def test_c22_one_transaction_id_twice() -> None:
    write = {
        "write": {
            "source": {"sql": p.row(p.A)},
            "table": {"path": "/lake/t"},
            "mode": "Append",
            "txnAppId": "mine",
            "txnVersion": 1,
        }
    }
    found = loses(write, write)
    assert (found.level, found.rule, found.exception) == (Level.WILL, "same-transaction-id", CF)


@pytest.mark.parametrize("loser", [p.OVERWRITE, p.TRUNCATE, p.SELF_READ, p.DYNAMIC])
def test_what_is_not_checked_against_appends_waits_for_them(loser: str) -> None:
    """C19: it would commit as if the append had not been there."""
    for winner in (p.APPEND, p.APPEND_B):
        assert loses(loser, winner).level is Level.MAY


def test_what_tries_once_may_lose_to_everything() -> None:
    for winner in (p.APPEND, p.OPTIMIZE):
        found = loses(p.RESTORE, winner)
        assert (found.level, found.rule) == (Level.MAY, "single-attempt")
    assert loses(p.RESTORE, p.VACUUM).level is Level.UNSAFE, "it may shorten how long files are kept"


def test_first_commits_exclude_each_other() -> None:
    assert loses(p.APPEND, p.APPEND, exists=False).rule == "first-commit"


def test_never_is_said_of_no_pair_that_the_jvm_may_abort_but_compaction_beside_appends() -> None:
    every = [
        p.APPEND,
        p.SELF_READ,
        p.DELETE,
        p.UPDATE,
        p.MERGE,
        p.OVERWRITE,
        p.REPLACE_WHERE,
        p.TRUNCATE,
        p.SET,
    ]
    for loser in every:
        for winner in every:
            if p.pair(loser, winner).first_loses.level > Level.NEVER:
                assert loses(loser, winner).level > Level.NEVER, (loser, winner)


def test_a_policy_names_the_dialect() -> None:
    spec = DeltaTablePolicySpec.model_validate(
        {"table": {"path": "/lake/t"}, "dialect": {"name": "delta-rs", "version": "1.3.0"}}
    )
    assert declared_by(spec).dialect == RUST
