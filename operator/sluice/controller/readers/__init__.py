"""Reads what takes long outside of the event loop: tables' logs, long specs, the commits of runs."""
