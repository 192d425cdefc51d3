"""Passes over graphs; filled below."""
