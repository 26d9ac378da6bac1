"""Publishes what was decided: statuses, Events, conditions."""
