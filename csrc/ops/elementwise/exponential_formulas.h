/* Exponentials, logarithms, powers and roots that vmath.h and lanes.h lack. Compiled once per
 * dtype. */

#if DTYPE_FLOAT

TILE_UNARY(exp)
TILE_UNARY(expm1)
TILE_UNARY(log)
TILE_UNARY(log1p)
TILE_UNARY(sqrt)
TILE_UNARY(rsqrt)

#else

DF_INLINE bool FN(below_zero)(T x) { return is_negative(x); }
TEST_FIRST(below_zero)

/* Repeated squaring with wraparound; negative exponents have been rejected. */
DF_INLINE T FN(pow_1)(T a, T b)
{
    T y = 1;
    for (; !is_negative(b) && b; b = (T)(b >> 1)) {
        if (b & 1) y = (T)(y * a);
        a = (T)(a * a);
    }
    return y;
}

DF_INLINE V FN(pow)(V a, V b) { return FN(lanewise2)(a, b, FN(pow_1)); }

#endif

TILE_BINARY(pow)
