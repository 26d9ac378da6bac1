"""A job as its object tells it: its view, its status, the policies of its tables, its blockers."""
