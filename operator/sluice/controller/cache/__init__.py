"""The cluster's objects as last seen, and the indexes over them."""
