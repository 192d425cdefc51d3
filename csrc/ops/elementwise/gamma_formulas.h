/* Compiled once per floating dtype. */

TILE_UNARY(lgamma)
TILE_UNARY(digamma)
TILE_BINARY(zeta)

TILE_HEAD(polygamma, 1)
{
    FN(map1_with)(n, out, in[0], FN(splat)((T)attrs[0].i), FN(polygamma));
}
