"""From an optimised graph to a program: `plan` (memory), `lower` (specification), `compile`."""
