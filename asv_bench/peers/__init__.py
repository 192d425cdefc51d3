"""The same work in dualflow and its peers, a module for each library."""
