"""That both accept to be aborted lets jobs run together only where it is known what they do."""

import pytest

from sluice.conflicts import conflict_between
from unit.admission.test_queue import APPEND, DELETE, SLASH_A, on

NOT_UNDERSTOOD = {
    "an unknown setting": "SET spark.databricks.delta.nobodyKnows = 1; DELETE FROM {t} WHERE id = 1",
    "a statement that is too large": f"DELETE FROM {{t}} WHERE id IN ({', '.join(['1'] * 40_000)})",
    "an unknown function": "DELETE FROM {t} WHERE my_udf(day) = 3",
    "a view": "INSERT INTO {t} SELECT * FROM raw.x",
}


@pytest.mark.parametrize("other", [APPEND, DELETE])
@pytest.mark.parametrize("sql", NOT_UNDERSTOOD.values(), ids=NOT_UNDERSTOOD)
def test_what_is_not_understood_runs_beside_nobody_whatever_both_accept(sql: str, other: str) -> None:
    unclear = on("/a", sql)
    assert any(one.not_understood for one in unclear.tables)
    assert conflict_between(unclear, on("/a", other))
    assert conflict_between(unclear, on("/a", other), {SLASH_A})
