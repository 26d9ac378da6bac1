"""What a query yields: which rows, with which values, and which tables it reads for them."""
