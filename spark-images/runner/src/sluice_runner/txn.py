"""The numbers that a run's commits carry for Delta (SetTransaction versions), by which Delta itself tells what came later.

`token << 12 | statement`: the operator's order of leases decides, not the order in which drivers arrive. The fence of an
attempt is its statement 0. A closing is above every number that an attempt can have, and tells whose run is closed.
"""

from __future__ import annotations

import hashlib

_STATEMENT_BITS = 12
_CLOSING = 2**62

MAX_STATEMENT = 2**_STATEMENT_BITS - 1
MAX_TOKEN = _CLOSING // 2**_STATEMENT_BITS - 1
FENCE = 0


def version(token: int, statement: int) -> int:
    if not (0 <= token <= MAX_TOKEN and 0 <= statement <= MAX_STATEMENT):
        raise ValueError(f"token {token} and statement {statement} fit into no txn version")
    return token << _STATEMENT_BITS | statement


def token(txn_version: int) -> int:
    return txn_version >> _STATEMENT_BITS


def closing(spec_hash: str) -> int:
    bits = int.from_bytes(hashlib.sha256(spec_hash.encode()).digest()[:8], "big")
    return _CLOSING | bits >> 2


def is_closing(txn_version: int) -> bool:
    return txn_version >= _CLOSING
