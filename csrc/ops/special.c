/* Sigmoid and its kin, x log y and its kin, the error and gamma functions. Most formulas are in
 * vmath.h. */
#include "ops/elementwise.h"
#include "simd/vmath.h"

#define POLYGAMMA_MAX 100 /* the factorial and the power of pi stay finite */

/* The Hurwitz zeta function for x > 0 and whole s >= 2, by Euler and Maclaurin: the terms below
 * `far`, the integral over the rest, and corrections with Bernoulli numbers B(2j) / (2j)!. In long
 * double, as the errors of up to 220 powers add up. */
static long double hurwitz_zeta(double s, double first)
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
static double cot_derivative(int n, double c)
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

/* The n-th derivative of digamma: (-1)^(n+1) n! zeta(n + 1, x), and for x < 0 its reflection
 * (NIST DLMF 5.15.6). At the poles inf, or NaN where the two sides differ in sign. */
static double polygamma_scalar(int n, double x)
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

#define TEMPLATE "ops/special_formulas.h"
#include "ops/each_float.h"
#undef TEMPLATE

DF_OP(sigmoid) = {UNARY_OP("sigmoid"), .tile = {FLOATS(sigmoid)}, .cost = 0.4};
/* sigmoid_grad(g, x): what flows to x where y = sigmoid(x) */
DF_OP(sigmoid_grad) = {BINARY_OP("sigmoid_grad"), .tile = {FLOATS(sigmoid_grad)}, .cost = 0.4};
DF_OP(softplus) = {UNARY_OP("softplus"), .tile = {FLOATS(softplus)}, .cost = 0.8};
DF_OP(log_sigmoid) = {UNARY_OP("log_sigmoid"), .tile = {FLOATS(log_sigmoid)}, .cost = 0.8};
DF_OP(xlogy) = {BINARY_OP("xlogy"), .tile = {FLOATS(xlogy)}, .cost = 0.5};
DF_OP(xlog1py) = {BINARY_OP("xlog1py"), .tile = {FLOATS(xlog1py)}, .cost = 0.6};
DF_OP(xdivy) = {BINARY_OP("xdivy"), .tile = {FLOATS(xdivy)}};
DF_OP(erf) = {UNARY_OP("erf"), .tile = {FLOATS(erf)}, .cost = 0.5};
DF_OP(erfc) = {UNARY_OP("erfc"), .tile = {FLOATS(erfc)}, .cost = 2};
DF_OP(lgamma) = {UNARY_OP("lgamma"), .tile = {FLOATS(lgamma)}, .cost = 8};
DF_OP(digamma) = {UNARY_OP("digamma"), .tile = {FLOATS(digamma)}, .cost = 20};

enum { N_ATTR };

static df_status infer_polygamma(const df_call *call, df_error *err)
{
    int64_t n = call->attrs[N_ATTR].i;
    if (n < 0 || n > POLYGAMMA_MAX)
        return df_fail(err, DF_INVALID_ARGUMENT, "%s: n is %lld, want 0 to %d", call->op->name,
                       (long long)n, POLYGAMMA_MAX);
    return df_infer_broadcast(call, err);
}

DF_OP(polygamma) = {.name = "polygamma", .kind = DF_ELEMENTWISE, .n_in = 1, .n_out = 1,
                    .n_attrs = 1, .attrs = {{"n", DF_ATTR_INT}}, .promote = 1, .may_alias = true,
                    .infer = infer_polygamma, .tile = {FLOATS(polygamma)}, .cost = 300};
