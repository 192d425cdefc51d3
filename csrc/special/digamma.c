/* digamma and its derivatives. */
#include "special/special.h"
#include <math.h>
#include <string.h>

/* psi near its positive root, by Taylor series: in the general formula two terms cancel there. */
static double digamma_near_root(double x)
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
 * reached by psi(x) = psi(x + 1) - 1 / x; below zero psi(x) = psi(1 - x) - pi / tan(pi x). */
double df_digamma(double x)
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

/* (-1)^n pi^-n times the n-th derivative of cot(pi x), where c = cot(pi x): the polynomial Q(n, c)
 * with Q(0) = c and Q(n + 1) = (1 + c^2) Q'(n). All its coefficients are positive. */
static double cot_derivative(int n, double c)
{
    double q[DF_POLYGAMMA_MAX + 2] = {0, 1};
    for (int k = 0; k < n; k++) {
        double next[DF_POLYGAMMA_MAX + 2] = {0};
        for (int i = 1; i <= k + 1; i++) {
            next[i - 1] += i * q[i];
            next[i + 1] += i * q[i];
        }
        memcpy(q, next, sizeof q);
    }
    double y = 0;
    for (int i = n + 1; i >= 0; i--) y = y * c + q[i];
    return y;
}

/* (-1)^(n+1) n! zeta(n + 1, x), and for x < 0 its reflection (NIST DLMF 5.15.6). */
double df_polygamma(int n, double x)
{
    if (n == 0) return df_digamma(x);
    double sign = n % 2 ? 1 : -1;
    if (x > 0) return isinf(x) ? 0 : (double)(sign * tgammal(n + 1) * df_zeta_long(n + 1, x));
    double beyond = x - rint(x);
    if (!isfinite(x)) return (double)NAN;
    if (beyond == 0) return n % 2 ? (double)INFINITY : (double)NAN;
    double right = (double)(sign * tgammal(n + 1) * df_zeta_long(n + 1, 1 - x));
    return sign * (pow(M_PI, n + 1) * cot_derivative(n, 1 / tan(M_PI * beyond)) - right);
}
