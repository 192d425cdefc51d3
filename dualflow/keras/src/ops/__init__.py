"""Keras's backend functions, composed of dualflow ops."""
