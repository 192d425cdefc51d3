"""Branches, loops, and calls of functions of Python."""
