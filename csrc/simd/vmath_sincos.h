/* Part of vmath_trig.h, included once per floating dtype. */

/* x = n pi/2 + r + rest, |r| <= pi/4. */
typedef struct {
    V n, r, rest;
} FN(reduced);

/* Reduces lanes of x >= 0 beyond TRIG_LIMIT, infinite ones to NaN. The bits of a lane do not depend
 * on other lanes. */
DF_NOINLINE FN(reduced) FN(reduce_far)(V x, FN(reduced) y)
{
    T limit = DF_CAT(TRIG_LIMIT, DTYPE);
#if defined(DF_HAVE_FMA)
    V n, rest, middle = FN(trig_reduce_middle)(x, &n, &rest);
    const M near = x <= limit;
    y = (FN(reduced)){FN(select)(near, y.n, n), FN(select)(near, y.r, middle),
                      FN(select)(near, y.rest, rest)};
    limit = (T)TRIG_MIDDLE;
#endif
    if (!FN(any)(~(x <= limit))) return y;
    for (int64_t i = 0; i < LANES; i++) {
        double r = (double)(x[i] - x[i]), rest = 0;
        if (x[i] <= limit) continue;
        if (r == 0) y.n[i] = (T)trig_reduce_far((double)x[i], &r, &rest);
        y.r[i] = (T)r;
        y.rest[i] = (T)(r - (double)y.r[i] + rest);
    }
    return y;
}

/* Replaces the reduction y of x >= 0 in lanes beyond TRIG_LIMIT. */
DF_INLINE FN(reduced) FN(reduce_all)(V x, FN(reduced) y)
{
    const M far = ~(x <= DF_CAT(TRIG_LIMIT, DTYPE));
    return __builtin_expect(FN(any)(far), 0) ? FN(reduce_far)(x, y) : y;
}

DF_INLINE FN(reduced) FN(reduce_near)(V x)
{
    FN(reduced) y;
    y.r = FN(trig_reduce)(x, &y.n, &y.rest);
    return y;
}

/* Sine and cosine of x before the rotation by its quadrant (the low two bits of the result). The
 * arrangement that includes the rest of the reduction is from fdlibm. */
DF_INLINE M FN(sine_cosine_reduced)(FN(reduced) x, V *sine, V *cosine)
{
    V r = x.r, z = r * r;
    *sine = r + FN(fma)(z * r, POLY(z, sin_poly), x.rest);
    V half = z * (T)0.5, top = 1 - half;
    *cosine = top + (((1 - top) - half) + FN(fma)(z * z, POLY(z, cos_poly), -r * x.rest));
    return (M)(x.n + ROUND_MAGIC);
}

/* Same for |x| up to TRIG_LIMIT. */
DF_INLINE M FN(sine_cosine)(V x, V *sine, V *cosine)
{
    return FN(sine_cosine_reduced)(FN(reduce_near)(FN(abs)(x)), sine, cosine);
}

/* sin(|x| + shift pi/2) and, for shift 0, the sign of x. */
DF_INLINE V FN(sin_shifted)(V x, int shift)
{
    V sine, cosine, size = FN(abs)(x);
    const FN(reduced) part = FN(reduce_all)(size, FN(reduce_near)(size));
    M quadrant = FN(sine_cosine_reduced)(part, &sine, &cosine) + shift;
    V y = FN(select)((quadrant & 1) != 0, cosine, sine);
    M flip = (quadrant & 2) << (FRACTION_BITS + (sizeof(T) == 4 ? 7 : 10));
    if (shift == 0) flip ^= (M)x & FN(sign_bit)();
    return (V)((M)y ^ flip);
}

DF_INLINE V FN(sin)(V x) { return FN(sin_shifted)(x, 0); }
DF_INLINE V FN(cos)(V x) { return FN(sin_shifted)(x, 1); }

DF_INLINE V FN(tan)(V x)
{
    FN(reduced) part;
    part.r = FN(trig_reduce_exact)(FN(abs)(x), &part.n, &part.rest);
    part = FN(reduce_all)(FN(abs)(x), part);
    V r = part.r, z = r * r;
    V t = r + FN(fma)(z * r, POLY(z, tan_poly), FN(fma)(part.rest, z, part.rest));
    M odd = ((M)(part.n + ROUND_MAGIC) & 1) != 0;
    V y = FN(select)(odd, -1 / t, t);
    return (V)((M)y ^ ((M)x & FN(sign_bit)()));
}
