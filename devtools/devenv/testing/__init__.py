"""`./dev test` and `./dev check`: sections of tests run side by side, measured, and told about."""
