/* Part of vmath.h, included once per floating dtype: the normal and the logistic distribution,
 * accurate in their tails. Factors of a tail are multiplied before 2^n, since the tail may be
 * denormal while the product is not.
 *
 * The absolute error of an exponent is a relative error of the result, so exponents are pairs. */

#define INV_SQRT_2PI 0.39894228040143267793994605993438
#define SQRT_HALF 0.70710678118654752440084436210485

/* From this x on the normal tail is 0; x^2/2 is -EXP_LOW. */
#define NORMAL_END_f32 18.764f
#define NORMAL_END_f64 53.257

/* e^(high + low) without the factor 2^n; |low| far below 1. */
DF_INLINE V FN(exp_pair_fraction)(FN(df_pair) x, V *n)
{
    V r = FN(exp_reduce)(x.high, n) + x.low;
    return 1 + FN(fma)(r * r, POLY(r, exp_poly), r);
}

/* e^(-x^2/2) / sqrt(2 pi) without the factor 2^n, |x| <= NORMAL_END. */
DF_INLINE V FN(density_fraction)(V x, V *n)
{
    FN(df_pair) square = FN(two_product)(x, x);
    return (T)INV_SQRT_2PI *
           FN(exp_pair_fraction)((FN(df_pair)){(T)-0.5 * square.high, (T)-0.5 * square.low}, n);
}

/* Mills's ratio, the tail beyond t over the density at t, for t >= 1/2. */
DF_INLINE V FN(mills)(V t)
{
    V inverse = 1 / (t + 4);
    return POLY((t - 4) * inverse, mills_poly) * inverse;
}

/* P(0 < X < x) of a normal X for |x| < 1/2. */
DF_INLINE V FN(normal_center)(V x)
{
    V a = x * (T)SQRT_HALF;
    return (T)0.5 * FN(fma)(a, POLY(a * a, erf_poly), a);
}

/* x P(X < x) */
DF_INLINE V FN(gelu_by_mills)(V x)
{
    V n, c = FN(clamp)(x, -DF_CAT(NORMAL_END, DTYPE), DF_CAT(NORMAL_END, DTYPE)), t = FN(abs)(c);
    V tail = FN(density_fraction)(c, &n) * FN(mills)(t);
    M below = x < (V){0};
    tail = FN(scale)(FN(select)(below, c * tail, tail), n);
    V beyond = FN(select)(below, tail, x * (1 - tail));
    return FN(select)(t < (T)0.5, x * ((T)0.5 + FN(normal_center)(c)), beyond);
}

/* P(X < x) + x density(x); outside the center density(x) (mills(t) - t), or 1 minus this. */
DF_INLINE V FN(gelu_slope)(V x)
{
    V n, c = FN(clamp)(x, -DF_CAT(NORMAL_END, DTYPE), DF_CAT(NORMAL_END, DTYPE)), t = FN(abs)(c);
    M center = t < (T)0.5;
    V fraction = FN(density_fraction)(c, &n);
    V scaled = FN(scale)(FN(select)(center, fraction, fraction * (FN(mills)(t) - t)), n);
    V beyond = FN(select)(x < (V){0}, scaled, 1 - scaled);
    return FN(select)(center, FN(fma)(c, scaled, (T)0.5 + FN(normal_center)(c)), beyond);
}

/* sigmoid(x) without the factor 2^n, for x >= EXP_LOW; *y is the full value. */
DF_INLINE V FN(sigmoid_fraction)(FN(df_pair) x, V *n, V *y)
{
    x.high = FN(clamp)(x.high, DF_CAT(EXP_LOW, DTYPE), DF_CAT(SIGMOID_ONE, DTYPE));
    V fraction = FN(exp_pair_fraction)(x, n), e = FN(scale_positive)(fraction, *n);
    V q = fraction / (1 + e);
    q = FN(select)(x.high < -1, FN(fma)(-e, q, fraction), q);
    *y = FN(scale_positive)(q, *n);
    return q;
}

/* x sigmoid(x) */
DF_INLINE V FN(silu)(V x)
{
    V n, whole, low = FN(splat)(DF_CAT(EXP_LOW, DTYPE));
    V q = FN(sigmoid_fraction)((FN(df_pair)){x, {0}}, &n, &whole);
    return FN(scale)(FN(select)(x < low, low, x) * q, n);
}

/* s (1 + x (1 - s)) with s = sigmoid(x); its values at x and -x sum to 1. */
DF_INLINE V FN(silu_slope)(V x)
{
    V n, s, c = -FN(at_most)(FN(abs)(x), -DF_CAT(EXP_LOW, DTYPE));
    V q = FN(sigmoid_fraction)((FN(df_pair)){c, {0}}, &n, &s);
    V below = FN(scale)(q * FN(fma)(c, 1 - s, FN(splat)(1)), n);
    return FN(select)(x > (V){0}, 1 - below, below);
}
