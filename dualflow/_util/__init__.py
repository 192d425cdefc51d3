"""Infrastructure without tensors: what any layer may use."""
