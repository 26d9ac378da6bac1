"""Asks a cluster and its Redis for people, and does what only people may order. It needs both, unlike `offline`."""
