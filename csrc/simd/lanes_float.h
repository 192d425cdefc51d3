/* Part of lanes.h, included once per floating dtype. */

#define FRACTION_BITS DF_CAT(FRACTION_BITS, DTYPE)
#define EXPONENT_BIAS DF_CAT(EXPONENT_BIAS, DTYPE)
#define ROUND_MAGIC DF_CAT(ROUND_MAGIC, DTYPE)

/* a * b + c. One rounding if the level has FMA, two at the x86 baseline: code that needs the exact
 * low part of a product must test DF_HAVE_FMA. */
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define DF_HAVE_FMA 1
#endif

DF_INLINE V FN(fma)(V a, V b, V c)
{
#if defined(DF_X86) && defined(DF_HAVE_FMA)
    return DF_MM(fmadd)(a, b, c);
#elif defined(DF_HAVE_FMA)
    V r;
    for (int64_t i = 0; i < LANES; i++)
        r[i] = (T)(sizeof(T) == 4 ? __builtin_fmaf((float)a[i], (float)b[i], (float)c[i])
                                  : __builtin_fma(a[i], b[i], c[i]));
    return r;
#else
    return a * b + c;
#endif
}

DF_INLINE V FN(sqrt)(V x)
{
#if defined(DF_X86)
    return DF_MM(sqrt)(x);
#else
    V r;
    for (int64_t i = 0; i < LANES; i++)
        r[i] = (T)(sizeof(T) == 4 ? __builtin_sqrtf((float)x[i]) : __builtin_sqrt(x[i]));
    return r;
#endif
}

/* 1 / sqrt(x), both rounded: within 1 ulp, and inf at +0, -inf at -0. */
DF_INLINE V FN(rsqrt)(V x) { return 1 / FN(sqrt)(x); }

DF_INLINE M FN(sign_bit)(void) { return (M)(-(V){0}); }
DF_INLINE V FN(abs)(V x) { return (V)((M)x & ~FN(sign_bit)()); }
DF_INLINE V FN(copysign)(V magnitude, V sign)
{
    return (V)(((M)magnitude & ~FN(sign_bit)()) | ((M)sign & FN(sign_bit)()));
}

DF_INLINE M FN(isnan)(V x) { return x != x; }
DF_INLINE M FN(isinf)(V x) { return FN(abs)(x) == FN(splat)((T)INFINITY); }
DF_INLINE M FN(isfinite)(V x) { return FN(abs)(x) < FN(splat)((T)INFINITY); }

/* NaN if either is NaN, as in NumPy's maximum and minimum; the second of equal operands. (The x86
 * instructions do the same except that they return the second operand if either is NaN.) */
#if defined(__AVX512F__)
DF_INLINE V FN(max)(V a, V b)
{
    return DF_MM(mask_mov)(DF_MM(max)(a, b), DF_CAT(DF_MM(cmp), mask)(a, a, _CMP_UNORD_Q), a);
}
DF_INLINE V FN(min)(V a, V b)
{
    return DF_MM(mask_mov)(DF_MM(min)(a, b), DF_CAT(DF_MM(cmp), mask)(a, a, _CMP_UNORD_Q), a);
}
#elif defined(DF_X86)
DF_INLINE V FN(max)(V a, V b) { return FN(select)(a != a, a, DF_MM(max)(a, b)); }
DF_INLINE V FN(min)(V a, V b) { return FN(select)(a != a, a, DF_MM(min)(a, b)); }
#else
DF_INLINE V FN(max)(V a, V b) { return FN(select)((a > b) | (a != a), a, b); }
DF_INLINE V FN(min)(V a, V b) { return FN(select)((a < b) | (a != a), a, b); }
#endif
DF_INLINE V FN(max0)(V x) { return FN(select)(x <= (V){0}, (V){0}, x); }

/* The smaller of x and high; NaN stays NaN (x86 min and max return their second operand). */
DF_INLINE V FN(at_most)(V x, T high)
{
#if defined(DF_X86)
    return DF_MM(min)(FN(splat)(high), x);
#else
    return FN(select)(x > high, FN(splat)(high), x);
#endif
}

/* x limited to [low, high]; NaN stays NaN. */
DF_INLINE V FN(clamp)(V x, T low, T high)
{
#if defined(DF_X86)
    x = DF_MM(max)(FN(splat)(low), x);
#else
    x = FN(select)(x < low, FN(splat)(low), x);
#endif
    return FN(at_most)(x, high);
}

/* The nearest integer, ties to even; a zero result has the sign of x. */
DF_INLINE V FN(rint)(V x)
{
#if defined(DF_ROUND)
    return DF_ROUND(x, _MM_FROUND_TO_NEAREST_INT);
#else
    V whole = FN(splat)(ROUND_MAGIC / 3 * 2); /* from this magnitude on every number is an
                                               * integer */
    V rounded = FN(copysign)((FN(abs)(x) + whole) - whole, x);
    return FN(select)(FN(abs)(x) < whole, rounded, x);
#endif
}

DF_INLINE V FN(floor)(V x)
{
#if defined(DF_ROUND)
    return DF_ROUND(x, _MM_FROUND_TO_NEG_INF);
#else
    V near = FN(rint)(x);
    return FN(copysign)(near - FN(select)(near > x, FN(splat)(1), (V){0}), x);
#endif
}

DF_INLINE V FN(ceil)(V x)
{
#if defined(DF_ROUND)
    return DF_ROUND(x, _MM_FROUND_TO_POS_INF);
#else
    V near = FN(rint)(x);
    return FN(copysign)(near + FN(select)(near < x, FN(splat)(1), (V){0}), x);
#endif
}

DF_INLINE V FN(trunc)(V x)
{
#if defined(DF_ROUND)
    return DF_ROUND(x, _MM_FROUND_TO_ZERO);
#else
    return FN(copysign)(FN(floor)(FN(abs)(x)), x);
#endif
}

/* NaN if any lane is. */
DF_INLINE T FN(hmax)(V v)
{
    T top = v[0];
    for (int64_t i = 1; i < LANES; i++) top = v[i] > top || v[i] != v[i] ? v[i] : top;
    return top;
}

DF_INLINE T FN(hmin)(V v)
{
    T low = v[0];
    for (int64_t i = 1; i < LANES; i++) low = v[i] < low || v[i] != v[i] ? v[i] : low;
    return low;
}
