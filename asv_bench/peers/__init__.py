"""The same work in dualflow and its peers, one module per library."""
