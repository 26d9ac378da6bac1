"""The ways to an installation: its API server, its Lease object, its Redis, and single objects."""
