"""The command line for people and their tools. It writes no table: what is written to tables is written by jobs."""

import os

# delta-rs writes a log of its own among what is said here, and reads how much it may log when it is imported. What it can't do
# it raises. Whoever sets it wants to see it.
os.environ.setdefault("RUST_LOG", "off")
