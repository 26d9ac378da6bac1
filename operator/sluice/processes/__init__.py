"""Answers questions in child processes with limits, whose deaths cost the process that asks neither memory nor time."""
