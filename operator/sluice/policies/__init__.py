"""What becomes of policies, as pure decisions: which of their fields count, and what their status says."""
