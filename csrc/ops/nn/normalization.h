/* Common to the normalizations: statistics of a part, combination of parts, and quantities derived
 * from the statistics of the whole. */
#ifndef DF_NORMALIZATION_H
#define DF_NORMALIZATION_H

#include "ops/reduction/reductions.h"

#define NORM_CHUNK 16384 /* elements of a row measured while they are in L1 */
#define NORM_FEW 4       /* vectors of a row that are held in registers */

typedef enum {
    BY_DEVIATION, /* mean 0 and variance 1 */
    BY_SQUARES,   /* mean square 1 */
    BY_LENGTH     /* sum of squares 1 */
} norm_mode;

typedef struct {
    norm_mode mode;
    double epsilon; /* added to the variance or mean square; the smallest sum of squares */
} norm_kind;

/* Statistics of n numbers x and of their cotangents g. */
typedef struct {
    double n, mean;   /* the mean is 0 if it is not subtracted */
    double deviation; /* sum of (x - mean)^2 */
    double flow;      /* sum of g */
    double moment;    /* sum of g (x - mean) */
} norm_part;

/* Statistics of everything that is normalized together: the result is z = (x - mean) rate, the
 * gradient rate (g - level - z slope). */
typedef struct {
    double mean, variance, rate, level, slope;
} norm_whole;

/* Checks the inputs: x and its parameters (`all` inputs), or x alone; for the gradient g comes
 * first, with the shape of x. */
static inline df_status norm_check_inputs(const df_call *call, bool back, int all, df_error *err)
{
    const char *op = call->op->name;
    if (call->n_in != 1 + back && call->n_in != all)
        return df_fail(err, DF_INVALID_ARGUMENT, "%s: got %d inputs, expected %d or %d", op,
                       call->n_in, 1 + back, all);
    const df_tensor *x = call->in[back];
    if (x->dtype != DF_F32 && x->dtype != DF_F64)
        return df_fail_dtype(call, back, "a floating dtype", err);
    if (back && !df_may_be_same_shape(call->in[0], x))
        return df_fail(err, DF_BAD_SHAPE, "%s: the gradient is %s, expected x's shape %s", op,
                       df_tensor_text(call->in[0]).text, df_shape_text(x->ndim, x->shape).text);
    return DF_OK;
}

/* Parts are combined in two passes: norm_count computes the common mean, norm_add adds. Sums around
 * the mean of a part are converted to sums around the common mean, so nothing cancels. */
static inline void norm_count(norm_part *sum, const norm_part *part)
{
    sum->mean += part->mean * part->n; /* a sum until norm_divide */
    sum->n += part->n;
}

static inline void norm_divide(norm_part *sum) { sum->mean /= sum->n; }

/* `scale` is the factor of the g of the part. */
static inline void norm_add(norm_part *sum, const norm_part *part, double scale)
{
    const double shift = part->mean - sum->mean;
    sum->deviation += part->deviation + part->n * shift * shift;
    sum->flow += scale * part->flow;
    sum->moment += scale * (part->moment + shift * part->flow);
}

static inline norm_whole norm_finish(const norm_kind *kind, const norm_part *p)
{
    const bool by_length = kind->mode == BY_LENGTH;
    const bool short_of = by_length && p->deviation < kind->epsilon;
    const double square = short_of    ? kind->epsilon
                          : by_length ? p->deviation
                                      : p->deviation / p->n + kind->epsilon;
    norm_whole w = {.mean = p->mean, .variance = p->deviation / p->n, .rate = 1 / sqrt(square)};
    if (kind->mode == BY_DEVIATION) w.level = p->flow / p->n;
    if (!short_of) w.slope = p->moment * w.rate / (by_length ? 1 : p->n);
    return w;
}

#define TEMPLATE "ops/nn/normalization_parts.h"
#include "ops/each_float.h"
#undef TEMPLATE

#endif
