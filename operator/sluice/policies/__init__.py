"""Decides what becomes of policies, without I/O: which of their fields count, and what their status says."""
