/* Inverses of the normal distribution and of the error functions.
 *
 * Wichura, "Algorithm AS 241: the percentage points of the normal distribution", Applied Statistics
 * 37 (1988): rational functions of degree 7, accurate to 1 part in 10^16. */
#include "special/special.h"
#include <math.h>

/* Numerator and denominator, highest power first. */
static double quantile_ratio(const double of[2][8], double r)
{
    double above = of[0][0], below = of[1][0];
    for (int i = 1; i < 8; i++) {
        above = above * r + of[0][i];
        below = below * r + of[1][i];
    }
    return above / below;
}

#define QUANTILE_CENTER 0.425 /* largest |p - 1/2| of the central approximation */

/* x / q where P(X < x) = 1/2 + q. */
static double center_ratio(double q_squared)
{
    static const double of[2][8] = {
        {2.5090809287301226727e+3, 3.3430575583588128105e+4, 6.7265770927008700853e+4,
         4.5921953931549871457e+4, 1.3731693765509461125e+4, 1.9715909503065514427e+3,
         1.3314166789178437745e+2, 3.3871328727963666080e+0},
        {5.2264952788528545610e+3, 2.8729085735721942674e+4, 3.9307895800092710610e+4,
         2.1213794301586595867e+4, 5.3941960214247511077e+3, 6.8718700749205790830e+2,
         4.2313330701600911252e+1, 1.0}};
    return quantile_ratio(of, 0.180625 - q_squared);
}

/* x where P(X > x) = e^-s. */
static double tail_quantile(double s)
{
    static const double near[2][8] = {
        {7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1,
         1.27045825245236838258e+0, 3.64784832476320460504e+0, 5.76949722146069140550e+0,
         4.63033784615654529590e+0, 1.42343711074968357734e+0},
        {1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2,
         1.48103976427480074590e-1, 6.89767334985100004550e-1, 1.67638483018380384940e+0,
         2.05319162663775882187e+0, 1.0}};
    static const double far[2][8] = {
        {2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3,
         2.65321895265761230930e-2, 2.96560571828504891230e-1, 1.78482653991729133580e+0,
         5.46378491116411436990e+0, 6.65790464350110377720e+0},
        {2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5,
         7.86869131145613259100e-4, 1.48753612908506148525e-2, 1.36929880922735805310e-1,
         5.99832206555887937690e-1, 1.0}};
    const double r = sqrt(s);
    return r <= 5 ? quantile_ratio(near, r - 1.6) : quantile_ratio(far, r - 5);
}

double df_ndtri(double p)
{
    const double q = p - 0.5, tail = p < 0.5 ? p : 1 - p;
    if (!(tail >= 0)) return NAN;
    if (tail == 0) return p == 0 ? -INFINITY : INFINITY;
    if (fabs(q) <= QUANTILE_CENTER) return q * center_ratio(q * q);
    return copysign(tail_quantile(-log(tail)), q);
}

/* erf(y) = P(|X| < sqrt(2) y). */
double df_erfinv(double x)
{
    const double tail = 1 - fabs(x);
    if (!(tail >= 0)) return NAN;
    if (tail == 0) return copysign(INFINITY, x);
    if (fabs(x) <= 2 * QUANTILE_CENTER) return x * (center_ratio(0.25 * x * x) * (0.5 * M_SQRT1_2));
    return copysign(tail_quantile(M_LN2 - log(tail)) * M_SQRT1_2, x);
}

double df_erfcinv(double x)
{
    const double q = 1 - x, tail = x < 1 ? x : 2 - x;
    if (!(tail >= 0)) return NAN;
    if (tail == 0) return x == 0 ? INFINITY : -INFINITY;
    if (fabs(q) <= 2 * QUANTILE_CENTER) return q * (center_ratio(0.25 * q * q) * (0.5 * M_SQRT1_2));
    return copysign(tail_quantile(M_LN2 - log(tail)) * M_SQRT1_2, q);
}
