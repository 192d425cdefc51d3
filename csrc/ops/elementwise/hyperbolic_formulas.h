/* Tile functions of hyperbolic functions, and the gradient of tanh, which vmath.h lacks. Compiled
 * once per floating dtype. */

/* 1 / cosh(x)^2 from e^-2|x|, as 1 - tanh(x)^2 would vanish where tanh(x) rounds to 1. */
DF_INLINE V FN(tanh_grad)(V g, V x)
{
    V e = FN(exp)(-2 * FN(abs)(x));
    return g * (4 * e / ((1 + e) * (1 + e)));
}

TILE_UNARY(sinh)
TILE_UNARY(cosh)
TILE_UNARY(tanh)
TILE_BINARY(tanh_grad)
TILE_UNARY(asinh)
TILE_UNARY(acosh)
TILE_UNARY(atanh)
