/* Part of vmath_wide.h, for float64 vectors that hold float32 values: relative errors of 2^-29. */

/* log2(x) for x >= 0. */
DF_INLINE V FN(short_log2)(V x)
{
    V k, f = FN(log_split)(x, &k);
    V s = f / (2 + f);
    V y = FN(fma)(s, POLY(s * s, short_log2_poly), k);
#if !defined(__AVX512F__)
    y = FN(select)(x == (V){0}, FN(splat)(-INFINITY), y);
    y = FN(select)((x == INFINITY) | (x != x), x, y);
#endif
    return y;
}

/* |x|^y = 2^(y log2 |x|), then the sign and the special cases of C's pow, which are NumPy's. */
DF_INLINE V FN(short_pow)(V x, V y)
{
    V a = FN(abs)(x), half = y * 0.5;
    V t = FN(clamp)(y * FN(short_log2)(a), -160, 140);
    V n = FN(rint)(t);
    V z = POLY(t - n, short_exp2_poly) * FN(pow2)(n);
    M whole = FN(rint)(y) == y, odd = whole & (FN(rint)(half) != half);
    z = FN(select)((x < (V){0}) & (a < INFINITY) & ~whole, FN(splat)(NAN), z);
    z = (V)((M)z | ((M)x & FN(sign_bit)() & odd));
    M one = (y == (V){0}) | (x == 1) | ((a == 1) & (FN(abs)(y) == INFINITY));
    return FN(select)(one, FN(splat)(1), z);
}
