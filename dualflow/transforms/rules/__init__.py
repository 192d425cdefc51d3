"""Batching rules by family; importing this package fills the registry."""

from dualflow.transforms.rules import images, indexing, parts, products, rows, shapes

__all__ = ["images", "indexing", "parts", "products", "rows", "shapes"]
