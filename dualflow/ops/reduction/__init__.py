"""Reductions along axes: sums, means, extremes, moments, norms; cumulative ops."""
