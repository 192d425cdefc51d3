/* Part of vmath.h: rare functions, computed lane by lane: lgamma of float64 by libm, digamma by a
 * scalar formula. */

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

/* psi near its positive root, by Taylor series: in the general formula two terms cancel there. */
static inline double digamma_near_root(double x)
{
    static const double taylor[] = {
        0.9676722454476212, -0.4427631689835921, 0.258499760955651, -0.16394270544240652,
        0.10782405069126237, -0.07219956125645471, 0.04880428816414311,
        -0.03316112647484736, 0.022597648232218104, -0.01542476590494896,
        0.010538791616612175, -0.007204534386356869, 0.004926781395729853,
        -0.003369801655439328, 0.002305126326734928, -0.0015769367714301972,
        0.0010788252019162967, -0.0007380709389960052, 0.000504953265834602,
        -0.0003454680251063077, 0.00023635601564027053, -0.00016170622091974803,
        0.0001106337276874741, -7.569179582195066e-05, 5.178575795222081e-05,
        -3.5430070947659604e-05,
    };
    double d = (x - 1.4616321449683622) - 9.549995429965697e-17, y = 0;
    for (int i = (int)(sizeof taylor / sizeof *taylor) - 1; i >= 0; i--) y = y * d + taylor[i];
    return y * d;
}

/* Derivative of lgamma. Above 10 the asymptotic series in 1 / x^2 (Abramowitz and Stegun, 6.3.18),
 * reached by psi(x) = psi(x + 1) - 1 / x; below zero psi(x) = psi(1 - x) - pi / tan(pi x). As in
 * SciPy, -inf at 0, inf at -0, NaN at the negative integers. */
static inline double digamma_scalar(double x)
{
    if (x == 0) return -1 / x;
    long double y = 0; /* terms of both signs and several units cancel to a small result */
    if (x < 0) {
        double beyond = x - rint(x); /* exact, and sufficient for tan */
        if (beyond == 0 || !isfinite(x)) return (double)NAN;
        y = -M_PI / tan(M_PI * beyond);
        x = 1 - x;
    }
    if (y == 0 && fabs(x - 1.46) < 0.35) return digamma_near_root(x);
    long double far = x;
    for (; far < 10; far += 1) y -= 1 / far;
    if (isinf(x)) return x;
    double z = (double)(1 / (far * far));
    double series = 1.0 / 132 - z * (691.0 / 32760 - z / 12);
    series = 1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * series)));
    return (double)(y + (logl(far) - 0.5L / far - z * series));
}

DF_INLINE v_f64 lgamma_f64(v_f64 x) { return by_lane_f64(lgamma_scalar, x); }
DF_INLINE v_f64 digamma_f64(v_f64 x) { return by_lane_f64(digamma_scalar, x); }

DF_INLINE v_f32 by_lane_f32(double (*f)(double), v_f32 x)
{
    for (int64_t i = 0; i < (int64_t)(sizeof x / sizeof(float)); i++) x[i] = (float)f((double)x[i]);
    return x;
}

