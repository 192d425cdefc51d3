"""Elementwise ops: arithmetic, comparisons, special functions, activations, casts."""
