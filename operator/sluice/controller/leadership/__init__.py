"""Decides whether this process may act: the election, its epoch, the installation's claim, the prerequisites."""
