"""The ids of all rules by which a job may wait: a closed list, for figures that are counted by rule."""

from sluice.conflicts import databricks, delta_rs, oss, readers, stores_and_runs
from sluice.conflicts.oracle import OTHER_TABLES, WITHOUT_A_RULE

_RULES = (
    *stores_and_runs.RULES,
    *readers.RULES,
    *oss.RULES,
    *oss.RULES_OF_READERS,
    *databricks.RULES,
    *databricks.RULES_OF_READERS,
    *delta_rs.RULES,
)
_VERDICTS = tuple(verdict.rule for verdict in WITHOUT_A_RULE if verdict is not OTHER_TABLES)
RULE_IDS = tuple(dict.fromkeys((*(rule.id for rule in _RULES), *_VERDICTS)))
