"""The checks of `sluice doctor`."""
