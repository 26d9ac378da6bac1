"""What is understood of a job's spec: its compiled form, hashes, commit ids, kinds of leases."""
