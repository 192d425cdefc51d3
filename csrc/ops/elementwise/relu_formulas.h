/* Rectifiers and their gradients. Compiled once per dtype. */

DF_INLINE V FN(relu)(V x) { return FN(max0)(x); }
DF_INLINE V FN(relu6)(V x)
{
    x = FN(max0)(x);
    return FN(select)(x > 6, FN(splat)(6), x);
}

TILE_UNARY(relu)
TILE_UNARY(relu6)

#if DTYPE_FLOAT

DF_INLINE V FN(relu_grad)(V g, V y) { return FN(select)(y > (V){0}, g, (V){0}); }
DF_INLINE V FN(relu6_grad)(V g, V y)
{
    return FN(select)((y > (V){0}) & (y < 6), g, (V){0});
}

DF_INLINE V FN(leaky_relu)(V x, V alpha) { return FN(select)(x > (V){0}, x, alpha * x); }
DF_INLINE V FN(leaky_relu_grad)(V g, V x, V alpha)
{
    return FN(select)(x > (V){0}, g, alpha * g);
}

TILE_BINARY(relu_grad)
TILE_BINARY(relu6_grad)
TILE_UNARY_WITH(leaky_relu)
TILE_BINARY_WITH(leaky_relu_grad)

#endif
