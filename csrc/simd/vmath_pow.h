/* Part of vmath.h, included once per floating dtype: x^y = e^(y log |x|); for some small y,
 * products, quotients and roots.
 *
 * The error of y log |x| becomes a relative error of the result, so the logarithm is computed to
 * about 10 bits more than the dtype has, as an unevaluated sum of two vectors: high + low. */

#define TWO_THIRDS_HI_f32 0x1.555556p-1f
#define TWO_THIRDS_LO_f32 (-0x1.555556p-26f)
#define TWO_THIRDS_HI_f64 0x1.5555555555555p-1
#define TWO_THIRDS_LO_f64 0x1.5555555555555p-55
/* For |y| beyond this, every x^y except 1 has overflowed or underflowed: the smallest nonzero
 * logarithm is 2^-FRACTION_BITS. */
#define POW_Y_f32 0x1p40f
#define POW_Y_f64 0x1p70
/* The factor that splits a number into two parts whose products are exact (Dekker). */
#define DEKKER_f32 0x1.001p12f
#define DEKKER_f64 0x1.0000002p27

typedef struct {
    V high, low;
} FN(df_pair);

/* a + b exactly, for |a| >= |b| or a = 0. */
DF_INLINE FN(df_pair) FN(two_sum)(V a, V b)
{
    V sum = a + b;
    return (FN(df_pair)){sum, b - (sum - a)};
}

/* a * b exactly. */
DF_INLINE FN(df_pair) FN(two_product)(V a, V b)
{
    V product = a * b;
#if defined(DF_HAVE_FMA)
    return (FN(df_pair)){product, FN(fma)(a, b, -product)};
#else
    V a_part = a * DF_CAT(DEKKER, DTYPE), b_part = b * DF_CAT(DEKKER, DTYPE);
    V a1 = a_part - (a_part - a), b1 = b_part - (b_part - b), a2 = a - a1, b2 = b - b1;
    return (FN(df_pair)){product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2};
#endif
}

DF_INLINE FN(df_pair) FN(pair_product)(FN(df_pair) a, FN(df_pair) b)
{
    FN(df_pair) p = FN(two_product)(a.high, b.high);
    p.low += FN(fma)(a.high, b.low, a.low * b.high);
    return p;
}

/* log(x) for finite x > 0: k ln2 + 2 s + s^3 (2/3 + s^2 P(s^2)), s = f / (2 + f). */
DF_INLINE FN(df_pair) FN(pair_log)(V x)
{
    V k, f = FN(log_split)(x, &k);
    V sum = 2 + f, inverse = 1 / sum;
    FN(df_pair) s = {f * inverse, {0}}, back = FN(two_product)(s.high, sum);
    s.low = (((f - back.high) - back.low) - s.high * (f - (sum - 2))) * inverse;
    FN(df_pair) z = FN(pair_product)(s, s);
    V beyond = z.high * POLY(z.high, pow_log_poly);
    FN(df_pair) w = FN(two_sum)(FN(splat)(DF_CAT(TWO_THIRDS_HI, DTYPE)), beyond);
    w.low += DF_CAT(TWO_THIRDS_LO, DTYPE);
    FN(df_pair) tail = FN(pair_product)(s, FN(pair_product)(z, w));
    FN(df_pair) y = FN(two_sum)(2 * s.high, tail.high);
    y.low += 2 * s.low + tail.low;
    FN(df_pair) total = FN(two_sum)(k * DF_CAT(LN2_HI, DTYPE), y.high);
    total.low += FN(fma)(k, FN(splat)(DF_CAT(LN2_LO, DTYPE)), y.low);
    return total;
}

/* Returns x^y from z = |x|^y, with the special cases of C's pow, which NumPy shares. */
DF_INLINE V FN(pow_special)(V x, V y, V z)
{
    V a = FN(abs)(x);
    M zero = a == (V){0}, edge = zero | (a == (T)INFINITY);
    V limit = FN(select)(zero ^ (y < (V){0}), (V){0}, FN(splat)((T)INFINITY));
    z = FN(select)(edge, limit, z);
    M whole = FN(rint)(y) == y;
    M odd = whole & (FN(rint)(y * (T)0.5) != y * (T)0.5);
    z = FN(select)((x < (V){0}) & ~edge & ~whole, FN(splat)((T)NAN), z);
    z = (V)((M)z | ((M)x & FN(sign_bit)() & odd));
    z = FN(select)((x != x) | (y != y), x + y, z);
    return FN(select)((y == (V){0}) | (x == 1), FN(splat)(1), z);
}

/* If all x are positive and finite and no y is NaN, the formula needs no special cases. */
DF_INLINE V FN(pow_any)(V x, V y)
{
    V bounded = FN(clamp)(y, -DF_CAT(POW_Y, DTYPE), DF_CAT(POW_Y, DTYPE));
    FN(df_pair) l = FN(pair_log)(FN(abs)(x)), t = FN(two_product)(bounded, l.high);
    t.low = FN(fma)(bounded, l.low, t.low);
    V inside = FN(clamp)(t.high, DF_CAT(EXP_LOW, DTYPE), DF_CAT(EXP_HIGH, DTYPE));
    V n, r = FN(exp_reduce)(inside, &n) + FN(select)(inside == t.high, t.low, (V){0});
    V z = FN(scale_positive)(1 + FN(fma)(r * r, POLY(r, exp_poly), r), n);
    M plain = (x > (V){0}) & (x < (T)INFINITY) & (y == y);
    return FN(any)(~plain) ? FN(pow_special)(x, y, z) : z;
}

DF_INLINE V FN(pow_2)(V x) { return x * x; }
DF_INLINE V FN(pow_3)(V x) { return x * x * x; }
DF_INLINE V FN(pow_4)(V x) { return FN(pow_2)(FN(pow_2)(x)); }
DF_INLINE V FN(pow_minus_1)(V x) { return 1 / x; }

/* The square of a small x would underflow before its reciprocal overflows. */
DF_INLINE V FN(pow_minus_2)(V x) { return FN(pow_2)(1 / x); }

/* Unlike the root, x^0.5 of -0.0 is 0.0, and of -infinity infinity. */
DF_INLINE V FN(pow_half)(V x)
{
    return FN(sqrt)(FN(select)(x == (T)-INFINITY, FN(splat)((T)INFINITY), x + 0));
}

DF_INLINE V FN(pow_minus_half)(V x) { return 1 / FN(pow_half)(x); }

/* The formula of a lane depends on its own exponent only, so that a vector of equal exponents and a
 * mixed one give the same bits. */
DF_INLINE V FN(pow)(V x, V y)
{
    const T first = y[0];
    if (!FN(any)(y != FN(splat)(first))) {
        if (first == -2) return FN(pow_minus_2)(x);
        if (first == -1) return FN(pow_minus_1)(x);
        if (first == (T)-0.5) return FN(pow_minus_half)(x);
        if (first == (T)0.5) return FN(pow_half)(x);
        if (first == 1) return x;
        if (first == 2) return FN(pow_2)(x);
        if (first == 3) return FN(pow_3)(x);
        if (first == 4) return FN(pow_4)(x);
        return FN(pow_any)(x, y);
    }
    V z = FN(pow_any)(x, y);
    z = FN(select)(y == -2, FN(pow_minus_2)(x), z);
    z = FN(select)(y == -1, FN(pow_minus_1)(x), z);
    z = FN(select)(y == (T)-0.5, FN(pow_minus_half)(x), z);
    z = FN(select)(y == (T)0.5, FN(pow_half)(x), z);
    z = FN(select)(y == 1, x, z);
    z = FN(select)(y == 2, FN(pow_2)(x), z);
    z = FN(select)(y == 3, FN(pow_3)(x), z);
    return FN(select)(y == 4, FN(pow_4)(x), z);
}
