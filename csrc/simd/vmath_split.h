/* Part of vmath_log.h, included once per floating dtype. */

/* x = (1 + f) 2^k, k an integer, -1/4 <= f < 1/2; for x > 0. With AVX-512, special values need no
 * further handling in log: k = -inf at zero and inf at inf, f = NaN below zero. */
DF_INLINE V FN(log_split)(V x, V *k)
{
#if defined(__AVX512F__)
    V m = DF_MM(getmant)(x, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_nan);
    *k = DF_MM(getexp)(x) - DF_MM(getexp)(m);
    return m - 1;
#else
    const T least_normal = sizeof(T) == 4 ? (T)0x1p-126 : (T)0x1p-1022;
    const T up = (T)((int64_t)1 << FRACTION_BITS);
    M denormal = x < least_normal;
    V normal = FN(select)(denormal, x * up, x);
    /* Bits of x minus bits of 3/4: the exponent field is k. k is then converted to float through
     * the low bits of the magic number, without an integer conversion. */
    M exponent = ((M)normal - (M)FN(splat)((T)0.75)) >> FRACTION_BITS;
    V whole = (V)(exponent + (M)FN(splat)(ROUND_MAGIC)) - ROUND_MAGIC;
    *k = whole - FN(select)(denormal, FN(splat)(FRACTION_BITS), (V){0});
    return (V)((M)normal - (exponent << FRACTION_BITS)) - 1;
#endif
}

DF_INLINE V FN(log)(V x)
{
    V k, f = FN(log_split)(x, &k);
    V y = FN(log1p_fraction)(f, k);
#if !defined(__AVX512F__)
    y = FN(select)(x == (V){0}, FN(splat)((T)-INFINITY), y);
    y = FN(select)(x < (V){0}, FN(splat)((T)NAN), y);
    y = FN(select)((x == (T)INFINITY) | (x != x), x, y);
#endif
    return y;
}

/* log(1 + x) for -1 < x < inf, and NaN: 1 + x = (1 + f) 2^k with k taken from the rounded 1 + x and
 * f = 2^-k x + (2^-k - 1) rounded once. Beyond 2^FRACTION_BITS the 1 is negligible. */
DF_INLINE V FN(log1p_inside)(V x, V *k)
{
    V f = FN(log_split)(1 + x, k);
#if defined(__AVX512F__)
    f = DF_MM(scalef)(x, -*k) + (DF_MM(scalef)(FN(splat)(1), -*k) - 1);
#else
    M count = FN(abs)(x) < (T)((int64_t)1 << FRACTION_BITS);
    V down = FN(pow2)(FN(select)(count, -*k, (V){0}));
    f = FN(select)(count, FN(fma)(down, x, down - 1), f);
#endif
    return FN(log1p_fraction)(f, *k);
}

/* The sign is that of x, including zeros. */
DF_INLINE V FN(log1p)(V x)
{
    V k, y = FN(log1p_inside)(x, &k);
#if defined(__AVX512F__)
    y = FN(select)(FN(isinf)(k), k, y); /* at -1 and inf */
#else
    y = FN(select)(x == (T)INFINITY, x, y);
    y = FN(select)(x == -1, FN(splat)((T)-INFINITY), y);
    y = FN(select)((x < -1) | (x != x), FN(splat)((T)NAN), y);
#endif
    return FN(copysign)(y, x);
}

/* log(1 + e^x) as max(x, 0) + log1p(e^-|x|): e^x is never formed, so nothing overflows. */
DF_INLINE V FN(softplus)(V x)
{
    V k, e = FN(exp)(-FN(abs)(x));
    return FN(max0)(x) + FN(log1p_inside)(e, &k);
}
