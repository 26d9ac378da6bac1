"""Jobs on the table `orders (id BIGINT, amount INT, date DATE)`, used in the examples of conflict rules."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any


def _stream(**more: Any) -> Mapping[str, Any]:
    plain = {
        "source": {"format": "rate"},
        "checkpoint": "/checkpoints/orders",
        "trigger": {"availableNow": True},
    }
    return {"stream": {**plain, **more}}


APPEND = "INSERT INTO orders VALUES (1, 10, DATE '2026-11-18')"
APPEND_ELSEWHERE = "INSERT INTO orders VALUES (1, 10, DATE '2026-11-19')"
OVERWRITE = "INSERT OVERWRITE orders VALUES (1, 10, DATE '2026-11-18')"
DYNAMIC_OVERWRITE = f"SET spark.sql.sources.partitionOverwriteMode = dynamic; {OVERWRITE}"
DELETE = "DELETE FROM orders WHERE date = DATE '2026-11-18' AND amount = 0"
DELETE_DAY = "DELETE FROM orders WHERE date = DATE '2026-11-18'"
UPDATE = "UPDATE orders SET amount = 0 WHERE id = 2"
OPTIMIZE = "OPTIMIZE orders"
VACUUM = "VACUUM orders"
VACUUM_TOO_SOON = "VACUUM orders RETAIN 2 HOURS"
RESTORE = "RESTORE TABLE orders TO VERSION AS OF 1"
SET = "ALTER TABLE orders SET TBLPROPERTIES ('owner' = 'sales')"
ADD_COLUMN = "ALTER TABLE orders ADD COLUMNS (note STRING)"
ENABLE_VECTORS = "ALTER TABLE orders SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
ENABLE_TIMESTAMPS = "ALTER TABLE orders SET TBLPROPERTIES ('delta.enableInCommitTimestamps' = 'true')"
DROP_FEATURE = "ALTER TABLE orders DROP FEATURE deletionVectors"
WRITE_WITH_ID = {
    "write": {
        "source": {"sql": "SELECT 1L AS id, 10 AS amount, DATE '2026-11-18' AS date"},
        "table": {"name": "orders"},
        "mode": "Append",
        "txnAppId": "nightly",
        "txnVersion": 1,
    }
}
STREAM_TO_ORDERS = _stream(table={"name": "orders"})
STREAM_THAT_LOOKS_INTO_ORDERS = _stream(table={"name": "report"}, readsTables=[{"name": "orders"}])
STREAM_FROM_ORDERS = _stream(
    source={"format": "delta"}, table={"name": "report"}, readsTables=[{"name": "orders"}]
)
EMPTY = MappingProxyType({"exists": False})
WITH_VECTORS = MappingProxyType({"properties": {"delta.enableDeletionVectors": "true"}})
