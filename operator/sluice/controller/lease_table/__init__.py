"""The lease table as this leader may trust it: its rebuild, unexplained leases, Redis' capacity."""
