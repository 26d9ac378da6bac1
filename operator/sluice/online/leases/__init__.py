"""Leases as a cluster and its Redis show them, their revocation, and their adoption by another cluster."""
