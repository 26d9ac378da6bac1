"""The sets of operations that rules refer to."""

from sluice.api.job import Operation

APPENDS = frozenset({Operation.APPEND, Operation.STREAM})
CHANGES_SOME_ROWS = frozenset({Operation.UPDATE, Operation.DELETE, Operation.MERGE})
OVERWRITES = frozenset({Operation.OVERWRITE, Operation.OVERWRITE_PARTITIONS})
WRITES_ROWS = APPENDS | CHANGES_SOME_ROWS | OVERWRITES
MAKES_A_TABLE = APPENDS | OVERWRITES
"""Operations that create a missing table, except as SQL."""
BRINGS_NEW_ROWS = MAKES_A_TABLE | {Operation.MERGE}
MAY_SELECT = WRITES_ROWS | {Operation.CREATE, Operation.REPLACE}
"""Operations whose statements may read other tables."""
KEEPS_ROWS = frozenset({Operation.OPTIMIZE, Operation.ALTER, Operation.VACUUM})
"""Operations that keep all rows: files that they rewrite hold the same rows as before."""
CREATES = frozenset({Operation.CREATE, Operation.CLONE})
"""Operations that may be the first commit of a table."""
REPLACES = frozenset({Operation.REPLACE, Operation.CLONE})
"""Operations that replace a table."""
CLUSTERS_ANEW = frozenset({Operation.REPLACE, Operation.OVERWRITE})
TRIES_ONCE = frozenset({Operation.RESTORE, Operation.CLONE})
"""Operations that abort if anything at all was committed meanwhile."""
