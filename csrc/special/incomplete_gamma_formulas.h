/* The incomplete gamma functions and their density, one element at a time. Compiled once per
 * floating dtype. */

/* x^a e^-x / gamma(a + 1) for 0 < a < 10. */
static REAL FN(small_weight)(REAL a, REAL x);

/* log(1 + x) - x for |x| < 1/2 as a series in r = x / (2 + x), in which nothing cancels. */
static REAL FN(log1p_minus)(REAL x)
{
    if (x < -0.5 || x > 0.5) return MATH(log1p)(x) - x;
    REAL r = x / (2 + x), square = r * r, sum = 0, power = 1;
    for (int k = 3; power > TOO_SMALL * sum * k && k < 80; k += 2, power *= square)
        sum += power / k;
    return 2 * r * square * sum - x * r;
}

/* log(gamma(a)) minus Stirling's (a - 1/2) log(a) - a + log(2 pi) / 2, for a >= 7 (NIST DLMF
 * 5.11.1). */
static REAL FN(stirling_rest)(REAL a)
{
    static const REAL series[] = {
        1.0L / 12, -1.0L / 360, 1.0L / 1260, -1.0L / 1680, 1.0L / 1188, -691.0L / 360360,
        1.0L / 156, -3617.0L / 122400, 43867.0L / 244188, -174611.0L / 125400};
    REAL z = 1 / (a * a), sum = 0;
    for (int i = STIRLING_TERMS - 1; i >= 0; i--) sum = sum * z + series[i];
    return sum / a;
}

/* x^a e^-x / gamma(a + 1), x > 0: by Stirling's formula for large a, where powers overflow. */
static REAL FN(gamma_weight)(REAL a, REAL x)
{
    if (a < 10) return FN(small_weight)(a, x);
    REAL away = (x - a) / a;
    REAL exponent = away > -0.5 ? FN(log1p_minus)(away) : MATH(log)(x / a) - away;
    return MATH(exp)(a * exponent - FN(stirling_rest)(a) - ((REAL)LOG_TWO_PI + MATH(log)(a)) / 2);
}

/* log(gamma(a + 1)) for -1/2 <= a, to full relative precision at its zeros 0 and 1. */
static REAL FN(lgamma_after)(REAL a)
{
    if (a > 1.5) return MATH(log)(MATH(tgamma)(a + 1));
    if (a > 0.5) return MATH(log)(a) + FN(lgamma_after)(a - 1);
    static const REAL zeta_minus_1[] = { /* of 2, 3, ... */
        0.6449340668482264364724L, 0.2020569031595942853997L, 0.08232323371113819151600L,
        0.03692775514336992633137L, 0.01734306198444913971452L,
        0.008349277381922826839798L, 0.004077356197944339378685L,
        0.002008392826082214417853L, 0.0009945751278180853371460L,
        0.0004941886041194645587023L, 0.0002460865533080482986380L,
        0.0001227133475784891467518L, 0.00006124813505870482925855L,
        0.00003058823630702049355173L, 0.00001528225940865187173257L,
        0.000007637197637899762273600L, 0.000003817293264999839856462L,
        0.000001908212716553938925657L, 9.539620338727961131520e-7L,
        4.769329867878064631167e-7L, 2.384505027277329900036e-7L,
        1.192199259653110730678e-7L, 5.960818905125947961244e-8L,
        2.980350351465228018606e-8L, 1.490155482836504123466e-8L,
        7.450711789835429491981e-9L, 3.725334024788457054819e-9L,
        1.862659723513049006404e-9L, 9.313274324196681828718e-10L,
        4.656629065033784072989e-10L, 2.328311833676505492002e-10L,
        1.164155017270051977593e-10L, 5.820772087902700889251e-11L,
        2.910385044497099686928e-11L, 1.455192189104198423598e-11L,
        7.275959835057481014509e-12L, 3.637979547378651190237e-12L,
        1.818989650307065947653e-12L};
    REAL sum = 0, power = a * a;
    for (int k = 2; k < ZETA_END; k++, power *= -a) sum += power / k * zeta_minus_1[k - 2];
    return sum + a * (1 - (REAL)EULER_GAMMA) - MATH(log1p)(a);
}

/* Temme's uniform expansion for large a and x near a (NIST DLMF 8.12): Q(a, x), or P(a, x) for side
 * = -1. */
static T FN(gamma_near)(REAL a, REAL x, int side)
{
    REAL away = (x - a) / a, eta = MATH(sqrt)(-2 * FN(log1p_minus)(away)), rest = 0;
    if (away < 0) eta = -eta;
    for (int k = NEAR_ROWS - 1; k >= 0; k--) {
        REAL row = 0;
        for (int n = NEAR_TERMS - 1; n >= 0; n--) row = row * eta + near_terms[k][n];
        rest = rest / a + row;
    }
    rest *= MATH(exp)(-a * eta * eta / 2) / MATH(sqrt)(2 * (REAL)M_PI * a);
    return (T)(MATH(erfc)(side * eta * MATH(sqrt)(a / 2)) / 2 + side * rest);
}

/* Sum of x^n / ((a + 1) ... (a + n)), where P(a, x) = weight * sum (NIST DLMF 8.7.1). */
static REAL FN(gamma_series)(REAL a, REAL x)
{
    REAL sum = 1, term = 1;
    for (int n = 1; n < MOST_TERMS && term > TOO_SMALL * sum; n++) sum += term *= x / (a + n);
    return sum;
}

/* Q(a, x) / (weight * a) for x > a: Legendre's continued fraction (NIST DLMF 8.9.2), by the
 * recurrences of numerators and denominators, whose scale is 1 / denominator every few steps. */
static REAL FN(gamma_fraction)(REAL a, REAL x)
{
    REAL b = x + 1 - a, f = 1 / b, above = f, above_before = 0, below = 1, below_before = f;
    if (b > 0x1p200) return f; /* products would overflow, and the other terms are negligible */
    for (int n = 1; n < MOST_TERMS;) {
        for (const int end = n + 4; n < end; n++) {
            const REAL by = n * (a - n), above_next = (b += 2) * above + by * above_before;
            const REAL below_next = b * below + by * below_before;
            above_before = above, above = above_next;
            below_before = below, below = below_next;
        }
        const REAL scale = 1 / below, last = f;
        f = above = above * scale;
        above_before *= scale, below_before *= scale, below = 1;
        if (MATH(fabs)(f - last) < TOO_SMALL * f) break;
    }
    return f;
}

/* Q(a, x) for small a and x, where 1 - P would cancel: 1 - x^a / gamma(a + 1) separately, plus the
 * rest of the series (NIST DLMF 8.7.3). */
static REAL FN(gamma_upper_small)(REAL a, REAL x)
{
    REAL sum = 0, term = 1, exponent = a * MATH(log)(x) - FN(lgamma_after)(a);
    for (int n = 1; n < 100; n++) {
        term *= -x / n;
        sum += term / (a + n);
        if (MATH(fabs)(term) < TOO_SMALL * MATH(fabs)(sum)) break;
    }
    return -MATH(expm1)(exponent) - a * MATH(exp)(exponent) * sum;
}

/* Sets the values at the ends of the range, NaN outside; returns false for all other arguments.
 * `upper` is 1 for Q, 0 for P. */
static bool FN(gamma_at_ends)(T a, T x, int upper, T *y)
{
    if (!(a >= 0 && x >= 0) || (a == 0 && x == 0) || (isinf(a) && isinf(x)))
        *y = (T)NAN;
    else if (a == 0 || isinf(x))
        *y = 1 - upper;
    else if (x == 0 || isinf(a))
        *y = upper;
    else
        return false;
    return true;
}

static bool FN(is_near)(T a, T x) { return a > 20 && MATH(fabs)(x - a) < 0.3 * a; }

/* The regularized upper incomplete gamma function Q(a, x). */
T FN(df_igammac)(T a, T x)
{
    T y;
    if (FN(gamma_at_ends)(a, x, 1, &y)) return y;
    if (FN(is_near)(a, x)) return FN(gamma_near)(a, x, 1);
    if (x > 1.1 && x > a) return (T)(FN(gamma_weight)(a, x) * a * FN(gamma_fraction)(a, x));
    bool lower = x > 1.1 ? x <= a : x <= 0.5 ? -0.4 / MATH(log)(x) < a : x * 1.1 < a;
    if (lower) return (T)(1 - FN(gamma_weight)(a, x) * FN(gamma_series)(a, x));
    return (T)FN(gamma_upper_small)(a, x);
}

/* The regularized lower incomplete gamma function P(a, x). */
T FN(df_igamma)(T a, T x)
{
    T y;
    if (FN(gamma_at_ends)(a, x, 0, &y)) return y;
    if (FN(is_near)(a, x)) return FN(gamma_near)(a, x, -1);
    if (x > 1 && x > a)
        return (T)(1 - FN(gamma_weight)(a, x) * a * FN(gamma_fraction)(a, x));
    return (T)(FN(gamma_weight)(a, x) * FN(gamma_series)(a, x));
}

/* The derivative of P(a, x) in x, x^(a - 1) e^-x / gamma(a): the density of the gamma
 * distribution. */
T FN(df_gamma_density)(T a, T x)
{
    if (!(a > 0 && x >= 0) || isinf(a)) return (T)NAN;
    if (x == 0) return a < 1 ? (T)INFINITY : a == 1;
    return isinf(x) ? 0 : (T)(FN(gamma_weight)(a, x) * a / x);
}

/* The derivative of P(a, x) in a: series and fraction, differentiated term by term, each in the
 * range in which nothing cancels. */
T FN(df_igamma_grad_a)(T a, T x)
{
    if (!(a > 0 && x >= 0) || isinf(a)) return (T)NAN;
    if (x == 0 || isinf(x)) return 0;
    REAL weight = FN(gamma_weight)(a, x);
    if (!(x > 1 && x > a)) {
        REAL sum = 1, term = 1, slope = 0, slopes = 0;
        for (int n = 1; n < MOST_TERMS && term > SLOPE_TOO_SMALL * sum; n++) {
            slope += 1 / ((REAL)a + n);
            sum += term *= x / ((REAL)a + n);
            slopes -= term * slope;
        }
        return (T)(weight * (sum * (MATH(log)((REAL)x) - df_digamma((double)a + 1)) + slopes));
    }
    REAL b = (REAL)x + 1 - a, d = 1 / b, f = d, c = 1e300;
    REAL db = -1, dd = d * d, df = dd, dc = 0; /* derivatives of b, d, f and c */
    for (int n = 1; n < MOST_TERMS; n++) {
        REAL by = n * ((REAL)a - n);
        b += 2;
        dd = -(db + n * d + by * dd);
        d = 1 / (b + by * d);
        dd *= d * d;
        dc = db + n / c - by * dc / (c * c);
        c = b + by / c;
        df = df * (c * d) + f * (dc * d + c * dd);
        f *= c * d;
        const REAL by_f = MATH(fabs)(c * d - 1), by_df = MATH(fabs)(dc * d + c * dd);
        if (by_f < SLOPE_TOO_SMALL && by_df < SLOPE_TOO_SMALL * MATH(fabs)(df / f)) break;
    }
    return (T)(-weight * a * (f * (MATH(log)((REAL)x) - df_digamma(a)) + df));
}
