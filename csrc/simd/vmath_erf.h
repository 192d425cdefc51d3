/* Part of vmath.h, included once per floating dtype: erf. */

/* x + x P(x^2) below 1; beyond, 1 - e^(log erfc), as erfc is below 0.16. */
DF_INLINE V FN(erf_by_exp)(V x)
{
    V square = x * x, a = FN(abs)(x);
    V near = FN(fma)(a, POLY(square, erf_poly), a);
    V b = FN(clamp)(a, 0, DF_CAT(ERF_ONE, DTYPE));
    V far = 1 - FN(exp_inside)(b * POLY(b, erf_tail));
    return FN(copysign)(FN(select)(a < 1, near, far), x);
}
