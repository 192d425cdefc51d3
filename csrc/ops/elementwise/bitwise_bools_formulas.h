/* Formulas of bools only. Compiled for uint8. */

DF_INLINE V FN(logical_not)(V x) { return x ^ 1; }

TILE_UNARY(logical_not)
