/* The incomplete beta function and the density of its distribution, one element at a time. Compiled
 * once per floating dtype. */

/* x^a (1 - x)^b gamma(a + b) / (gamma(a) gamma(b)), by Stirling's formula for a large a or b, so
 * that nothing overflows or cancels (DiDonato and Morris, "Algorithm 708", 1992). */
static REAL FN(beta_weight)(REAL a, REAL b, REAL x, REAL y)
{
    if (a > b) { /* make b the larger one */
        REAL swap = a;
        a = b, b = swap, swap = x, x = y, y = swap;
    }
    REAL log_y = y < 0.5 ? MATH(log)(y) : MATH(log1p)(-x), total = a + b;
    if (b < 10)
        return MATH(exp)(a * (x < 0.5 ? MATH(log)(x) : MATH(log1p)(-y)) + b * log_y) *
               MATH(tgamma)(total) / MATH(tgamma)(a) / MATH(tgamma)(b);
    REAL rest = FN(stirling_rest)(total) - FN(stirling_rest)(b);
    if (a < 10)
        return MATH(exp)(rest + b * (MATH(log1p)(a / b) + log_y) - a - MATH(log1p)(a / b) / 2 +
                         a * MATH(log)(x * total)) / MATH(tgamma)(a);
    REAL away = a * y - b * x; /* 0 at the mean, a / (a + b) */
    REAL at_x = -away / a, at_y = away / b;
    REAL below = at_x > -0.5 ? FN(log1p_minus)(at_x) : MATH(log)(x * total / a) - at_x;
    REAL above = at_y > -0.5 ? FN(log1p_minus)(at_y) : MATH(log)(y * total / b) - at_y;
    return MATH(exp)(a * below + b * above + rest - FN(stirling_rest)(a)) *
           MATH(sqrt)(a / total * b / (2 * (REAL)M_PI));
}

/* I(x; a, b) * a / weight for x below the mean: the continued fraction (NIST DLMF 8.17.22), by
 * Lentz. */
static REAL FN(beta_fraction)(REAL a, REAL b, REAL x)
{
    REAL c = 1, d = 1 / (1 - (a + b) * x / (a + 1)), f = d;
    for (int m = 1; m < MOST_TERMS; m++) {
        REAL even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        REAL odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / (1 + even * d);
        c = 1 + even / c;
        f *= c * d;
        d = 1 / (1 + odd * d);
        c = 1 + odd / c;
        f *= c * d;
        if (MATH(fabs)(c * d - 1) < BETA_TOO_SMALL) break;
    }
    return f;
}

static bool FN(beta_is_nan)(REAL a, REAL b, REAL x)
{
    return !(a > 0 && b > 0 && x >= 0 && x <= 1) || isinf(a) || isinf(b);
}

/* The regularized incomplete beta function I(x; a, b). */
static REAL FN(beta_below)(REAL a, REAL b, REAL x)
{
    if (FN(beta_is_nan)(a, b, x)) return (REAL)NAN;
    if (x == 0 || x == 1) return x;
    REAL y = 1 - x, weight = FN(beta_weight)(a, b, x, y);
    if (x * (a + b + 2) < a + 1) return weight / a * FN(beta_fraction)(a, b, x);
    return 1 - weight / b * FN(beta_fraction)(b, a, y);
}

/* The derivative of I(x; a, b) in x, x^(a - 1) (1 - x)^(b - 1) / B(a, b): the density of the beta
 * distribution. */
T FN(df_beta_density)(T a, T b, T x)
{
    if (FN(beta_is_nan)(a, b, x)) return (T)NAN;
    if (x == 0) return a < 1 ? (T)INFINITY : a == 1 ? b : 0;
    if (x == 1) return b < 1 ? (T)INFINITY : b == 1 ? a : 0;
    REAL y = 1 - (REAL)x;
    return (T)(FN(beta_weight)(a, b, x, y) / (x * y));
}
