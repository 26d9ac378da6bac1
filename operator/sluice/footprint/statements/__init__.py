"""Reads what each kind of statement does to a table: one module per kind, one line in the table of `script`."""
