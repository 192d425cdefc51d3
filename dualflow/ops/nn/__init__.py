"""Layers and losses of neural networks: softmax, normalizations, attention, recurrent layers."""
