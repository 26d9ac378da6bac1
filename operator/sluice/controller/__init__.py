"""The operator: watches, one admission loop, one status writer, leadership, rebuild."""
