/* Part of vmath.h, included once per floating dtype: e^x and functions built on it. */

/* c[0] + c[1] x + ... */
DF_INLINE V FN(poly)(V x, const T *c, int n)
{
    V sum = FN(splat)(c[n - 1]);
#pragma GCC unroll 20
    for (int i = n - 2; i >= 0; i--) sum = FN(fma)(sum, x, FN(splat)(c[i]));
    return sum;
}

/* 2^n for an integer n in the range of normal numbers: adding the magic number puts n + bias into
 * the low bits; the shift moves them into the exponent and discards the rest. */
DF_INLINE V FN(pow2)(V n)
{
    return (V)((M)(n + (ROUND_MAGIC + EXPONENT_BIAS)) << FRACTION_BITS);
}

/* x * 2^n for an integer n from SCALE_LOW to the exponent of twice overflow, rounded once: after
 * the first factor the number is still normal.
 *
 * A product below the normal range takes 150 cycles on some processors, also if it rounds to 0. The
 * limits of arguments, EXP_LOW and others, lead to SCALE_LOW, where both powers of two are 0; with
 * AVX-512 lanes up to SCALE_ZERO are not computed. So masked and saturated arguments are fast. */
DF_INLINE V FN(scale)(V x, V n)
{
#if defined(__AVX512F__)
    const V zero = FN(splat)(DF_CAT(SCALE_ZERO, DTYPE));
    const V signed_zero = (V)((M)x & FN(sign_bit)());
    return DF_MM(mask_scalef)(signed_zero, DF_CAT(DF_MM(cmp), mask)(n, zero, _CMP_NLE_UQ), x, n);
#else
    V half = FN(rint)(n * (T)0.5);
    return x * FN(pow2)(half) * FN(pow2)(n - half);
#endif
}

/* x * 2^n as by `scale`, for x > 0: a result of 0 is always +0, which saves an instruction. */
DF_INLINE V FN(scale_positive)(V x, V n)
{
#if defined(__AVX512F__)
    const V zero = FN(splat)(DF_CAT(SCALE_ZERO, DTYPE));
    return DF_MM(maskz_scalef)(DF_CAT(DF_MM(cmp), mask)(n, zero, _CMP_NLE_UQ), x, n);
#else
    return FN(scale)(x, n);
#endif
}

/* x = n ln2 + r, n an integer, |r| <= ln2 / 2. */
DF_INLINE V FN(exp_reduce)(V x, V *n)
{
    *n = FN(rint)(x * (T)LOG2E);
    V r = FN(fma)(*n, FN(splat)(-DF_CAT(LN2_HI, DTYPE)), x);
    return FN(fma)(*n, FN(splat)(-DF_CAT(LN2_LO, DTYPE)), r);
}

/* e^r, where e^x = e^r * 2^n; for the range of exp_inside. */
DF_INLINE V FN(exp_fraction)(V x, V *n)
{
    V r = FN(exp_reduce)(x, n);
    return 1 + FN(fma)(r * r, POLY(r, exp_poly), r);
}

/* e^x for EXP_LOW <= x <= EXP_HIGH, or NaN. */
DF_INLINE V FN(exp_inside)(V x)
{
    V n, y = FN(exp_fraction)(x, &n);
    return FN(scale_positive)(y, n);
}

DF_INLINE V FN(exp)(V x)
{
    return FN(exp_inside)(FN(clamp)(x, DF_CAT(EXP_LOW, DTYPE), DF_CAT(EXP_HIGH, DTYPE)));
}

/* e^x - 1 = 2^n (e^r - 1) + (2^n - 1), computed with half of 2^n so that the last n before
 * overflow is finite. Below 2^-FRACTION_BITS the result is x, which also keeps -0 and denormals. */
DF_INLINE V FN(expm1)(V x)
{
    V n, r = FN(exp_reduce)(FN(clamp)(x, -FRACTION_BITS, DF_CAT(EXP_HIGH, DTYPE)), &n);
    V small = FN(fma)(r * r, POLY(r, expm1_poly), r);
    V half = FN(pow2)(n - 1);
    V y = FN(fma)(half, small, half - (T)0.5);
    return FN(select)(FN(abs)(x) < (T)1 / ((int64_t)1 << FRACTION_BITS), x, y + y);
}

/* x + x^3 P(x^2) near zero; beyond, 1 - 2 / (e^2|x| + 1), where the subtracted term is below 1/2.
 * (The shorter (e^2x - 1) / (e^2x + 1) misses 2 ulp: measured 2.2.) The exponential is a normal
 * number, so one power of two scales it. */
DF_INLINE V FN(tanh_by_exp)(V x)
{
    V a = FN(abs)(x), square = x * x;
    V near = FN(fma)(square * a, POLY(square, tanh_poly), a);
    V n, y = FN(exp_fraction)(2 * FN(at_most)(a, DF_CAT(TANH_ONE, DTYPE)), &n);
    V far = 1 - 2 / FN(fma)(y, FN(pow2)(n), FN(splat)(1));
    return (V)((M)FN(select)(a < (T)0.55, near, far) | ((M)x & FN(sign_bit)()));
}

/* e^x / (1 + e^x). If e^x is small, e^x minus e^x times the quotient, which avoids the rounding of
 * 1 + e^x (2.1 ulp otherwise). The clamps keep everything finite. */
DF_INLINE V FN(sigmoid)(V x)
{
    V e = FN(exp_inside)(FN(clamp)(x, DF_CAT(EXP_LOW, DTYPE), DF_CAT(SIGMOID_ONE, DTYPE)));
    V y = e / (1 + e);
    return FN(select)(x < -1, FN(fma)(-e, y, e), y);
}

/* e^|x| / 2: finite wherever sinh and cosh are. */
DF_INLINE V FN(half_exp)(V a)
{
    V n, y = FN(exp_fraction)(FN(at_most)(a, DF_CAT(EXP_HIGH, DTYPE) + 1), &n);
    return FN(scale)(y, n - 1);
}

/* x + x^3 P(x^2) below 1, where the difference of exponentials would lose digits. */
DF_INLINE V FN(sinh)(V x)
{
    V a = FN(abs)(x), square = x * x, half = FN(half_exp)(a);
    V near = FN(fma)(square * a, POLY(square, sinh_poly), a);
    return FN(copysign)(FN(select)(a < 1, near, half - (T)0.25 / half), x);
}

DF_INLINE V FN(cosh)(V x)
{
    V half = FN(half_exp)(FN(abs)(x));
    return half + (T)0.25 / half;
}
