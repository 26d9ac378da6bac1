"""Decides what becomes of policies, without I/O: what their status says."""
