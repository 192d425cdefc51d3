"""Calls of traced functions: argument keys, search for a trace, execution and differentiation."""
