"""Knows which installations of Sluice a cluster has, and keeps any two of them from acting on the same jobs or leases."""
