/* Sigmoid, x log y and related functions that vmath.h lacks. Compiled once per floating dtype. */

/* e / (1 + e)^2 is equal for e^x and e^-x; with the smaller one nothing cancels. */
DF_INLINE V FN(sigmoid_grad)(V g, V x)
{
    V e = FN(exp)(-FN(abs)(x));
    return g * (e / ((1 + e) * (1 + e)));
}

DF_INLINE V FN(log_sigmoid)(V x) { return -FN(softplus)(-x); }

/* 0 where x is 0, for any y. */
DF_INLINE V FN(xlogy)(V x, V y) { return FN(select)(x == (V){0}, (V){0}, x * FN(log)(y)); }
DF_INLINE V FN(xlog1py)(V x, V y) { return FN(select)(x == (V){0}, (V){0}, x * FN(log1p)(y)); }
DF_INLINE V FN(xdivy)(V x, V y) { return FN(select)(x == (V){0}, (V){0}, x / y); }

TILE_UNARY(sigmoid)
TILE_BINARY(sigmoid_grad)
TILE_UNARY(softplus)
TILE_UNARY(log_sigmoid)
TILE_BINARY(xlogy)
TILE_BINARY(xlog1py)
TILE_BINARY(xdivy)
TILE_UNARY(erf)
TILE_UNARY(erfc)
