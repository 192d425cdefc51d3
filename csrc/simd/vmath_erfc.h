/* Part of vmath.h, for float32 only: erfc, and gelu, a product with erfc. Both are products of
 * erfcx(a) = e^(a^2) erfc(a) and e^(-a^2). */

/* erfc is 0 from here on, and 2 below its negative; the square is -EXP_LOW. */
#define ERFC_END_f32 13.266f

#if defined(DF_HAVE_FMA)

/* x = n ln2 + r, |r| <= ln2 / 2 */
DF_INLINE V FN(pair_reduce)(FN(df_pair) x, V *n)
{
    *n = FN(rint)(x.high * (T)LOG2E);
    V rest = FN(fma)(*n, FN(splat)(-DF_CAT(LN2_LO, DTYPE)), x.low);
    return FN(fma)(*n, FN(splat)(-DF_CAT(LN2_HI, DTYPE)), x.high) + rest;
}

#endif

#if defined(__AVX512F__)

/* erfcx(a) e^x without the factor 2^n. */
DF_INLINE V FN(tail_fraction)(V a, FN(df_pair) x, V *n)
{
    V r = FN(pair_reduce)(x, n), scaled = FN(erfcx)(a);
    return FN(fma)(scaled, FN(fma)(r * r, POLY(r, exp_poly), r), scaled);
}

DF_INLINE V FN(erfc)(V x)
{
    V n, a = FN(at_most)(FN(abs)(x), DF_CAT(ERFC_END, DTYPE));
    V fraction = FN(tail_fraction)(a, FN(two_product)(a, -a), &n);
    V tail = FN(scale_positive)(fraction, n);
    return FN(select)(x < (V){0}, 2 - tail, tail);
}

/* x P(X < x) = x erfc(-x / sqrt(2)) / 2. The tail is multiplied by x before 2^n, as in
 * gelu_by_mills. */
DF_INLINE V FN(gelu)(V x)
{
    V n, c = FN(clamp)(x, -DF_CAT(NORMAL_END, DTYPE), DF_CAT(NORMAL_END, DTYPE));
    V half = c * (T)0.5, a = FN(abs)(c * (T)SQRT_HALF);
    V fraction = FN(tail_fraction)(a, FN(two_product)(c, -half), &n);
    M below = x < (V){0};
    V tail = FN(scale)(FN(select)(below, half, FN(splat)((T)0.5)) * fraction, n);
    return FN(select)(below, tail, x * (1 - tail));
}

#elif defined(DF_HAVE_FMA)

/* erfcx(a) = P(u) / (a + K), as a pair whose error is that of P. Each quotient is corrected by its
 * remainder. */
DF_INLINE FN(df_pair) FN(erfcx_pair)(V a)
{
    const int n_terms = sizeof FN(erfcx_poly) / sizeof *FN(erfcx_poly);
    V first = FN(splat)(*FN(erfcx_poly)), sum = a + ERFCX_CENTRE, inverse = 1 / sum;
    V sum_low = a - (sum - ERFCX_CENTRE), dividend = a - ERFCX_CENTRE, u = dividend * inverse;
    V u_low = FN(fma)(-sum_low, u, FN(fma)(-u, sum, dividend)) * inverse;
    V slope = FN(poly)(u, FN(erfcx_poly) + 1, n_terms - 1); /* about that of P */
    V p = FN(fma)(u, slope, first), p_low = FN(fma)(u_low, slope, FN(fma)(u, slope, first - p));
    V y = p * inverse;
    return (FN(df_pair)){y, FN(fma)(-y, sum_low, FN(fma)(-y, sum, p) + p_low) * inverse};
}

/* 1 - x - x P(x^2) below 0.75. */
DF_INLINE V FN(erfc)(V x)
{
    V n, a = FN(at_most)(FN(abs)(x), DF_CAT(ERFC_END, DTYPE));
    FN(df_pair) square = FN(two_product)(a, -a), y = FN(erfcx_pair)(a);
    V r = FN(pair_reduce)(square, &n);
    V rest = FN(fma)(y.high * (r * r), POLY(r, expm1_poly), y.low);
    V tail = FN(scale_positive)(y.high + FN(fma)(y.high, r, rest), n);
    tail = FN(select)(x < (V){0}, 2 - tail, tail);
    V b = FN(copysign)(a, x), near = FN(fma)(-b, POLY(-square.high, erf_poly), 1 - b);
    return FN(select)(a < (T)0.75, near, tail);
}

DF_INLINE V FN(gelu)(V x) { return FN(gelu_by_mills)(x); }

#else

DF_INLINE V FN(erfc)(V x) { return through_f64(short_erfc_f64, x); }
DF_INLINE V FN(gelu)(V x) { return FN(gelu_by_mills)(x); }

#endif
