/* Part of vmath.h: the incomplete gamma functions and their density, one element at a time, in long
 * double, so that powers and exponentials of large numbers have the precision of a double. */

#define LOG_TWO_PI 1.8378770664093454835606594728112L
#define EULER_GAMMA 0.57721566490153286060651209008240L
#define TOO_SMALL 1e-19L  /* a term below this fraction of a sum is negligible */
#define MOST_TERMS 200000 /* of sums and fractions; about 8 sqrt(a) are needed */

/* log(1 + x) - x for |x| < 1/2 as a series in r = x / (2 + x), in which nothing cancels. */
static inline long double log1p_minus(long double x)
{
    if (x < -0.5L || x > 0.5L) return log1pl(x) - x;
    long double r = x / (2 + x), square = r * r, sum = 0, power = 1;
    for (int k = 3; power > TOO_SMALL * sum * k && k < 80; k += 2, power *= square)
        sum += power / k;
    return 2 * r * square * sum - x * r;
}

/* log(gamma(a)) minus Stirling's (a - 1/2) log(a) - a + log(2 pi) / 2, for a >= 10 (NIST DLMF
 * 5.11.1). */
static inline long double stirling_rest(long double a)
{
    static const long double series[] = {
        1.0L / 12, -1.0L / 360, 1.0L / 1260, -1.0L / 1680, 1.0L / 1188, -691.0L / 360360,
        1.0L / 156, -3617.0L / 122400, 43867.0L / 244188, -174611.0L / 125400};
    long double z = 1 / (a * a), sum = 0;
    for (int i = (int)(sizeof series / sizeof *series) - 1; i >= 0; i--) sum = sum * z + series[i];
    return sum / a;
}

/* x^a e^-x / gamma(a + 1), x > 0: by Stirling's formula for large a, where powers overflow. */
static inline long double gamma_weight(long double a, long double x)
{
    if (a < 10) {
        long double gamma = tgammal(a + 1);
        return x < 500 ? powl(x, a) * expl(-x) / gamma : expl(a * logl(x) - x) / gamma;
    }
    long double away = (x - a) / a;
    long double exponent = away > -0.5L ? log1p_minus(away) : logl(x / a) - away;
    return expl(a * exponent - stirling_rest(a) - (LOG_TWO_PI + logl(a)) / 2);
}

/* log(gamma(a + 1)) for -1/2 <= a, to full relative precision at its zeros 0 and 1. */
static inline long double lgamma_after(long double a)
{
    if (a > 1.5L) return logl(tgammal(a + 1));
    if (a > 0.5L) return logl(a) + lgamma_after(a - 1);
    static const long double zeta_minus_1[] = { /* of 2, 3, ... */
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
    long double sum = 0, power = a * a;
    for (int k = 2; k < 40; k++, power *= -a) sum += power / k * zeta_minus_1[k - 2];
    return sum + a * (1 - EULER_GAMMA) - log1pl(a);
}

/* Temme's uniform expansion for large a and x near a (NIST DLMF 8.12): Q(a, x), or P(a, x) for side
 * = -1. Row k has the Taylor coefficients of c_k, from 8.12.10. */
static inline double gamma_near(long double a, long double x, int side)
{
    static const double c[12][18] = {
        {-0.3333333333333333, 0.08333333333333333, -0.014814814814814815, 0.0011574074074074073,
         0.0003527336860670194, -0.0001787551440329218, 3.919263178522438e-05,
         -2.185448510679992e-06, -1.85406221071516e-06, 8.296711340953087e-07,
         -1.7665952736826078e-07, 6.707853543401498e-09, 1.0261809784240309e-08,
         -4.382036018453353e-09, 9.14769958223679e-10, -2.5514193994946248e-11,
         -5.830772132550426e-11, 2.4361948020667415e-11},
        {-0.001851851851851852, -0.003472222222222222, 0.0026455026455026454,
         -0.0009902263374485596, 0.00020576131687242798, -4.018775720164609e-07,
         -1.8098550334489977e-05, 7.64916091608111e-06, -1.6120900894563446e-06,
         4.647127802807434e-09, 1.378633446915721e-07, -5.752545603517705e-08,
         1.1951628599778148e-08, -1.7543241719747647e-11, -1.0091543710600413e-09,
         4.162792991842583e-10, -8.56390702649298e-11},
        {0.004133597883597883, -0.0026813271604938273, 0.0007716049382716049,
         2.0093878600823047e-06, -0.0001073665322636516, 5.2923448829120125e-05,
         -1.2760635188618728e-05, 3.423578734096138e-08, 1.3721957309062934e-06,
         -6.298992138380055e-07, 1.4280614206064242e-07, -2.0477098421990866e-10,
         -1.409252991086752e-08, 6.228974084922022e-09, -1.3670488396617114e-09,
         9.428356159014678e-13},
        {0.0006494341563786008, 0.00022947209362139917, -0.0004691894943952557,
         0.00026772063206283885, -7.561801671883977e-05, -2.396505113867297e-07,
         1.1082654115347302e-05, -5.6749528269915965e-06, 1.4230900732435883e-06,
         -2.7861080291528143e-11, -1.6958404091930278e-07, 8.099464905388083e-08,
         -1.9111168485973655e-08, 2.3928620439808118e-12, 2.0620131815488797e-09},
        {-0.0008618882909167117, 0.0007840392217200666, -0.0002990724803031902,
         -1.4638452578843418e-06, 6.641498215465122e-05, -3.968365047179435e-05,
         1.1375726970678419e-05, 2.507497226237533e-10, -1.6954149536558305e-06,
         8.907507532205309e-07, -2.292934834000805e-07, 2.956794137544049e-11,
         2.8865829742708783e-08, -1.4189739437803219e-08},
        {-0.00033679855336635813, -6.972813758365857e-05, 0.0002772753244959392,
         -0.00019932570516188847, 6.797780477937208e-05, 1.419062920643967e-07,
         -1.3594048189768693e-05, 8.018470256334202e-06, -2.291481176508095e-06,
         -3.252473551298454e-10, 3.4652846491085265e-07, -1.8447187191171344e-07,
         4.8240967037894184e-08},
        {0.0005313079364639922, -0.0005921664373536939, 0.0002708782096718045,
         7.902353232660328e-07, -8.153969367561969e-05, 5.61168275310625e-05,
         -1.8329116582843375e-05, -3.0796134506033047e-09, 3.465155368803609e-06,
         -2.0291327396058603e-06, 5.788792863149004e-07, 2.338630673826657e-13},
        {0.00034436760689237765, 5.171790908260592e-05, -0.00033493161081142234,
         0.0002812695154763237, -0.00010976582244684731, -1.2741009095484485e-07,
         2.7744451511563645e-05, -1.8263488805711332e-05, 5.7876949497350525e-06,
         4.93875893393627e-10, -1.0595367014026043e-06},
        {-0.0006526239185953094, 0.0008394987206720873, -0.000438297098541721,
         -6.969091458420552e-07, 0.00016644846642067547, -0.00012783517679769218,
         4.629953263691304e-05, 4.557909867922708e-09, -1.0595271125805195e-05,
         6.783342904865167e-06},
        {-0.0005967612901927463, -7.204895416020011e-05, 0.0006782308837667328,
         -0.0006401475260262758, 0.00027750107634328704, 1.819700838046515e-07,
         -8.479507117068503e-05, 6.105192082501531e-05, -2.1073920183404862e-05},
        {0.0013324454494800656, -0.0019144384985654776, 0.0011089369134596636,
         9.9324041226423e-07, -0.0005087450129309319, 0.00042735056665392886,
         -0.00016858853767910798, -8.1301893922785e-09},
        {0.001579727660730835, 0.00016251626278391583, -0.0020633421035543276,
         0.00213896861856891, -0.0010108559391263003, -3.99127055299192e-07,
         0.0003623502508476469},
    };
    long double away = (x - a) / a, eta = sqrtl(-2 * log1p_minus(away)), rest = 0;
    if (away < 0) eta = -eta;
    for (int k = 11; k >= 0; k--) {
        long double row = 0;
        for (int n = 17; n >= 0; n--) row = row * eta + c[k][n];
        rest = rest / a + row;
    }
    rest *= expl(-a * eta * eta / 2) / sqrtl(2 * (long double)M_PI * a);
    return (double)(erfcl(side * eta * sqrtl(a / 2)) / 2 + side * rest);
}

/* Sum of x^n / ((a + 1) ... (a + n)), where P(a, x) = weight * sum (NIST DLMF 8.7.1). */
static inline long double gamma_series(long double a, long double x)
{
    long double sum = 1, term = 1;
    for (int n = 1; n < MOST_TERMS && term > TOO_SMALL * sum; n++) sum += term *= x / (a + n);
    return sum;
}

/* Q(a, x) / (weight * a) for x > a: Legendre's continued fraction, by Lentz (NIST DLMF 8.9.2). */
static inline long double gamma_fraction(long double a, long double x)
{
    long double b = x + 1 - a, d = 1 / b, f = d, c = 1e300L;
    for (int n = 1; n < MOST_TERMS; n++) {
        long double by = n * (a - n);
        b += 2;
        d = 1 / (b + by * d);
        c = b + by / c;
        f *= c * d;
        if (fabsl(c * d - 1) < TOO_SMALL) break;
    }
    return f;
}

/* Q(a, x) for small a and x, where 1 - P would cancel: 1 - x^a / gamma(a + 1) separately, plus the
 * rest of the series (NIST DLMF 8.7.3). */
static inline long double gamma_upper_small(long double a, long double x)
{
    long double sum = 0, term = 1, exponent = a * logl(x) - lgamma_after(a);
    for (int n = 1; n < 100; n++) {
        term *= -x / n;
        sum += term / (a + n);
        if (fabsl(term) < TOO_SMALL * fabsl(sum)) break;
    }
    return -expm1l(exponent) - a * expl(exponent) * sum;
}

/* Sets the values at the ends of the range, NaN outside; returns false for all other arguments.
 * `upper` is 1 for Q, 0 for P. */
static inline bool gamma_at_ends(double a, double x, int upper, double *y)
{
    if (!(a >= 0 && x >= 0) || (a == 0 && x == 0) || (isinf(a) && isinf(x)))
        *y = (double)NAN;
    else if (a == 0 || isinf(x))
        *y = 1 - upper;
    else if (x == 0 || isinf(a))
        *y = upper;
    else
        return false;
    return true;
}

static inline bool is_near(double a, double x) { return a > 20 && fabs(x - a) < 0.3 * a; }

/* The regularized upper incomplete gamma function Q(a, x). */
static inline double igammac_scalar(double a, double x)
{
    double y;
    if (gamma_at_ends(a, x, 1, &y)) return y;
    if (is_near(a, x)) return gamma_near(a, x, 1);
    if (x > 1.1 && x > a) return (double)(gamma_weight(a, x) * a * gamma_fraction(a, x));
    bool lower = x > 1.1 ? x <= a : x <= 0.5 ? -0.4 / log(x) < a : x * 1.1 < a;
    if (lower) return (double)(1 - gamma_weight(a, x) * gamma_series(a, x));
    return (double)gamma_upper_small(a, x);
}

/* The regularized lower incomplete gamma function P(a, x). */
static inline double igamma_scalar(double a, double x)
{
    double y;
    if (gamma_at_ends(a, x, 0, &y)) return y;
    if (is_near(a, x)) return gamma_near(a, x, -1);
    if (x > 1 && x > a)
        return (double)(1 - gamma_weight(a, x) * a * gamma_fraction(a, x));
    return (double)(gamma_weight(a, x) * gamma_series(a, x));
}

/* The derivative of P(a, x) in x, x^(a - 1) e^-x / gamma(a): the density of the gamma
 * distribution. */
static inline double gamma_density_scalar(double a, double x)
{
    if (!(a > 0 && x >= 0) || isinf(a)) return (double)NAN;
    if (x == 0) return a < 1 ? (double)INFINITY : a == 1;
    return isinf(x) ? 0 : (double)(gamma_weight(a, x) * a / x);
}

/* The derivative of P(a, x) in a: series and fraction, differentiated term by term, each in the
 * range in which nothing cancels. */
static inline double igamma_grad_a_scalar(double a, double x)
{
    if (!(a > 0 && x >= 0) || isinf(a)) return (double)NAN;
    if (x == 0 || isinf(x)) return 0;
    long double weight = gamma_weight(a, x);
    if (!(x > 1 && x > a)) {
        long double sum = 1, term = 1, slope = 0, slopes = 0;
        for (int n = 1; n < MOST_TERMS && term > TOO_SMALL * sum; n++) {
            slope += 1 / ((long double)a + n);
            sum += term *= x / ((long double)a + n);
            slopes -= term * slope;
        }
        return (double)(weight * (sum * (logl(x) - digamma_scalar(a + 1)) + slopes));
    }
    long double b = x + 1 - (long double)a, d = 1 / b, f = d, c = 1e300L;
    long double db = -1, dd = d * d, df = dd, dc = 0; /* derivatives of b, d, f and c */
    for (int n = 1; n < MOST_TERMS; n++) {
        long double by = n * ((long double)a - n);
        b += 2;
        dd = -(db + n * d + by * dd);
        d = 1 / (b + by * d);
        dd *= d * d;
        dc = db + n / c - by * dc / (c * c);
        c = b + by / c;
        df = df * (c * d) + f * (dc * d + c * dd);
        f *= c * d;
        if (fabsl(c * d - 1) < TOO_SMALL && fabsl(dc * d + c * dd) < TOO_SMALL * fabsl(df / f))
            break;
    }
    return (double)(-weight * a * (f * (logl(x) - digamma_scalar(a)) + df));
}
