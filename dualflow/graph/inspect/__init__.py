"""Inspection of traced functions: printed passes, drawings, memory plans and profiles."""
