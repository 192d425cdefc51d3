"""Creation of arrays, and ops that move their elements: shapes, slices, joins, diagonals."""
