/* Random numbers whose parameters are tensors: gamma, Poisson, binomial. Input 0 is the key; the
 * other inputs, all of one shape, are the parameters of each element.
 *
 * Most algorithms use rejection, with a varying number of draws. So each element has a separate
 * sequence of draws: the blocks whose counters have its index, plus one, in the upper half.
 * Everything is computed in float64 by scalar code: bit-identical at every SIMD level and for any
 * thread count. */
#include "op/op.h"
#include "ops/in_float.h"
#include "ops/random/random_key.h"
#include "simd/rng.h"
#include "base/thread.h"

#include <float.h>
#include <math.h>

/* The draws of one element. */
typedef struct {
    uint64_t key, counter, element, words[2];
    int left;
} draws;

static uint64_t next_word(draws *d)
{
    if (d->left == 0) {
        philox_block(d->key, d->counter++, d->element, d->words);
        d->left = 2;
    }
    return d->words[--d->left];
}

/* In (0, 1): odd multiples of 2^-53. */
static double next_unit(draws *d) { return ((double)(next_word(d) >> 12) + 0.5) * 0x1p-52; }

static double next_normal(draws *d)
{
    const double radius = sqrt(-2 * log(next_unit(d)));
    return radius * cos(6.283185307179586 * next_unit(d));
}

/* G. Marsaglia and W. W. Tsang, "A simple method for generating gamma variables", 2000; for alpha <
 * 1 a draw for alpha + 1 times u^(1 / alpha), as they propose. */
static double draw_gamma(draws *d, const double *parameters)
{
    const double alpha = parameters[0];
    if (!(alpha >= 0)) return NAN;
    if (alpha == 0) return 0;       /* -0 too, whose reciprocal is negative */
    const double boost = alpha < 1 ? pow(next_unit(d), 1 / alpha) : 1;
    const double third = (alpha < 1 ? alpha + 1 : alpha) - 1.0 / 3, c = 1 / sqrt(9 * third);
    for (;;) {
        const double x = next_normal(d), root = 1 + c * x;
        if (root <= 0) continue;
        const double v = root * root * root, u = next_unit(d);
        if (u < 1 - 0.0331 * (x * x) * (x * x) ||
            log(u) < 0.5 * x * x + third * (1 - v + log(v)))
            return third * v * boost;
    }
}

static double log_factorial(double k)
{
    int sign;
    return lgamma_r(k + 1, &sign);
}

/* Number of uniform factors before the product falls to e^-rate. */
static double count_products(draws *d, double rate)
{
    const double limit = exp(-rate);
    double k = 0;
    for (double product = next_unit(d); product > limit; product *= next_unit(d)) k++;
    return k;
}

/* For rates of 10 and more: PTRS of W. Hoermann, "The transformed rejection method for generating
 * Poisson random variables", 1993. */
static double draw_poisson(draws *d, const double *parameters)
{
    const double rate = parameters[0];
    if (!(rate >= 0) || isinf(rate)) return NAN;
    if (rate < 10) return count_products(d, rate);
    const double b = 0.931 + 2.53 * sqrt(rate), a = -0.059 + 0.02483 * b;
    const double scale = 1.1239 + 1.1328 / (b - 3.4), quick = 0.9277 - 3.6224 / (b - 2);
    for (;;) {
        const double u = next_unit(d) - 0.5, v = next_unit(d), us = 0.5 - fabs(u);
        const double k = floor((2 * a / us + b) * u + rate + 0.43);
        if (us >= 0.07 && v <= quick) return k;
        if (k < 0 || (us < 0.013 && v > us)) continue;
        if (log(v * scale / (a / (us * us) + b)) <= k * log(rate) - rate - log_factorial(k))
            return k;
    }
}

/* Number of geometric waiting times that fit into n trials; p is above 0. */
static double count_successes(draws *d, double n, double p)
{
    const double log_failure = log1p(-p);
    double k = 0;
    for (double trial = ceil(log(next_unit(d)) / log_failure); trial <= n; k++)
        trial += ceil(log(next_unit(d)) / log_failure);
    return k;
}

/* log k! minus Stirling's approximation of it. */
static double stirling_rest(double k)
{
    static const double first[] = {0.0810614667953272, 0.0413406959554092, 0.0276779256849983,
                                   0.0207906721037650, 0.0166446911898211, 0.0138761288230707,
                                   0.0118967099458917, 0.0104112652619720, 0.00925546218271273,
                                   0.00833056343336287};
    if (k <= 9) return first[(int)k];
    const double n = k + 1, square = n * n;
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / n;
}

/* BTRS of W. Hoermann, "The generation of binomial random variates", 1993, for p up to 1/2 and n p
 * of 10 and more. */
static double transformed_binomial(draws *d, double n, double p)
{
    const double deviation = sqrt(n * p * (1 - p)), odds = p / (1 - p);
    const double b = 1.15 + 2.53 * deviation, a = -0.0873 + 0.0248 * b + 0.01 * p;
    const double quick = 0.92 - 4.2 / b, scale = (2.83 + 5.1 / b) * deviation;
    const double m = floor((n + 1) * p);
    for (;;) {
        const double u = next_unit(d) - 0.5, v = next_unit(d), us = 0.5 - fabs(u);
        const double k = floor((2 * a / us + b) * u + n * p + 0.5);
        if (k < 0 || k > n) continue;
        if (us >= 0.07 && v <= quick) return k;
        const double bound = (m + 0.5) * log((m + 1) / (odds * (n - m + 1))) +
                             (n + 1) * log((n - m + 1) / (n - k + 1)) +
                             (k + 0.5) * log(odds * (n - k + 1) / (k + 1)) + stirling_rest(m) +
                             stirling_rest(n - m) - stirling_rest(k) - stirling_rest(n - k);
        if (log(v * scale / (a / (us * us) + b)) <= bound) return k;
    }
}

static double draw_binomial(draws *d, const double *parameters)
{
    const double n = floor(parameters[0]), p = parameters[1];
    if (!(n >= 0) || isinf(n) || !(p >= 0 && p <= 1)) return NAN;
    const double rarer = p > 0.5 ? 1 - p : p;
    const double k = rarer == 0        ? 0
                     : n * rarer < 10 ? count_successes(d, n, rarer)
                                      : transformed_binomial(d, n, rarer);
    return p > 0.5 ? n - k : k;
}

typedef double (*draw_fn)(draws *d, const double *parameters);

typedef struct {
    const df_call *call;
    draw_fn draw;
    uint64_t key, counter;
    double least;
} job;

static void draw_block(void *context, int64_t begin, int64_t end)
{
    const job *j = context;
    const df_tensor *out = j->call->out[0];
    for (int64_t i = begin; i < end; i++) {
        draws d = {.key = j->key, .counter = j->counter, .element = (uint64_t)i + 1};
        double parameters[2] = {0};
        for (int k = 1; k < j->call->n_in; k++) {
            const void *x = j->call->in[k]->data;
            parameters[k - 1] = out->dtype == DF_F32 ? ((const float *)x)[i]
                                                     : ((const double *)x)[i];
        }
        double y = j->draw(&d, parameters);
        y = y < j->least ? j->least : y;
        if (out->dtype == DF_F32) ((float *)out->data)[i] = (float)y;
        else ((double *)out->data)[i] = y;
    }
}

static df_status draw_all(const df_call *call, draw_fn draw, double least, double cost)
{
    const int64_t *key = call->in[0]->data;
    job j = {.call = call, .draw = draw, .least = least};
    philox_stream((uint64_t)key[0], (uint64_t)key[1], &j.key, &j.counter);
    df_parallel_for(call->out[0]->size, 64, cost, draw_block, &j);
    return DF_OK;
}

/* A gamma variate is positive: a value too small for the dtype becomes the smallest normal number,
 * so that its logarithm is finite. */
static df_status run_gamma(const df_call *call, df_error *err)
{
    (void)err;
    return draw_all(call, draw_gamma, call->out[0]->dtype == DF_F32 ? FLT_MIN : DBL_MIN, 150);
}

static df_status run_poisson(const df_call *call, df_error *err)
{
    (void)err;
    return draw_all(call, draw_poisson, 0, 150);
}

static df_status run_binomial(const df_call *call, df_error *err)
{
    (void)err;
    return draw_all(call, draw_binomial, 0, 200);
}

DF_ONCE(df_status, infer_draw, (const df_call *call, df_error *err))
{
    const df_tensor *first = call->in[1], *last = call->in[call->n_in - 1];
    df_status st = df_infer_key(call, err);
    if (st != DF_OK) return st;
    if (!df_is_float(first->dtype)) return df_fail_dtype(call, 1, "a floating dtype", err);
    if (last->dtype != first->dtype || !df_may_be_same_shape(first, last))
        return df_fail(err, DF_BAD_SHAPE, "%s: parameters are %s and %s, expected the same",
                       call->op->name, df_tensor_text(first).text, df_tensor_text(last).text);
    return df_tensor_set(call->out[0], first->dtype, first->ndim, first->shape, call->op->name,
                         err);
}

#define DISTRIBUTION(op)                                                                         \
    .name = op, .kind = DF_GENERAL, .cannot_fail = true, .n_out = 1, .infer = infer_draw,        \
    RUN_IN_FLOAT

DF_OP(random_gamma) = {DISTRIBUTION("random_gamma"), .n_in = 2, .promote = 2, .run = run_gamma};
DF_OP(random_poisson) = {DISTRIBUTION("random_poisson"), .n_in = 2, .promote = 2,
                         .run = run_poisson};
DF_OP(random_binomial) = {DISTRIBUTION("random_binomial"), .n_in = 3, .promote = 6,
                          .run = run_binomial};
