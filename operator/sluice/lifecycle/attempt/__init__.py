"""The next step of an open attempt, its deadlines, its leases and its Events."""
