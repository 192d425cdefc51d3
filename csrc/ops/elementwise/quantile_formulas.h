/* Inverses of distributions. Compiled once per floating dtype. */

TILE_UNARY(erfinv)
TILE_UNARY(erfcinv)
TILE_UNARY(ndtri)
