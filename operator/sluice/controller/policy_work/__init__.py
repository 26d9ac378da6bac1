"""What policies have done: watches, table observations, remediation, maintenance, statuses."""
