"""Streams: pauses, progress, outcomes, checkpoints, changed sources."""
