"""Compiled clusters: tile code as C over the library's own formulas. See docs/jit.md."""
