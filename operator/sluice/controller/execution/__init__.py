"""Carries attempts from their grant to their cleanup, and does what people ask for by hand."""
