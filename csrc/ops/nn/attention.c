/* scaled_dot_product_attention and its gradient. Converts tensors to a df_attention; attention/
 * computes it. */
#include "attention/attention.h"
#include "op/op.h"
#include "simd/rng.h"

#include <math.h>

/* Inputs; from OUT on, of the gradient only. A mask of a single `true` masks nothing; the key is
 * int64 (2,) and is read only if the dropout rate is not 0. */
enum { Q, K, VALUE, MASK, KEY, OUT, REST, LSE, G };
/* Outputs of the forward op. */
enum { MADE_OUT, MADE_REST, MADE_LSE, N_MADE };
enum { CAUSAL, SCALE, OVER_ROOT, RATE, HEADS_INNER };
static const char *const NAMES[] = {[OUT] = "out", [REST] = "rest", [LSE] = "lse", [G] = "g"};

/* Positions of the dimensions of q, k and v. */
typedef struct {
    int heads, length;
} places;

static places places_of(const df_call *call)
{
    return call->attrs[HEADS_INNER].i ? (places){2, 1} : (places){1, 2};
}

static bool differ(int64_t a, int64_t b) { return a != b && a != DF_UNKNOWN && b != DF_UNKNOWN; }

static df_status fail_shapes(const df_call *call, const char *want, df_error *err)
{
    const df_tensor *q = call->in[Q], *k = call->in[K], *v = call->in[VALUE];
    return df_fail(err, DF_BAD_SHAPE, "%s: query has shape %s, key %s and value %s, expected %s",
                   call->op->name, df_shape_text(q->ndim, q->shape).text,
                   df_shape_text(k->ndim, k->shape).text, df_shape_text(v->ndim, v->shape).text,
                   want);
}

static df_status check_shapes(const df_call *call, df_error *err)
{
    const int64_t *q = call->in[Q]->shape, *k = call->in[K]->shape, *v = call->in[VALUE]->shape;
    const places at = places_of(call);
    for (int i = Q; i <= VALUE; i++)
        if (call->in[i]->ndim != 4)
            return fail_shapes(call, at.heads == 1 ? "4 dimensions of each: batch, heads, length, "
                                                     "width"
                                                   : "4 dimensions of each: batch, length, heads, "
                                                     "width", err);
    if (differ(q[0], k[0]) || differ(q[0], v[0]) || differ(k[0], v[0]))
        return fail_shapes(call, "the same batch size", err);
    if (differ(q[3], k[3])) return fail_shapes(call, "query and key of the same width", err);
    if (differ(k[at.length], v[at.length]))
        return fail_shapes(call, "key and value of the same length", err);
    if (differ(k[at.heads], v[at.heads]))
        return fail_shapes(call, "key and value of the same number of heads", err);
    const int64_t heads = q[at.heads];
    const int64_t shared = k[at.heads] == DF_UNKNOWN ? v[at.heads] : k[at.heads];
    if (heads != DF_UNKNOWN && shared != DF_UNKNOWN && (shared ? heads % shared : heads))
        return fail_shapes(call, "query heads that are a multiple of the key and value heads",
                           err);
    return DF_OK;
}

static df_status check_mask(const df_call *call, df_error *err)
{
    const df_tensor *mask = call->in[MASK], *q = call->in[Q], *k = call->in[K];
    const places at = places_of(call);
    const int64_t want[] = {q->shape[0], q->shape[at.heads], q->shape[at.length],
                            k->shape[at.length]};
    if (mask->dtype != DF_BOOL && !df_is_float(mask->dtype))
        return df_fail(err, DF_BAD_DTYPE,
                       "%s: the mask is %s, expected bool (true: the key takes part) or a floating "
                       "dtype (added to the scores)", call->op->name, df_tensor_text(mask).text);
    bool fits = mask->ndim <= 4;
    for (int d = 1; fits && d <= mask->ndim; d++) {
        const int64_t n = mask->shape[mask->ndim - d];
        fits = n == 1 || !differ(n, want[4 - d]);
    }
    if (fits) return DF_OK;
    return df_fail(err, DF_BAD_SHAPE, "%s: the mask has shape %s, expected one that broadcasts to "
                   "(batch, heads, queries, keys) = %s", call->op->name,
                   df_shape_text(mask->ndim, mask->shape).text, df_shape_text(4, want).text);
}

static df_status check(const df_call *call, df_error *err)
{
    const df_tensor *q = call->in[Q], *key = call->in[KEY];
    const double rate = call->attrs[RATE].f, scale = call->attrs[SCALE].f;
    if (!DF_SYM(df_attention_has)(q->dtype)) return df_fail_dtype(call, Q, "a floating dtype", err);
    df_status status = check_shapes(call, err);
    if (status == DF_OK) status = check_mask(call, err);
    if (status != DF_OK) return status;
    if (key->dtype != DF_I64 || key->ndim != 1 || (key->size != 2 && key->size >= 0))
        return df_fail(err, DF_BAD_SHAPE, "%s: the random key is %s, expected int64 (2,)",
                       call->op->name, df_tensor_text(key).text);
    if (!(rate >= 0 && rate < 1))
        return df_fail(err, DF_INVALID_ARGUMENT,
                       "%s: the dropout rate is %g, expected 0 <= rate < 1", call->op->name, rate);
    if (!isfinite(scale))
        return df_fail(err, DF_INVALID_ARGUMENT, "%s: scale is %g, expected a finite number",
                       call->op->name, scale);
    return DF_OK;
}

/* The first of two sizes that is known. */
static int64_t known(int64_t a, int64_t b) { return a == DF_UNKNOWN ? b : a; }

static df_status infer(const df_call *call, df_error *err)
{
    df_status status = check(call, err);
    if (status != DF_OK) return status;
    const df_tensor *q = call->in[Q], *k = call->in[K], *v = call->in[VALUE];
    const places at = places_of(call);
    int64_t out[4] = {known(q->shape[0], known(k->shape[0], v->shape[0])), 0, 0, v->shape[3]};
    out[at.heads] = q->shape[at.heads];
    out[at.length] = q->shape[at.length];
    const int64_t lse[3] = {out[0], out[at.heads], out[at.length]};
    const int64_t none[1] = {0};
    const bool half = df_is_reduced_float(q->dtype);
    status = df_tensor_set(call->out[MADE_OUT], q->dtype, 4, out, call->op->name, err);
    if (status == DF_OK)
        status = df_tensor_set(call->out[MADE_REST], q->dtype, half ? 4 : 1, half ? out : none,
                               call->op->name, err);
    if (status != DF_OK) return status;
    return df_tensor_set(call->out[MADE_LSE], DF_SYM(df_attention_sums)(q->dtype), 3, lse,
                         call->op->name, err);
}

/* out, rest and lse must be as the forward op returns them, and g like out. */
static df_status infer_grad(const df_call *call, df_error *err)
{
    df_tensor made[N_MADE];
    df_tensor *outputs[N_MADE] = {&made[0], &made[1], &made[2]};
    df_call forward = *call;
    forward.out = outputs;
    for (int i = 0; i < N_MADE; i++) df_tensor_init(&made[i]);
    df_status status = infer(&forward, err);
    for (int i = OUT; i <= G && status == DF_OK; i++) {
        const df_tensor *want = &made[i == G ? MADE_OUT : i - OUT], *got = call->in[i];
        if (got->dtype != want->dtype || !df_may_be_same_shape(got, want))
            status = df_fail(err, DF_BAD_SHAPE, "%s: %s is %s, expected %s", call->op->name,
                             NAMES[i], df_tensor_text(got).text, df_tensor_text(want).text);
    }
    for (int i = Q; i <= VALUE && status == DF_OK; i++)
        status = df_tensor_set(call->out[i], call->in[i]->dtype, 4, call->in[i]->shape,
                               call->op->name, err);
    return status;
}

static void set_mask(df_attention_mask *to, const df_tensor *mask)
{
    int64_t step = 1;
    *to = (df_attention_mask){.data = mask->data, .dtype = mask->dtype};
    for (int d = 1; d <= mask->ndim; d++) {
        const int64_t n = mask->shape[mask->ndim - d];
        to->steps[4 - d] = n == 1 ? 0 : step;
        step *= n;
    }
    const uint8_t *only = mask->data;
    if (mask->dtype == DF_BOOL && mask->size == 1 && only && *only) to->data = NULL;
}

static void describe(const df_call *call, df_attention *a)
{
    const df_tensor *q = call->in[Q], *k = call->in[K], *v = call->in[VALUE];
    const places at = places_of(call);
    *a = (df_attention){.dtype = q->dtype, .heads_inner = at.heads == 2, .batch = q->shape[0],
                        .heads = q->shape[at.heads], .kv_heads = k->shape[at.heads],
                        .queries = q->shape[at.length], .keys = k->shape[at.length],
                        .d = q->shape[3], .e = v->shape[3], .scale = call->attrs[SCALE].f,
                        .causal = call->attrs[CAUSAL].i, .rate = call->attrs[RATE].f,
                        .q = q->data, .k = k->data, .v = v->data};
    if (call->attrs[OVER_ROOT].i && a->d) a->scale /= sqrt((double)a->d);
    set_mask(&a->mask, call->in[MASK]);
    const int64_t *key = call->in[KEY]->data;
    if (a->rate > 0 && key)
        philox_stream((uint64_t)key[0], (uint64_t)key[1], &a->key, &a->counter);
}

static void describe_grad(const df_call *call, df_attention *a)
{
    describe(call, a);
    a->out = call->in[OUT]->data;
    a->rest = df_is_reduced_float(a->dtype) ? call->in[REST]->data : NULL;
    a->lse = call->in[LSE]->data;
    a->g = call->in[G]->data;
    a->dq = call->out[Q]->data;
    a->dk = call->out[K]->data;
    a->dv = call->out[VALUE]->data;
}

static df_status end(const df_call *call, bool done, df_error *err)
{
    return done ? DF_OK : df_fail(err, DF_OUT_OF_MEMORY, "%s: no memory for tiles", call->op->name);
}

static df_status run(const df_call *call, df_error *err)
{
    df_attention a;
    if (call->out[MADE_LSE]->size == 0) return DF_OK;
    describe(call, &a);
    a.out = call->out[MADE_OUT]->data;
    a.rest = df_is_reduced_float(a.dtype) ? call->out[MADE_REST]->data : NULL;
    a.lse = call->out[MADE_LSE]->data;
    return end(call, DF_SYM(df_attention_forward)(&a), err);
}

static int64_t workspace(const df_call *call)
{
    df_attention a;
    describe(call, &a);
    return DF_SYM(df_attention_workspace)(&a);
}

static df_status run_grad(const df_call *call, df_error *err)
{
    df_attention a;
    /* the sizes may be huge if no element exists */
    if (!(call->out[Q]->size || call->out[K]->size || call->out[VALUE]->size)) return DF_OK;
    describe_grad(call, &a);
    return end(call, DF_SYM(df_attention_backward)(&a, call->workspace), err);
}

/* Operations of d_products products of width d and e_products of width e per score that is
 * computed. */
static double products(const df_call *call, double d_products, double e_products)
{
    df_attention a;
    describe(call, &a);
    const double q = (double)a.queries, k = (double)a.keys, least = fmin(q, k);
    const double scores = a.causal ? least * (least + 1) / 2 + (q - least) * k : q * k;
    return 2 * (double)(a.batch * a.heads) * scores *
           (d_products * (double)a.d + e_products * (double)a.e);
}

static double flops(const df_call *call) { return products(call, 1, 1); }
static double flops_grad(const df_call *call) { return products(call, 3, 2); }

#define ATTENTION_ATTRS                                                                          \
    .n_attrs = 5, .attrs = {{"is_causal", DF_ATTR_BOOL}, {"scale", DF_ATTR_FLOAT},               \
                            {"over_root", DF_ATTR_BOOL}, {"rate", DF_ATTR_FLOAT},                \
                            {"heads_inner", DF_ATTR_BOOL}}

/* Scores are products times scale, divided by the square root of the width if over_root is set. */
DF_OP(scaled_dot_product_attention) = {
    .name = "scaled_dot_product_attention", .kind = DF_GENERAL, .cannot_fail = true, .n_in = 5,
    .autocast = DF_AUTOCAST_LOWER,
    .n_out = N_MADE, ATTENTION_ATTRS, .promote = 1 << Q | 1 << K | 1 << VALUE, .infer = infer,
    .run = run, .flops = flops};
DF_OP(scaled_dot_product_attention_grad) = {
    .name = "scaled_dot_product_attention_grad", .kind = DF_GENERAL, .cannot_fail = true, .n_in = 9,
    .n_out = 3, ATTENTION_ATTRS, .promote = 1 << Q | 1 << K | 1 << VALUE, .infer = infer_grad,
    .workspace = workspace, .run = run_grad, .flops = flops_grad};
