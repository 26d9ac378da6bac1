"""The command line for people and their tools. It only reads: what is written to tables is written by jobs."""
