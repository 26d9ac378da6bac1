"""A lost commit is put down to a rule only where exception and operations leave no other."""

from typing import Any

import pytest

from sluice.conflicts import oss, stores_and_runs
from sluice.conflicts.advice_texts import (
    CREATE_FIRST,
    LET_IT_WAIT,
    OTHERS_OWN_TXN_APP_ID,
    OWN_CHECKPOINT,
    OWN_TXN_APP_ID,
)
from sluice.conflicts.lost_commit_rule import EXCEPTIONS, LostCommit, advice_on_others, explained
from sluice.conflicts.rule import Rule

PROTOCOL, TRANSACTION = "ProtocolChangedException", "ConcurrentTransactionException"


def lost(exception: str, loser: str | None, winner: str, version: int | None = 5, **more: Any) -> LostCommit:
    told: dict[str, Any] = {"error_class": None, "message": "m"} | more
    return LostCommit(exception, loser=loser, winner=winner, winners_version=version, **told)


@pytest.mark.parametrize(
    ("commit", "rule", "advice"),
    [
        (lost("ConcurrentAppendException", "DELETE", "WRITE"), oss.added_files, None),
        (lost("ConcurrentDeleteReadException", "OPTIMIZE", "DELETE"), oss.removed_files, None),
        (lost("ConcurrentDeleteDeleteException", "WRITE", "DELETE"), oss.removed_twice, None),
        (
            lost("ConcurrentWriteException", "RESTORE", "WRITE"),
            oss.single_attempt,
            "run RESTORE when no other job writes the table",
        ),
        (
            lost("MetadataChangedException", "WRITE", "SET TBLPROPERTIES"),
            oss.metadata_changed,
            "run SET TBLPROPERTIES when no other job writes the table, and put several changes of properties into one "
            "ALTER TABLE",
        ),
        (
            lost("MetadataChangedException", "WRITE", "ADD COLUMNS"),
            oss.metadata_changed,
            "run ADD COLUMNS when no other job writes the table",
        ),
        (lost(PROTOCOL, "WRITE", "CREATE TABLE", 0), oss.first_commit, CREATE_FIRST),
        (
            lost(PROTOCOL, "WRITE", "DROP FEATURE"),
            oss.feature_removed,
            "run DROP FEATURE when no other job writes the table",
        ),
        (
            lost(PROTOCOL, "SetTableProperties", "SET TBLPROPERTIES"),
            oss.two_protocols,
            "put several changes of properties into one ALTER TABLE",
        ),
        (
            lost(PROTOCOL, "SetTableProperties", "ADD FEATURE"),
            oss.two_protocols,
            "put several changes of properties into one ALTER TABLE",
        ),
        (
            lost(
                TRANSACTION,
                "AlterTableClusterBy",
                "CLUSTER BY",
                message="A conflicting metadata domain x is added.",
            ),
            oss.same_domain,
            None,
        ),
        (lost(TRANSACTION, "WRITE", "WRITE"), oss.same_transaction_id, OWN_TXN_APP_ID),
        (
            lost(TRANSACTION, "STREAMING UPDATE", "STREAMING UPDATE"),
            stores_and_runs.same_checkpoint,
            OWN_CHECKPOINT,
        ),
        (
            lost(
                "DeltaTableFeatureException",
                "AlterTableDropFeature",
                "WRITE",
                error_class="DELTA_FEATURE_DROP_CONFLICT_REVALIDATION_FAIL",
            ),
            oss.feature_dropped_under_writers,
            "run DROP FEATURE when no other job writes the table",
        ),
    ],
    ids=lambda value: value.id if isinstance(value, Rule) else "",
)
def test_one_rule_is_left(commit: LostCommit, rule: Rule, advice: str | None) -> None:
    told = explained(commit)
    assert told is not None
    assert (told.rule, told.advice) == (rule.id, advice)
    assert commit.exception in rule.exceptions or not rule.exceptions
    assert rule in (*oss.RULES, *stores_and_runs.RULES)


@pytest.mark.parametrize(
    "commit",
    [
        # Something else tries only once, too: the conversion of a table to coordinated commits.
        lost("ConcurrentWriteException", "SetTableProperties", "WRITE"),
        # RESTORE may add features and remove some.
        lost(PROTOCOL, "SetTableProperties", "RESTORE"),
        lost(PROTOCOL, "WRITE", "SET TBLPROPERTIES"),
        # A stream may write under the txnAppId of a batch, or the batch under the stream's.
        lost(TRANSACTION, "WRITE", "STREAMING UPDATE"),
        lost(TRANSACTION, None, "WRITE"),
        lost("AnalysisException", "WRITE", "WRITE"),
        lost("ConcurrentAppendException", "DELETE", "WRITE; run this"),
        lost("ConcurrentAppendException", "DELETE", ""),
    ],
)
def test_nothing_is_said_where_there_may_be_several(commit: LostCommit) -> None:
    assert explained(commit) is None


@pytest.mark.parametrize("exception", EXCEPTIONS)
def test_what_no_job_made_is_to_run_as_one_whatever_it_did(exception: str) -> None:
    expected = OTHERS_OWN_TXN_APP_ID if exception == TRANSACTION else LET_IT_WAIT
    assert advice_on_others(lost(exception, "WRITE", "WRITE")) == expected


@pytest.mark.parametrize(
    ("commit", "advice"),
    [
        (lost(PROTOCOL, "WRITE", "CREATE TABLE", 0), CREATE_FIRST),
        (lost(TRANSACTION, "WRITE", "STREAMING UPDATE"), OTHERS_OWN_TXN_APP_ID),
        (
            lost(TRANSACTION, None, "CLUSTER BY", message="A conflicting metadata domain x is added."),
            LET_IT_WAIT,
        ),
    ],
)
def test_where_another_cure_helps_against_a_foreign_writer_that_is_told(
    commit: LostCommit, advice: str
) -> None:
    assert advice_on_others(commit) == advice


@pytest.mark.parametrize(
    "exception",
    [
        "ConcurrentAppendException",
        "ConcurrentDeleteReadException",
        "ConcurrentDeleteDeleteException",
        "MetadataChangedException",
    ],
)
def test_an_exception_that_is_told_without_looking_at_the_loser_belongs_to_one_rule(exception: str) -> None:
    rules = [rule.id for rule in (*stores_and_runs.RULES, *oss.RULES) if exception in rule.exceptions]
    told = explained(lost(exception, None, "WRITE"))
    assert told is not None
    assert rules == [told.rule]
