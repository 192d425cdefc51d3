"""Elements and rows selected by tensors: gather, scatter, segments, masks, sparse gradients."""
