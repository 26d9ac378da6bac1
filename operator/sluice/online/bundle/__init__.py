"""What there is to know of one job, put into one file without secrets."""
