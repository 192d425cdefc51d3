/* Part of vmath.h, included once per floating dtype: asin and acos. */

/* The part of pi/2 that the dtype's constant leaves out. */
#define PI_2_REST_f32 (-0x1.777a5cp-25f)
#define PI_2_REST_f64 0x1.1a62633145c07p-54

/* Sets `base` and `rest`, whose sum is asin(a) for a = |x| up to 1/2, and beyond, where the result
 * is true, asin(sqrt((1 - a) / 2)): half the angle between x and the nearer end. The argument of
 * the polynomial is at most 1/2 in either case. `rest` is at most 1/20 of `base`, so that its
 * rounding does not matter. NaN above 1. */
DF_INLINE M FN(asin_parts)(V a, V *base, V *rest)
{
    M far = a > (T)0.5;
    V z = FN(select)(far, (1 - a) * (T)0.5, a * a);
    *base = FN(select)(far, FN(sqrt)(z), a);
    *rest = *base * z * POLY(z, asin_poly);
    return far;
}

/* pi/2 minus twice the sum above 1/2. */
DF_INLINE V FN(asin)(V x)
{
    V base, rest;
    M far = FN(asin_parts)(FN(abs)(x), &base, &rest);
    V right = FN(splat)((T)M_PI_2), turned = right - 2 * base;
    V lost = right - turned - 2 * base; /* by the rounding of the difference */
    V low = lost + DF_CAT(PI_2_REST, DTYPE) - 2 * rest;
    return FN(copysign)(FN(select)(far, turned + low, base + rest), x);
}

/* Twice the sum above 1/2, pi minus twice the sum below -1/2, pi/2 minus asin(x) between. */
DF_INLINE V FN(acos)(V x)
{
    V base, rest, zero = {0};
    M far = FN(asin_parts)(FN(abs)(x), &base, &rest);
    M left = x < zero;
    V factor = FN(select)(far, zero + 2, zero - 1);
    factor = FN(select)(left, -factor, factor);
    V quarters = FN(select)(far, FN(select)(left, zero + 2, zero), zero + 1);
    return FN(fma)(factor, base, quarters * (T)M_PI_2) +
           FN(fma)(factor, rest, quarters * DF_CAT(PI_2_REST, DTYPE));
}
