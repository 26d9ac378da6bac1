"""The sets of operations that rules speak of."""

from sluice.api.job import Operation

APPENDS = frozenset({Operation.APPEND, Operation.STREAM})
CHANGES_SOME_ROWS = frozenset({Operation.UPDATE, Operation.DELETE, Operation.MERGE})
OVERWRITES = frozenset({Operation.OVERWRITE, Operation.OVERWRITE_PARTITIONS})
WRITES_ROWS = APPENDS | CHANGES_SOME_ROWS | OVERWRITES
MAKES_A_TABLE = APPENDS | OVERWRITES
"""Where there is none, unless it is SQL."""
BRINGS_NEW_ROWS = MAKES_A_TABLE | {Operation.MERGE}
MAY_SELECT = WRITES_ROWS | {Operation.CREATE, Operation.REPLACE}
"""Their statements may read other tables."""
KEEPS_ROWS = frozenset({Operation.OPTIMIZE, Operation.ALTER, Operation.VACUUM})
"""Whatever files they write anew hold the rows that were there before."""
CREATES = frozenset({Operation.CREATE, Operation.CLONE})
"""May be the first commit of a table."""
REPLACES = frozenset({Operation.REPLACE, Operation.CLONE})
"""Make a table anew."""
CLUSTERS_ANEW = frozenset({Operation.REPLACE, Operation.OVERWRITE})
TRIES_ONCE = frozenset({Operation.RESTORE, Operation.CLONE})
"""Abort if anything at all was committed meanwhile."""
