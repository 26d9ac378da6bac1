"""Commands about single jobs: create, follow, change, render, read logs."""
