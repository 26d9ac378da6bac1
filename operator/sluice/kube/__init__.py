"""Kubernetes as plain objects: the client that asks it, and the kinds of objects that are asked for."""
