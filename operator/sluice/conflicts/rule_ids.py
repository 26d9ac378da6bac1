"""The ids of all rules by which jobs conflict: a closed list, for figures that are counted by rule."""

from sluice.conflicts import databricks, delta_rs, oss, readers, stores_and_runs
from sluice.conflicts.oracle import MAX_WRITERS, OTHER_TABLES, WITHOUT_A_RULE

NO_CONFLICTS = frozenset({OTHER_TABLES.rule, MAX_WRITERS.rule})
"""Verdicts without a rule by which two jobs would not have hurt one another."""

_RULES = (
    *stores_and_runs.RULES,
    *readers.RULES,
    *oss.RULES,
    *oss.RULES_OF_READERS,
    *databricks.RULES,
    *databricks.RULES_OF_READERS,
    *delta_rs.RULES,
)
_VERDICTS = tuple(verdict.rule for verdict in WITHOUT_A_RULE if verdict.rule not in NO_CONFLICTS)
RULE_IDS = tuple(dict.fromkeys((*(rule.id for rule in _RULES), *_VERDICTS)))
SAYS = {verdict.rule: f"{verdict.reason[0].upper()}{verdict.reason[1:]}." for verdict in WITHOUT_A_RULE} | {
    rule.id: rule.says for rule in reversed(_RULES)
}
"""What each rule says, as its first record does where engines have records of their own."""
