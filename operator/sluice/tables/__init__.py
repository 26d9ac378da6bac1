"""Knows what a table is: its identity, however it is spelled, and the facts about it that decide conflicts."""

from sluice.tables.dialect import Dialect, databricks, delta_rs, oss
from sluice.tables.facts import TableFacts, unread
from sluice.tables.identity import TableKey, in_catalog, key_of_name, key_of_path
from sluice.tables.log_store import (
    LINK_LOG_STORE,
    S3_CONDITIONAL_LOG_STORE,
    LogStore,
    lock_table_of,
    log_store_for,
    log_store_of,
)
from sluice.tables.names import Names, keys_of
from sluice.tables.policies import Declaration, Declarations, Policy, declarations_of
from sluice.tables.policy_facts import AdmissionRules, Declared, declared_by, known, wrong_facts_in

__all__ = [
    "LINK_LOG_STORE",
    "S3_CONDITIONAL_LOG_STORE",
    "AdmissionRules",
    "Declaration",
    "Declarations",
    "Declared",
    "Dialect",
    "LogStore",
    "Names",
    "Policy",
    "TableFacts",
    "TableKey",
    "databricks",
    "declarations_of",
    "declared_by",
    "delta_rs",
    "in_catalog",
    "key_of_name",
    "key_of_path",
    "keys_of",
    "known",
    "lock_table_of",
    "log_store_for",
    "log_store_of",
    "oss",
    "unread",
    "wrong_facts_in",
]
