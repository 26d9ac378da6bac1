"""Knows what a table is: its identity, however it is spelled, and the facts about it that decide conflicts.

A name is loaded when it is first asked for: the program that reads a log at the end of each run needs few of them.
"""

from typing import TYPE_CHECKING

from sluice.lazy_names import load_from

if TYPE_CHECKING:
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


_MODULE_OF = {
    "AdmissionRules": "policy_facts",
    "Declaration": "policies",
    "Declarations": "policies",
    "Declared": "policy_facts",
    "Dialect": "dialect",
    "LINK_LOG_STORE": "log_store",
    "LogStore": "log_store",
    "Names": "names",
    "Policy": "policies",
    "S3_CONDITIONAL_LOG_STORE": "log_store",
    "TableFacts": "facts",
    "TableKey": "identity",
    "databricks": "dialect",
    "declarations_of": "policies",
    "declared_by": "policy_facts",
    "delta_rs": "dialect",
    "in_catalog": "identity",
    "key_of_name": "identity",
    "key_of_path": "identity",
    "keys_of": "names",
    "known": "policy_facts",
    "lock_table_of": "log_store",
    "log_store_for": "log_store",
    "log_store_of": "log_store",
    "oss": "dialect",
    "unread": "facts",
    "wrong_facts_in": "policy_facts",
}

__getattr__ = load_from(__name__, _MODULE_OF)
