"""Variables and their updates: assignments, optimizers, clipped gradients."""
