"""A job's way as pure decisions: what was seen goes in, the next step and what the status says of it come out. No I/O, no
clock, no randomness: the caller brings the time."""
