/* Tile functions of trigonometric functions; vmath.h has all formulas. Compiled once per floating
 * dtype. */

TILE_UNARY(sin)
TILE_UNARY(cos)
TILE_UNARY(tan)
TILE_UNARY(asin)
TILE_UNARY(acos)
TILE_UNARY(atan)
TILE_BINARY(atan2)
