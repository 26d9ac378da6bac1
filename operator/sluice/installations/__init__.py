"""Which installations of Sluice there are in a cluster, and that no two of them act on the same jobs or leases."""
