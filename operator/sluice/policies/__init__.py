"""Decides what becomes of policies, without I/O: what their status says, and what their tables lack."""
