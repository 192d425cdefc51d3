/* Part of vmath.h: the incomplete beta function and its density, and the Hurwitz zeta function, one
 * element at a time, in long double. Needs vmath_gamma.h. */

/* x^a (1 - x)^b gamma(a + b) / (gamma(a) gamma(b)), by Stirling's formula for a large a or b, so
 * that nothing overflows or cancels (DiDonato and Morris, "Algorithm 708", 1992). */
static inline long double beta_weight(long double a, long double b, long double x, long double y)
{
    if (a > b) { /* make b the larger one */
        long double swap = a;
        a = b, b = swap, swap = x, x = y, y = swap;
    }
    long double log_y = y < 0.5L ? logl(y) : log1pl(-x), total = a + b;
    if (b < 10)
        return expl(a * (x < 0.5L ? logl(x) : log1pl(-y)) + b * log_y) * tgammal(total) /
               tgammal(a) / tgammal(b);
    long double rest = stirling_rest(total) - stirling_rest(b);
    if (a < 10)
        return expl(rest + b * (log1pl(a / b) + log_y) - a - log1pl(a / b) / 2 +
                    a * logl(x * total)) / tgammal(a);
    long double away = a * y - b * x; /* 0 at the mean, a / (a + b) */
    long double at_x = -away / a, at_y = away / b;
    long double below = at_x > -0.5L ? log1p_minus(at_x) : logl(x * total / a) - at_x;
    long double above = at_y > -0.5L ? log1p_minus(at_y) : logl(y * total / b) - at_y;
    return expl(a * below + b * above + rest - stirling_rest(a)) *
           sqrtl(a / total * b / (2 * (long double)M_PI));
}

/* I(x; a, b) * a / weight for x below the mean: the continued fraction (NIST DLMF 8.17.22), by
 * Lentz. */
static inline long double beta_fraction(long double a, long double b, long double x)
{
    long double c = 1, d = 1 / (1 - (a + b) * x / (a + 1)), f = d;
    for (int m = 1; m < MOST_TERMS; m++) {
        long double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        long double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / (1 + even * d);
        c = 1 + even / c;
        f *= c * d;
        d = 1 / (1 + odd * d);
        c = 1 + odd / c;
        f *= c * d;
        if (fabsl(c * d - 1) < TOO_SMALL) break;
    }
    return f;
}

/* The regularized incomplete beta function I(x; a, b). */
static inline double betainc_scalar(double a, double b, double x)
{
    if (!(a > 0 && b > 0 && x >= 0 && x <= 1) || isinf(a) || isinf(b)) return (double)NAN;
    if (x == 0 || x == 1) return x;
    long double y = 1 - (long double)x, weight = beta_weight(a, b, x, y);
    if (x * ((long double)a + b + 2) < (long double)a + 1)
        return (double)(weight / a * beta_fraction(a, b, x));
    return (double)(1 - weight / b * beta_fraction(b, a, y));
}

/* The derivative of I(x; a, b) in x, x^(a - 1) (1 - x)^(b - 1) / B(a, b): the density of the beta
 * distribution. */
static inline double beta_density_scalar(double a, double b, double x)
{
    if (!(a > 0 && b > 0 && x >= 0 && x <= 1) || isinf(a) || isinf(b)) return (double)NAN;
    if (x == 0) return a < 1 ? (double)INFINITY : a == 1 ? b : 0;
    if (x == 1) return b < 1 ? (double)INFINITY : b == 1 ? a : 0;
    long double y = 1 - (long double)x;
    return (double)(beta_weight(a, b, x, y) / (x * y));
}

/* The Hurwitz zeta function of q > 0 and x > 1, both finite. */
static inline long double zeta_beyond_zero(double x, long double q)
{
    if (x < 100 || q > 2 * x) return hurwitz_zeta(x, q);
    long double sum = 0, term = 1; /* the first terms dominate */
    for (; term > TOO_SMALL * sum; q += 1) sum += term = powl(q, -x);
    return sum;
}

/* The Hurwitz zeta function, the sum of (q + n)^-x over n >= 0: inf at its poles, NaN where it has
 * no real value, as in SciPy. The terms below 0 are the terms of -q above 0, up to the sign. */
static inline double zeta_scalar(double x, double q)
{
    if (x == 1) return (double)INFINITY;
    if (!(x > 1) || isnan(q)) return (double)NAN;
    if (q <= 0 && q == floor(q)) return (double)INFINITY;
    if (q <= 0 && x != floor(x)) return (double)NAN;
    if (isinf(x)) return q > 1 ? 0 : q == 1 ? 1 : (double)INFINITY;
    if (isinf(q)) return 0;
    if (q > 0) return (double)zeta_beyond_zero(x, q);
    long double first = -(long double)q - floorl(-(long double)q), sign = fmod(x, 2) ? -1 : 1;
    long double below = zeta_beyond_zero(x, first) - zeta_beyond_zero(x, 1 - (long double)q);
    return (double)(sign * below + zeta_beyond_zero(x, 1 - first));
}
