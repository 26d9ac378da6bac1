"""The queue of each table, and when its waiting jobs may start."""
