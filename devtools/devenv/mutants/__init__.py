"""The mutants that the project knows, and the command that shows that each is still found."""
