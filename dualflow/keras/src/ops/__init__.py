"""Keras's functions, made of ops of dualflow."""
