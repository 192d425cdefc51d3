/* The incomplete gamma and beta functions: in long double, so that powers and exponentials of large
 * numbers have the precision of the result; the gamma functions of float32 in float64. */
#include "special/special.h"
#include <math.h>

#define LOG_TWO_PI 1.8378770664093454835606594728112L
#define EULER_GAMMA 0.57721566490153286060651209008240L
#define MOST_TERMS 200000 /* of sums and fractions; about 8 sqrt(a) are needed */

/* Row k has the Taylor coefficients of c_k, from NIST DLMF 8.12.10. */
static const double near_terms[12][18] = {
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

/* REAL is the type of the computation, MATH(name) its functions. A term below the fraction
 * TOO_SMALL of a sum is negligible; in a derivative, in which sums cancel, SLOPE_TOO_SMALL. The
 * others are numbers of coefficients that are in use. */
#define T DF_CAT(t, DTYPE)
#define FN(name) DF_CAT(name, DTYPE)
typedef float t_f32;
typedef double t_f64;

#define DTYPE f64
#define REAL long double
#define MATH(name) name##l
#define TOO_SMALL 1e-19L
#define SLOPE_TOO_SMALL TOO_SMALL
#define STIRLING_TERMS 10
#define NEAR_ROWS 12
#define NEAR_TERMS 18
#include "special/incomplete_gamma_formulas.h"

static long double small_weight_f64(long double a, long double x)
{
    const long double power = x < 500 ? powl(x, a) * expl(-x) : expl(a * logl(x) - x);
    return power / tgammal(a + 1);
}

/* --- beta ------------------------------------------------------------------------------------- */

/* x^a (1 - x)^b gamma(a + b) / (gamma(a) gamma(b)), by Stirling's formula for a large a or b, so
 * that nothing overflows or cancels (DiDonato and Morris, "Algorithm 708", 1992). */
static long double beta_weight(long double a, long double b, long double x, long double y)
{
    if (a > b) { /* make b the larger one */
        long double swap = a;
        a = b, b = swap, swap = x, x = y, y = swap;
    }
    long double log_y = y < 0.5 ? logl(y) : log1pl(-x), total = a + b;
    if (b < 10)
        return expl(a * (x < 0.5 ? logl(x) : log1pl(-y)) + b * log_y) *
               tgammal(total) / tgammal(a) / tgammal(b);
    long double rest = stirling_rest_f64(total) - stirling_rest_f64(b);
    if (a < 10)
        return expl(rest + b * (log1pl(a / b) + log_y) - a - log1pl(a / b) / 2 +
                    a * logl(x * total)) / tgammal(a);
    long double away = a * y - b * x; /* 0 at the mean, a / (a + b) */
    long double at_x = -away / a, at_y = away / b;
    long double below = at_x > -0.5 ? log1p_minus_f64(at_x) : logl(x * total / a) - at_x;
    long double above = at_y > -0.5 ? log1p_minus_f64(at_y) : logl(y * total / b) - at_y;
    return expl(a * below + b * above + rest - stirling_rest_f64(a)) *
           sqrtl(a / total * b / (2 * (long double)M_PI));
}

/* I(x; a, b) * a / weight for x below the mean: the continued fraction (NIST DLMF 8.17.22), by
 * Lentz. */
static long double beta_fraction(long double a, long double b, long double x)
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
double df_betainc(double a, double b, double x)
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
double df_beta_density(double a, double b, double x)
{
    if (!(a > 0 && b > 0 && x >= 0 && x <= 1) || isinf(a) || isinf(b)) return (double)NAN;
    if (x == 0) return a < 1 ? (double)INFINITY : a == 1 ? b : 0;
    if (x == 1) return b < 1 ? (double)INFINITY : b == 1 ? a : 0;
    long double y = 1 - (long double)x;
    return (double)(beta_weight(a, b, x, y) / (x * y));
}

/* --- the incomplete gamma functions of float32 ------------------------------------------------ */

#undef DTYPE
#undef REAL
#undef MATH
#undef TOO_SMALL
#undef SLOPE_TOO_SMALL
#undef STIRLING_TERMS
#undef NEAR_ROWS
#undef NEAR_TERMS

#define DTYPE f32
#define REAL double
#define MATH(name) name
#define TOO_SMALL 1e-9
#define SLOPE_TOO_SMALL 1e-14
#define STIRLING_TERMS 5
#define NEAR_ROWS 6
#define NEAR_TERMS 10
#include "special/incomplete_gamma_formulas.h"

/* In one exponential, which is precise enough here: gamma(a + 1) by Stirling's formula. */
static double small_weight_f32(double a, double x)
{
    double far = a + 1, product = 1;
    for (; far < 7; far += 1) product *= far;
    const double log_gamma = (far - 0.5) * log(far) - far + (double)LOG_TWO_PI / 2;
    return product * exp(a * log(x) - x - log_gamma - stirling_rest_f32(far));
}
