"""The operator: watches, one acting loop, one status writer, leadership, rebuild."""
