"""What a cluster and its Redis say to people, and what only people may say to them. Needs both, unlike `offline`."""
