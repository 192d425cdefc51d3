"""Batching rules by family; importing this package fills the registry."""

from dualflow.transforms.rules import array, images, indexing, products, rows, shapes

__all__ = ["array", "images", "indexing", "products", "rows", "shapes"]
