"""What shows that a driver lives or ended, how an attempt ended, and what may be deleted."""
