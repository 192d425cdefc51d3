/* lgamma, digamma, polygamma and the Hurwitz zeta function: float32 in float64 vectors, float64 one
 * lane at a time.
 *
 * lgamma and digamma: up to LGAMMA_FAR, gamma(y + 1) = y gamma(y) leads to 3/2 <= y <= 5/2, to a
 * Taylor series at 2, which is accurate near the zeros 1 and 2; beyond, Stirling's series (NIST
 * DLMF 5.11.1). Below 0, gamma(x) gamma(-x) = -pi / (x sin(pi x)) (DLMF 5.5.3): the logarithms
 * become one logarithm of a quotient, since the terms cancel near the zeros. */
#ifndef DF_VMATH_GAMMA_H
#define DF_VMATH_GAMMA_H

#include "simd/vmath.h"
#include "special/special.h"

/* libm's lgamma also writes a global sign; this form does not. */
static inline double lgamma_scalar(double x)
{
    int sign;
    return lgamma_r(x, &sign);
}

DF_INLINE v_f64 lgamma_f64(v_f64 x) { return by_lane_f64(lgamma_scalar, x); }
DF_INLINE v_f64 digamma_f64(v_f64 x) { return by_lane_f64(df_digamma, x); }


#define LGAMMA_FAR 4.5
#define LGAMMA_DOWN 2 /* steps from LGAMMA_FAR */
#define LGAMMA_UP 2   /* steps from 0 */
#define DIGAMMA_FAR 7.5 /* the series is accurate near the zeros beyond */
#define DIGAMMA_DOWN 5

/* (-1)^k (zeta(k) - 1) / k for odd k, for k = 1 1 - gamma, and for even k: of lgamma(2 + z). */
static const double lgamma_odd_f64[] = {
    0.42278433509846713, -0.067352301053198102, -0.0073855510286739857, -0.001192753911703261,
    -0.00022315475845357936, -4.4926236738133142e-05, -9.439488275268395e-06,
    -2.0392157538013662e-06, -4.4924691987645662e-07, -1.00432248239681e-07,
};
static const double lgamma_even_f64[] = {
    0.3224670334241132, 0.020580808427784546, 0.0028905103307415234, 0.00050966952474304245,
    9.9457512781808531e-05, 2.0507212775670694e-05, 4.3748667899074873e-06,
    9.5514121304074194e-07, 2.1207184805554667e-07, 4.7698101693639811e-08,
};
static const double lgamma_stirling_f64[] = {
    1. / 12, -1. / 360, 1. / 1260, -1. / 1680, 1. / 1188, -691. / 360360, 1. / 156, -3617. / 122400,
    43867. / 244188,
};
#define LGAMMA_POLY(x, table) poly_f64(x, table, (int)(sizeof table / sizeof(double)))

/* lgamma of a >= LGAMMA_FAR. */
DF_INLINE v_f64 lgamma_far(v_f64 a, v_f64 log_a)
{
    const v_f64 z = 1 / a;
    const v_f64 series = z * LGAMMA_POLY(z * z, lgamma_stirling_f64);
    return (a - 0.5) * log_a - a + (0.91893853320467274 + series);
}

DF_INLINE v_f64 wide_lgamma(v_f64 x)
{
    const v_f64 a = abs_f64(x), infinite = splat_f64(INFINITY);
    v_f64 y = select_f64(a >= LGAMMA_FAR, splat_f64(2), a), above = splat_f64(1), below = above;
    for (int k = 0; k < LGAMMA_DOWN; k++) {
        const v_i64 high = y > 2.5;
        y = select_f64(high, y - 1, y);
        above = select_f64(high, above * y, above);
    }
    for (int k = 0; k < LGAMMA_UP; k++) {
        const v_i64 low = y < 1.5;
        below = select_f64(low, below * y, below);
        y = select_f64(low, y + 1, y);
    }
    const v_f64 z = y - 2;
    v_f64 rest = z * fma_f64(z, LGAMMA_POLY(z * z, lgamma_even_f64),
                             LGAMMA_POLY(z * z, lgamma_odd_f64));
    v_f64 quotient = above / below, sign = splat_f64(1);
    const v_i64 far = a >= LGAMMA_FAR, negative = x < (v_f64){0};
    if (any_f64(far)) rest = select_f64(far, lgamma_far(a, log_f64(a)), rest);
    if (any_f64(negative)) {
        const v_f64 sine = abs_f64(sin_f64(M_PI * (x - rint_f64(x))));
        quotient = select_f64(negative, M_PI / (a * sine * quotient), quotient);
        sign = select_f64(negative, -sign, sign);
    }
    const v_f64 result = sign * rest + log_f64(quotient);
    return select_f64(a == infinite, infinite, result);
}

/* (-1)^k (zeta(k) - 1), the derivatives of the above: of digamma(2 + z), even powers first. */
static const double digamma_even_f64[] = {
    0.42278433509846713, -0.20205690315959429, -0.036927755143369927, -0.0083492773819228271,
    -0.0020083928260822143, -0.00049418860411946453, -0.00012271334757848915,
    -3.0588236307020493e-05, -7.6371976378997626e-06, -1.908212716553939e-06,
    -4.7693298678780645e-07, -1.1921992596531106e-07, -2.9803503514652279e-08,
    -7.4507117898354301e-09,
};
static const double digamma_odd_f64[] = {
    0.64493406684822641, 0.082323233711138186, 0.01734306198444914, 0.0040773561979443396,
    0.00099457512781808526, 0.00024608655330804832, 6.1248135058704828e-05,
    1.5282259408651871e-05, 3.8172932649998402e-06, 9.5396203387279621e-07, 2.38450502727733e-07,
    5.960818905125948e-08, 1.4901554828365043e-08,
};
/* Bernoulli numbers B(2k) / 2k (NIST DLMF 5.11.2). */
static const double digamma_far_f64[] = {
    1. / 12, -1. / 120, 1. / 252, -1. / 240, 1. / 132, -691. / 32760, 1. / 12, -3617. / 8160,
};

/* digamma, by psi(y + 1) = psi(y) + 1 / y and psi(-a) = psi(a) + 1 / a + pi / tan(pi a). As in
 * SciPy, -inf at 0, inf at -0, NaN at the negative integers. */
DF_INLINE v_f64 wide_digamma(v_f64 x)
{
    const v_f64 a = abs_f64(x), zero = {0};
    v_f64 y = select_f64(a >= DIGAMMA_FAR, splat_f64(2), a);
    v_f64 above = zero, below = splat_f64(1); /* the sum of the terms 1 / y is above / below */
    for (int k = 0; k < DIGAMMA_DOWN; k++) {
        const v_i64 high = y > 2.5;
        y = select_f64(high, y - 1, y);
        above = select_f64(high, above * y + below, above);
        below = select_f64(high, below * y, below);
    }
    for (int k = 0; k < LGAMMA_UP; k++) {
        const v_i64 low = y < 1.5;
        above = select_f64(low, above * y - below, above);
        below = select_f64(low, below * y, below);
        y = select_f64(low, y + 1, y);
    }
    const v_f64 z = y - 2;
    v_f64 result = above / below + fma_f64(z, LGAMMA_POLY(z * z, digamma_odd_f64),
                                           LGAMMA_POLY(z * z, digamma_even_f64));
    const v_i64 far = a >= DIGAMMA_FAR, negative = x < zero;
    if (any_f64(far)) {
        const v_f64 inverse = 1 / a, square = inverse * inverse;
        const v_f64 series = square * LGAMMA_POLY(square, digamma_far_f64);
        result = select_f64(far, log_f64(a) - 0.5 * inverse - series, result);
    }
    if (any_f64(negative)) {
        const v_f64 beyond = rint_f64(x) - x;
        const v_f64 reflected = result + 1 / a + M_PI / tan_f64(M_PI * beyond);
        const v_f64 outside = select_f64(beyond == zero, splat_f64(NAN), reflected);
        result = select_f64(negative, outside, result);
    }
    return select_f64(x == zero, -1 / x, result);
}

#if defined(DF_HAVE_FMA)
DF_INLINE v_f32 lgamma_f32(v_f32 x) { return through_f64(wide_lgamma, x); }
DF_INLINE v_f32 digamma_f32(v_f32 x) { return through_f64(wide_digamma, x); }
#else /* two lanes of float64 are no faster than the scalar functions */
DF_INLINE v_f32 lgamma_f32(v_f32 x) { return by_lane_f32(lgamma_scalar, x); }
DF_INLINE v_f32 digamma_f32(v_f32 x) { return by_lane_f32(df_digamma, x); }
#endif

/* --- zeta and polygamma ----------------------------------------------------------------------- */

#define ZETA_MOST 200 /* the largest exponent */

/* Bernoulli numbers B(2j) / (2j)!. */
static const double zeta_bernoulli[] = {
    1. / 12, -1. / 720, 1. / 30240, -1. / 1209600, 1. / 47900160, -691. / 1307674368000,
    1. / 74724249600,
};

/* x^-s, where s = n unless n is 0. */
DF_INLINE v_f64 inverse_power(v_f64 x, v_f64 s, int n)
{
    if (!n) return exp_f64(-s * log_f64(x));
    v_f64 y = splat_f64(1), power = 1 / x;
    for (; n; n >>= 1, power *= power)
        if (n & 1) y *= power;
    return y;
}

/* The Hurwitz zeta function of finite x > 0 and s from 1, exclusive, to ZETA_MOST, within 2^-30, by
 * the Euler-Maclaurin formula (NIST DLMF 25.11.28). */
DF_NOINLINE v_f64 wide_zeta(v_f64 s, v_f64 x, int n)
{
    const v_f64 far = 3.6 + 0.65 * s;
    v_f64 sum = {0}, term;
    for (;;) {
        term = inverse_power(x, s, n);
        const v_i64 near = x < far;
        if (!any_f64(near)) break;
        sum = select_f64(near, sum + term, sum);
        x = select_f64(near, x + 1, x);
    }
    const v_f64 inverse = 1 / x;
    v_f64 rest = 0.5 + x / (s - 1), factor = s * inverse;
    for (int j = 0; j < (int)(sizeof zeta_bernoulli / sizeof *zeta_bernoulli); j++) {
        rest += zeta_bernoulli[j] * factor;
        factor *= (s + (2 * j + 1)) * (s + (2 * j + 2)) * (inverse * inverse);
    }
    return sum + term * rest;
}

DF_INLINE v_f64 zeta_f64(v_f64 s, v_f64 q)
{
    for (int64_t i = 0; i < (int64_t)(sizeof q / sizeof(double)); i++) q[i] = df_zeta(s[i], q[i]);
    return q;
}

DF_INLINE v_f32 zeta_f32(v_f32 s, v_f32 q)
{
    const v_i32 usual = (s > 1) & (s < ZETA_MOST) & (q > 0) & (q < INFINITY);
    const df_wide exponent = widen(select_f32(usual, s, splat_f32(2)));
    const df_wide base = widen(select_f32(usual, q, splat_f32(9)));
    v_f32 y = narrow((df_wide){wide_zeta(exponent.lo, base.lo, 0),
                               wide_zeta(exponent.hi, base.hi, 0)});
    if (any_f32(~usual))
        for (int64_t i = 0; i < (int64_t)(sizeof y / sizeof(float)); i++)
            if (!usual[i]) y[i] = (float)df_zeta((double)s[i], (double)q[i]);
    return y;
}

/* The derivative of digamma whose order is an element of `order`; all its elements are equal. */
DF_INLINE v_f64 polygamma_f64(v_f64 x, v_f64 order)
{
    for (int64_t i = 0; i < (int64_t)(sizeof x / sizeof(double)); i++)
        x[i] = df_polygamma((int)order[0], x[i]);
    return x;
}

DF_INLINE v_f32 polygamma_f32(v_f32 x, v_f32 order)
{
    const int n = (int)order[0];
    if (n == 0) return digamma_f32(x);
    const v_i32 usual = (x > 0) & (x < INFINITY);
    const df_wide base = widen(select_f32(usual, x, splat_f32(9)));
    const v_f64 s = splat_f64(n + 1);
    double factor = n % 2 ? 1 : -1;
    for (int k = 2; k <= n; k++) factor *= k;
    v_f32 y = narrow((df_wide){factor * wide_zeta(s, base.lo, n + 1),
                               factor * wide_zeta(s, base.hi, n + 1)});
    if (any_f32(~usual))
        for (int64_t i = 0; i < (int64_t)(sizeof y / sizeof(float)); i++)
            if (!usual[i]) y[i] = (float)df_polygamma(n, (double)x[i]);
    return y;
}

#endif
