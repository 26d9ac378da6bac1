"""Finds what a query yields: which rows, with which values, and from which tables."""
