"""What each kind of statement does to a table: one module a kind, one line in the table of `script`."""
