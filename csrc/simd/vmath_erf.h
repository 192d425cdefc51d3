/* Part of vmath.h, included once per floating dtype: erf. */

/* x + x P(x^2) below 1; beyond, 1 - e^(log erfc), as erfc is below 0.16, and a normal number. */
DF_INLINE V FN(erf_by_exp)(V x)
{
    V square = x * x, a = FN(abs)(x);
    V near = FN(fma)(a, POLY(square, erf_poly), a);
    V b = FN(at_most)(a, DF_CAT(ERF_ONE, DTYPE));
    V n, y = FN(exp_fraction)(b * POLY(b, erf_tail), &n);
    V far = FN(fma)(-y, FN(pow2)(n), FN(splat)(1));
    return (V)((M)FN(select)(a < 1, near, far) | ((M)x & FN(sign_bit)()));
}
