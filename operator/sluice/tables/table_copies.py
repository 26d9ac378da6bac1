"""Tables whose logs bear one id. They count as one table, so that an account that copies a log to a place of its own can have
jobs of the true place wait."""

from collections import defaultdict

from sluice.tables.identity import TableKey
from sluice.tables.owners import Owners

_MOST_NAMED = 3


class TableCopies:
    """Which tables have an id in common although they were given to different namespaces."""

    def __init__(self, owners: Owners) -> None:
        self._owners = owners
        self._ids: dict[TableKey, str] = {}
        self._tables: dict[str, list[TableKey]] = defaultdict(list)
        self._found: dict[str, str] = {}
        self.is_news = True
        """Whether it has changed since it was last told."""

    def seen(self, table: TableKey, table_id: str | None) -> None:
        """Notes which id the table's log has now."""
        before = self._ids.pop(table, None)
        if table.is_name or before == table_id:
            if before is not None:
                self._ids[table] = before
            return
        if before is not None:
            self._tables[before].remove(table)
            self._judge(before)
        if table_id is not None:
            self._ids[table] = table_id
            self._tables[table_id].append(table)
            self._judge(table_id)

    def told(self) -> str | None:
        """Says which tables are copies; None: no copy lies with another owner."""
        self.is_news = False
        if not self._found:
            return None
        some = [self._found[one] for one in sorted(self._found)[:_MOST_NAMED]]
        more = len(self._found) - len(some)
        return "; ".join([*some, *([f"and {more} more ids"] if more else [])])

    def _judge(self, table_id: str) -> None:
        tables = self._tables[table_id]
        if not tables:
            del self._tables[table_id]
        places = {table: self._owners.of(table) for table in tables} if len(tables) > 1 else {}
        before = self._found.pop(table_id, None)
        if len(set(places.values())) > 1:
            some = [f"{table} (of {_listed(owners)})" for table, owners in sorted(places.items(), key=str)]
            more = f" and {len(some) - _MOST_NAMED} more" if len(some) > _MOST_NAMED else ""
            self._found[table_id] = f"{', '.join(some[:_MOST_NAMED])}{more} have the table id {table_id}"
        self.is_news |= self._found.get(table_id) != before


def _listed(owners: tuple[str, ...]) -> str:
    return ", ".join(owners) or "nobody"
