"""Ops with sliding windows: convolutions and pooling."""
