/* What bools have of their own. Compiled for uint8 alone. */

DF_INLINE V FN(logical_not)(V x) { return x ^ 1; }

TILE_UNARY(logical_not)
