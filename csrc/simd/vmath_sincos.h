/* Part of vmath_trig.h, included once per floating dtype. */

/* Recomputes lanes of x beyond TRIG_LIMIT, and NaN, with libm's f into y. */
DF_NOINLINE V FN(trig_huge)(double (*f)(double), V x, V y)
{
    for (int64_t i = 0; i < LANES; i++)
        if (!(fabs((double)x[i]) <= (double)DF_CAT(TRIG_LIMIT, DTYPE))) y[i] = (T)f((double)x[i]);
    return y;
}

/* Sine and cosine of |x| before the rotation by its quadrant (the low two bits of the result). The
 * arrangement that includes the rest of the reduction is from fdlibm. */
DF_INLINE M FN(sine_cosine)(V x, V *sine, V *cosine)
{
    V n, rest, r = FN(trig_reduce)(FN(abs)(x), &n, &rest), z = r * r;
    *sine = r + FN(fma)(z * r, POLY(z, sin_poly), rest);
    V half = z * (T)0.5, top = 1 - half;
    *cosine = top + (((1 - top) - half) + FN(fma)(z * z, POLY(z, cos_poly), -r * rest));
    return (M)(n + ROUND_MAGIC);
}

DF_INLINE M FN(trig_too_large)(V x) { return ~(FN(abs)(x) <= DF_CAT(TRIG_LIMIT, DTYPE)); }

/* sin(|x| + shift pi/2) and, for shift 0, the sign of x. */
DF_INLINE V FN(sin_shifted)(V x, int shift)
{
    V sine, cosine;
    M quadrant = FN(sine_cosine)(x, &sine, &cosine) + shift;
    V y = FN(select)((quadrant & 1) != 0, cosine, sine);
    M flip = (quadrant & 2) << (FRACTION_BITS + (sizeof(T) == 4 ? 7 : 10));
    if (shift == 0) flip ^= (M)x & FN(sign_bit)();
    y = (V)((M)y ^ flip);
    if (__builtin_expect(FN(any)(FN(trig_too_large)(x)), 0))
        y = FN(trig_huge)(shift ? cos : sin, x, y);
    return y;
}

DF_INLINE V FN(sin)(V x) { return FN(sin_shifted)(x, 0); }
DF_INLINE V FN(cos)(V x) { return FN(sin_shifted)(x, 1); }

DF_INLINE V FN(tan)(V x)
{
    V n, rest, r = FN(trig_reduce_exact)(FN(abs)(x), &n, &rest), z = r * r;
    V t = r + FN(fma)(z * r, POLY(z, tan_poly), FN(fma)(rest, z, rest));
    M odd = ((M)(n + ROUND_MAGIC) & 1) != 0;
    V y = FN(select)(odd, -1 / t, t);
    y = (V)((M)y ^ ((M)x & FN(sign_bit)()));
    if (__builtin_expect(FN(any)(FN(trig_too_large)(x)), 0)) y = FN(trig_huge)(tan, x, y);
    return y;
}
