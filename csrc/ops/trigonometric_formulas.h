/* Sine and its kin: all are in vmath.h. Compiled once per floating dtype. */

TILE_UNARY(sin)
TILE_UNARY(cos)
TILE_UNARY(tan)
TILE_UNARY(asin)
TILE_UNARY(acos)
TILE_UNARY(atan)
TILE_BINARY(atan2)
