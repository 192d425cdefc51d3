/* Part of vmath.h: functions that are libm's, lane by lane, because they are rare: lgamma, and in
 * float64 those whose float32 form is computed in float64 by vmath_wide.h. */

DF_INLINE v_f64 by_lane_f64(double (*f)(double), v_f64 x)
{
    for (int64_t i = 0; i < (int64_t)(sizeof x / sizeof(double)); i++) x[i] = f(x[i]);
    return x;
}

/* libm's lgamma also writes a global sign; this form does not. */
static inline double lgamma_scalar(double x)
{
    int sign;
    return lgamma_r(x, &sign);
}

/* Derivative of lgamma. Above 10 the asymptotic series in 1 / x^2 (Abramowitz and Stegun, 6.3.18),
 * reached by psi(x) = psi(x + 1) - 1 / x; below zero psi(x) = psi(1 - x) - pi / tan(pi x). As in
 * SciPy, -inf at 0, inf at -0, NaN at the negative integers. */
static inline double digamma_scalar(double x)
{
    if (x == 0) return -1 / x;
    double y = 0;
    if (x < 0) {
        double beyond = x - rint(x); /* exact, and tan needs no more of pi x */
        if (beyond == 0 || !isfinite(x)) return (double)NAN;
        y = -M_PI / tan(M_PI * beyond);
        x = 1 - x;
    }
    for (; x < 10; x += 1) y -= 1 / x;
    if (isinf(x)) return x;
    double z = 1 / (x * x);
    double series = 1.0 / 132 - z * (691.0 / 32760 - z / 12);
    series = 1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * series)));
    return y + (log(x) - 0.5 / x - z * series);
}

DF_INLINE v_f64 asin_f64(v_f64 x) { return by_lane_f64(asin, x); }
DF_INLINE v_f64 acos_f64(v_f64 x) { return by_lane_f64(acos, x); }
DF_INLINE v_f64 asinh_f64(v_f64 x) { return by_lane_f64(asinh, x); }
DF_INLINE v_f64 acosh_f64(v_f64 x) { return by_lane_f64(acosh, x); }
DF_INLINE v_f64 atanh_f64(v_f64 x) { return by_lane_f64(atanh, x); }
DF_INLINE v_f64 erfc_f64(v_f64 x) { return by_lane_f64(erfc, x); }
DF_INLINE v_f64 lgamma_f64(v_f64 x) { return by_lane_f64(lgamma_scalar, x); }
DF_INLINE v_f64 digamma_f64(v_f64 x) { return by_lane_f64(digamma_scalar, x); }

DF_INLINE v_f32 by_lane_f32(double (*f)(double), v_f32 x)
{
    for (int64_t i = 0; i < (int64_t)(sizeof x / sizeof(float)); i++) x[i] = (float)f((double)x[i]);
    return x;
}

DF_INLINE v_f32 lgamma_f32(v_f32 x) { return by_lane_f32(lgamma_scalar, x); }
DF_INLINE v_f32 digamma_f32(v_f32 x) { return by_lane_f32(digamma_scalar, x); }
