/* Part of vmath.h: the derivatives of digamma, slow and accurate, one element at a time. */

#define POLYGAMMA_MAX 100 /* the factorial and the power of pi stay finite */

/* The Hurwitz zeta function for x > 0 and s > 1, by the Euler-Maclaurin formula: the terms below
 * `far`, the integral over the rest, and corrections with Bernoulli numbers B(2j) / (2j)!. In long
 * double, as the errors of up to 220 powers accumulate. */
static inline long double hurwitz_zeta(double s, long double first)
{
    static const long double bernoulli[] = {
        1.0L / 12, -1.0L / 720, 1.0L / 30240, -1.0L / 1209600,
        1.0L / 47900160, -691.0L / 1307674368000, 1.0L / 74724249600};
    long double x = first, far = 20 + 2 * s, sum = 0;
    for (; x < far; x += 1) sum += powl(x, -s);
    long double term = powl(x, -s), factor = s / x;
    sum += term * x / (s - 1) + term / 2;
    for (int j = 0; j < (int)(sizeof bernoulli / sizeof *bernoulli); j++) {
        sum += bernoulli[j] * term * factor;
        factor *= (s + 2 * j + 1) * (s + 2 * j + 2) / (x * x);
    }
    return sum;
}

/* (-1)^n pi^-n times the n-th derivative of cot(pi x), where c = cot(pi x): the polynomial Q(n, c)
 * with Q(0) = c and Q(n + 1) = (1 + c^2) Q'(n). All its coefficients are positive. */
static inline double cot_derivative(int n, double c)
{
    double q[POLYGAMMA_MAX + 2] = {0, 1};
    for (int k = 0; k < n; k++) {
        double next[POLYGAMMA_MAX + 2] = {0};
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

/* The n-th derivative of digamma: (-1)^(n+1) n! zeta(n + 1, x), and for x < 0 its reflection (NIST
 * DLMF 5.15.6). inf at the poles, or NaN if the two sides differ in sign. */
DF_NOINLINE double polygamma_scalar(int n, double x)
{
    if (n == 0) return digamma_scalar(x);
    double sign = n % 2 ? 1 : -1;
    if (x > 0) return isinf(x) ? 0 : (double)(sign * tgammal(n + 1) * hurwitz_zeta(n + 1, x));
    double beyond = x - rint(x);
    if (!isfinite(x)) return (double)NAN;
    if (beyond == 0) return n % 2 ? (double)INFINITY : (double)NAN;
    double right = (double)(sign * tgammal(n + 1) * hurwitz_zeta(n + 1, 1 - x));
    return sign * (pow(M_PI, n + 1) * cot_derivative(n, 1 / tan(M_PI * beyond)) - right);
}
