/* Arithmetic. Compiled once per dtype. */

DF_INLINE V FN(add)(V a, V b) { return a + b; }
DF_INLINE V FN(subtract)(V a, V b) { return a - b; }
DF_INLINE V FN(multiply)(V a, V b) { return a * b; }
DF_INLINE V FN(squared_difference)(V a, V b) { return (a - b) * (a - b); }
DF_INLINE V FN(negative)(V x) { return -x; }
DF_INLINE V FN(square)(V x) { return x * x; }

TILE_BINARY(add)
TILE_BINARY(subtract)
TILE_BINARY(multiply)
TILE_BINARY(squared_difference)
TILE_UNARY(negative)
TILE_UNARY(square)
TILE_UNARY(abs)

#if DTYPE_FLOAT

/* 0 where b is 0, for any a. */
DF_INLINE V FN(multiply_no_nan)(V a, V b)
{
    return FN(select)(b == (V){0}, (V){0}, a * b);
}

/* -1, 0 or 1 with the sign of x; NaN is unchanged, and both zeros yield +0: -0 + 0. */
DF_INLINE V FN(sign)(V x)
{
    return FN(select)(FN(abs)(x) > 0, FN(copysign)(FN(splat)(1), x), x + (V){0});
}

TILE_BINARY(multiply_no_nan)
TILE_WITH_ONE(add)
TILE_WITH_ONE(subtract)
TILE_WITH_ONE(multiply)
TILE_WITH_ONE(squared_difference)

#else

DF_INLINE V FN(sign)(V x)
{
    return FN(select)(x > 0, FN(splat)(1), FN(select)(x < 0, FN(splat)((T)-1), (V){0}));
}

#endif

TILE_UNARY(sign)
