/* Positions of numbers among others: searchsorted and in_top_k. */
#include "ops/in_float.h"
#include "op/op.h"
#include "simd/simd.h"
#include "base/thread.h"
#include <math.h>

#define TOGETHER 8 /* numbers that are searched at a time */

#define TEMPLATE "ops/sorting/search_formulas.h"
#include "ops/each_float.h"
#include "ops/each_int.h"
#undef TEMPLATE

typedef struct {
    void (*search)(const void *row, int64_t n, const void *values, int64_t m, bool right,
                   int64_t *out);
    int64_t (*rank)(const void *row, int64_t n, int64_t target);
} search_fns;

#define SEARCH(dtype) {search_##dtype, rank_##dtype}
static const search_fns searches[DF_N_DTYPES] = {
    DF_OF_ALL(BOOL, SEARCH(u8)), DF_OF_ALL(U8, SEARCH(u8)), DF_OF_ALL(U16, SEARCH(u16)),
    DF_OF_ALL(U32, SEARCH(u32)), DF_OF_ALL(U64, SEARCH(u64)), DF_OF_ALL(I8, SEARCH(i8)),
    DF_OF_ALL(I16, SEARCH(i16)), DF_OF_ALL(I32, SEARCH(i32)), DF_OF_ALL(I64, SEARCH(i64)),
    [DF_F32] = SEARCH(f32), DF_OF_ALL(F64, SEARCH(f64)),
};

static const char numbers[] = "bool, an integer, float32 or float64";

static bool may_equal(int64_t a, int64_t b)
{
    return a == b || a == DF_UNKNOWN || b == DF_UNKNOWN;
}

/* --- searchsorted: sorted [..., n], values [..., m] or, for one sorted row, of any shape -------*/

enum { RIGHT, OUT_TYPE };
enum { SEARCH_CHUNK = 256 };

typedef struct {
    const search_fns *fns;
    const df_tensor *sorted, *values;
    df_tensor *out;
    int64_t n, m;
    bool right;
} search_job;

static void search_block(void *context, int64_t begin, int64_t end)
{
    const search_job *s = context;
    const int64_t bytes = df_dtypes[s->sorted->dtype].bytes;
    int64_t found[SEARCH_CHUNK];
    while (begin < end) {
        const int64_t row = begin / s->m;
        const int64_t count = df_min(df_min((row + 1) * s->m, end) - begin, SEARCH_CHUNK);
        s->fns->search((const char *)s->sorted->data + row * s->n * bytes, s->n,
                       (const char *)s->values->data + begin * bytes, count, s->right, found);
        if (s->out->dtype == DF_I64)
            memcpy((int64_t *)s->out->data + begin, found, (size_t)count * sizeof *found);
        else
            for (int64_t j = 0; j < count; j++)
                ((int32_t *)s->out->data)[begin + j] = (int32_t)found[j];
        begin += count;
    }
}

DF_ONCE(df_status, infer_searchsorted, (const df_call *call, df_error *err))
{
    const df_tensor *x = call->in[0], *v = call->in[1];
    const df_dtype type = (df_dtype)call->attrs[OUT_TYPE].i;
    if (!searches[x->dtype].search) return df_fail_dtype(call, 0, numbers, err);
    if (type != DF_I32 && type != DF_I64)
        return df_fail(err, DF_BAD_DTYPE, "%s: out_type is %s, expected int32 or int64",
                       call->op->name, df_dtypes[type].name);
    bool fits = x->ndim >= 1 && (x->ndim == 1 || v->ndim == x->ndim);
    for (int d = 0; fits && d < x->ndim - 1; d++) fits = may_equal(x->shape[d], v->shape[d]);
    if (!fits)
        return df_fail(err, DF_BAD_SHAPE, "%s: sorted_sequence has shape %s and values %s, "
                       "expected one dimension or the same dimensions before the last",
                       call->op->name, df_shape_text(x->ndim, x->shape).text,
                       df_shape_text(v->ndim, v->shape).text);
    if (type == DF_I32 && x->shape[x->ndim - 1] > INT32_MAX)
        return df_fail(err, DF_OVERFLOW, "%s: rows of %lld elements, expected out_type int64",
                       call->op->name, (long long)x->shape[x->ndim - 1]);
    return df_tensor_set(call->out[0], type, v->ndim, v->shape, call->op->name, err);
}

static df_status run_searchsorted(const df_call *call, df_error *err)
{
    (void)err;
    const df_tensor *x = call->in[0], *v = call->in[1];
    search_job s = {.fns = &searches[x->dtype], .sorted = x, .values = v, .out = call->out[0],
                    .right = call->attrs[RIGHT].i, .n = x->shape[x->ndim - 1]};
    if (v->size == 0) return DF_OK;
    s.m = x->ndim == 1 ? v->size : v->shape[v->ndim - 1];
    df_parallel_for(v->size, 1024, 40, search_block, &s);
    return DF_OK;
}

DF_OP(searchsorted) = {.name = "searchsorted", .kind = DF_GENERAL, .n_in = 2, .n_out = 1,
                       .n_attrs = 2,
                       .attrs = {{"right", DF_ATTR_BOOL}, {"out_type", DF_ATTR_DTYPE}},
                       .promote = 3, .infer = infer_searchsorted, .run = run_searchsorted,
                       RUN_IN_FLOAT};

/* --- in_top_k: predictions [n, classes], targets [n] -------------------------------------------*/

enum { K };

typedef struct {
    const search_fns *fns;
    const df_tensor *predictions, *targets;
    bool *out;
    int64_t k, classes;
} rank_job;

static void rank_block(void *context, int64_t begin, int64_t end)
{
    const rank_job *r = context;
    const int64_t bytes = df_dtypes[r->predictions->dtype].bytes;
    for (int64_t i = begin; i < end; i++) {
        const int64_t target = r->targets->dtype == DF_I32 /* read once: another thread may write
                                                            * it */
                                   ? ((const volatile int32_t *)r->targets->data)[i]
                                   : ((const volatile int64_t *)r->targets->data)[i];
        const char *row = (const char *)r->predictions->data + i * r->classes * bytes;
        r->out[i] = target >= 0 && target < r->classes &&
                    r->fns->rank(row, r->classes, target) < r->k;
    }
}

DF_ONCE(df_status, infer_in_top_k, (const df_call *call, df_error *err))
{
    const df_tensor *targets = call->in[0], *predictions = call->in[1];
    if (targets->dtype != DF_I32 && targets->dtype != DF_I64)
        return df_fail_dtype(call, 0, "int32 or int64", err);
    if (!searches[predictions->dtype].rank) return df_fail_dtype(call, 1, numbers, err);
    if (predictions->ndim != 2 || targets->ndim != 1 ||
        !may_equal(predictions->shape[0], targets->shape[0]))
        return df_fail(err, DF_BAD_SHAPE, "%s: targets has shape %s and predictions %s, expected "
                       "(n,) and (n, classes)", call->op->name,
                       df_shape_text(targets->ndim, targets->shape).text,
                       df_shape_text(predictions->ndim, predictions->shape).text);
    return df_tensor_set(call->out[0], DF_BOOL, 1, targets->shape, call->op->name, err);
}

static df_status run_in_top_k(const df_call *call, df_error *err)
{
    (void)err;
    const df_tensor *predictions = call->in[1];
    rank_job r = {.fns = &searches[predictions->dtype], .predictions = predictions,
                  .targets = call->in[0], .out = call->out[0]->data, .k = call->attrs[K].i,
                  .classes = predictions->shape[1]};
    df_parallel_for(r.targets->size, df_max(16384 / df_max(r.classes, 1), 1),
                    5 + 0.3 * (double)r.classes, rank_block, &r);
    return DF_OK;
}

DF_OP(in_top_k) = {.name = "in_top_k", .kind = DF_GENERAL, .n_in = 2, .n_out = 1, .n_attrs = 1,
                   .attrs = {{"k", DF_ATTR_INT}}, .infer = infer_in_top_k, .run = run_in_top_k,
                   RUN_IN_FLOAT};
