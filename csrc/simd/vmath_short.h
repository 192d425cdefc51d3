/* Part of vmath_wide.h, for float64 vectors with float32 values: relative errors of 2^-29. */

/* log2(x); inf at inf, NaN below zero. */
DF_INLINE V FN(short_log2)(V x)
{
    V k, f = FN(log_split)(x, &k);
    V s = f / (2 + f);
    V y = FN(fma)(s, POLY(s * s, short_log2_poly), k);
#if !defined(__AVX512F__)
    y = FN(select)(x == (V){0}, FN(splat)(-INFINITY), y);
    y = FN(select)(x < (V){0}, FN(splat)(NAN), y);
    y = FN(select)((x == INFINITY) | (x != x), x, y);
#endif
    return y;
}

/* Odd functions that lose digits near zero return x there: x^2 / 3 is below 2^-29. */
DF_INLINE V FN(odd_near_zero)(V x, V y)
{
    return FN(select)(FN(abs)(x) < 0x1p-14, x, FN(copysign)(y, x));
}

DF_INLINE V FN(short_asinh)(V x)
{
    V a = FN(abs)(x);
    return FN(odd_near_zero)(x, FN(short_log2)(a + FN(sqrt)(a * a + 1)) * M_LN2);
}

DF_INLINE V FN(short_acosh)(V x)
{
    x = FN(select)(x < 1, FN(splat)(NAN), x);
    return FN(short_log2)(x + FN(sqrt)(x * x - 1)) * M_LN2;
}

DF_INLINE V FN(short_atanh)(V x)
{
    V a = FN(abs)(x);
    V y = FN(short_log2)((1 + a) / (1 - a)) * (M_LN2 / 2);
    return FN(odd_near_zero)(x, FN(select)(a > 1, FN(splat)(NAN), y));
}

/* The scaled e^(x^2) erfc(x), smooth and decreasing like 1 / x, times e^(-x^2); 2 minus this below
 * 0. */
DF_INLINE V FN(short_erfc)(V x)
{
    const T end = 10.1; /* zero in float32 beyond, at once: see `scale` */
    V a = FN(at_most)(FN(abs)(x), end);
    V scaled = POLY((a - 3) / (a + 3), short_erfcx_poly) / (1 + 2 * a);
    V y = FN(select)(a == end, (V){0}, scaled * FN(exp)(-a * a));
    return FN(select)(x < (V){0}, 2 - y, y);
}
