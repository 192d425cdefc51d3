/* The Hurwitz zeta function, by the Euler-Maclaurin formula (NIST DLMF 25.11.28). */
#include "special/special.h"
#include <math.h>

#define MOST_PRODUCTS 128 /* the largest integer exponent whose powers are products */

/* x^-s: for integers s within 2^-57; otherwise the C library's power of the nearest double times a
 * correction for the difference, within 2^-53, or powl outside the range of a double. */
static long double inverse_power(long double x, double s)
{
    if (s == floor(s) && s <= MOST_PRODUCTS) {
        long double y = 1;
        for (int n = (int)s; n; n >>= 1, x *= x)
            if (n & 1) y *= x;
        return 1 / y;
    }
    const double near = (double)x, y = pow(near, -s);
    if (!(y > 1e-280 && y < 1e280)) return powl(x, -s);
    return y * (1 - s * ((x - near) / near));
}

/* The terms below `far`, the integral over the rest, and corrections with Bernoulli numbers
 * B(2j) / (2j)!. */
long double df_zeta_long(double s, long double q)
{
    static const long double bernoulli[] = {
        1.0L / 12, -1.0L / 720, 1.0L / 30240, -1.0L / 1209600, 1.0L / 47900160,
        -691.0L / 1307674368000, 1.0L / 74724249600, -3617.0L / 10670622842880000,
        43867.0L / 5109094217170944000, -174611.0L / 802857662698291200000.0L,
        77683.0L / 14101100039391805440000.0L, -236364091.0L / 1693824136731743669452800000.0L};
    const long double far = 9 + 0.95 * s;
    long double x = q, sum = 0;
    for (; x < far; x += 1) sum += inverse_power(x, s);
    long double term = inverse_power(x, s), factor = s / x;
    sum += term * x / (s - 1) + term / 2;
    for (int j = 0; j < (int)(sizeof bernoulli / sizeof *bernoulli); j++) {
        sum += bernoulli[j] * term * factor;
        factor *= (s + 2 * j + 1) * (s + 2 * j + 2) / (x * x);
    }
    return sum;
}

/* The function for s > 1 and q > 0, both finite. */
static long double zeta_beyond_zero(double s, long double q)
{
    if (s < 100 || q > 2 * s) return df_zeta_long(s, q);
    long double sum = 0, term = 1; /* the first terms dominate */
    for (; term > 1e-19L * sum; q += 1) sum += term = inverse_power(q, s);
    return sum;
}

/* The terms below 0 are the terms of -q above 0, up to the sign. */
double df_zeta(double s, double q)
{
    if (s == 1) return (double)INFINITY;
    if (!(s > 1) || isnan(q)) return (double)NAN;
    if (q <= 0 && q == floor(q)) return (double)INFINITY;
    if (q <= 0 && s != floor(s)) return (double)NAN;
    if (isinf(s)) return q > 1 ? 0 : q == 1 ? 1 : (double)INFINITY;
    if (isinf(q)) return 0;
    if (q > 0) return (double)zeta_beyond_zero(s, q);
    long double first = -(long double)q - floorl(-(long double)q), sign = fmod(s, 2) ? -1 : 1;
    long double below = zeta_beyond_zero(s, first) - zeta_beyond_zero(s, 1 - (long double)q);
    return (double)(sign * below + zeta_beyond_zero(s, 1 - first));
}
