"""The loop that decides: admission, grants, holders, waiters, pauses of streams."""
