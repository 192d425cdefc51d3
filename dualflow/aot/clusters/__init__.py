"""Compilation of clusters: tile code as C that uses the library's formulas. See docs/jit.md."""
