"""Linear algebra: products, factorisations, functions of matrices."""
