"""Kubernetes as plain objects: what asks it, and the kinds of objects that are asked for."""
