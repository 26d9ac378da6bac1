"""Makes two real operations meet on a real Delta table, and records what comes of it.

Nothing here knows the oracle: what is recorded must be able to prove it wrong.
"""
