/* argmax and argmin along one axis: the first index of the extreme; NaN counts as the extreme.
 *
 * The axis is divided into chunks of fixed length. Each yields an index per column, and the best of
 * them is selected afterwards, so long axes use all threads. */
#include "ops/axes.h"
#include "ops/reduction/reductions.h"
#include "base/thread.h"

enum { AXIS, OUTPUT_TYPE };

#define ARG_COLUMNS 512 /* columns whose extremes and indices are held in L1 */
#define CHUNK 32768     /* elements along the axis, in rows */
#define CHUNK_ROWS 4096 /* same, in columns */

/* The index of a row in a chunk; as wide as an element if that helps the compiler. */
typedef int32_t row_number_u8, row_number_u16, row_number_u32, row_number_i8, row_number_i16,
    row_number_i32, row_number_f32;
typedef int64_t row_number_u64, row_number_i64, row_number_f64;

#define TEMPLATE "ops/reduction/reduce_arg_formulas.h"
#include "ops/each_float.h"
#include "ops/each_int.h"
#undef TEMPLATE

typedef struct {
    void (*rows)(int64_t *at, const void *x, int64_t rows, int64_t n);
    void (*columns)(int64_t *index, const void *x, int64_t rows, int64_t cols, int64_t stride);
    int64_t (*best)(const void *x, const int64_t *at, int64_t n, int64_t step, int64_t chunk,
                    int64_t inner);
} search;

#define SEARCH_OF(name, dtype) {name##_rows_##dtype, name##_columns_##dtype, name##_best_##dtype}
#define SEARCHES(name)                                                                           \
    {DF_OF_ALL(BOOL, SEARCH_OF(name, u8)), DF_OF_ALL(U8, SEARCH_OF(name, u8)),                   \
        DF_OF_ALL(U16, SEARCH_OF(name, u16)), DF_OF_ALL(U32, SEARCH_OF(name, u32)),              \
        DF_OF_ALL(U64, SEARCH_OF(name, u64)), DF_OF_ALL(I8, SEARCH_OF(name, i8)),                \
        DF_OF_ALL(I16, SEARCH_OF(name, i16)), DF_OF_ALL(I32, SEARCH_OF(name, i32)),              \
        DF_OF_ALL(I64, SEARCH_OF(name, i64)), [DF_F32] = SEARCH_OF(name, f32),                   \
        DF_OF_ALL(F64, SEARCH_OF(name, f64))}
static const search argmax[DF_N_DTYPES] = SEARCHES(argmax);
static const search argmin[DF_N_DTYPES] = SEARCHES(argmin);

DF_ONCE(df_status, infer_reduce_arg, (const df_call *call, df_error *err))
{
    const df_tensor *x = call->in[0];
    const df_dtype index = (df_dtype)call->attrs[OUTPUT_TYPE].i;
    int axis;
    if (!argmax[x->dtype].rows) return df_fail_dtype(call, 0, "a number dtype or bool", err);
    if (index != DF_I32 && index != DF_I64)
        return df_fail(err, DF_BAD_DTYPE, "%s: output_type is %s, expected int32 or int64",
                       call->op->name, df_dtypes[index].name);
    df_status status = df_normalize_axis(call->attrs[AXIS].i, x->ndim, call->op->name, &axis, err);
    if (status != DF_OK) return status;
    if (x->shape[axis] == 0)
        return df_fail(err, DF_INVALID_ARGUMENT,
                       "%s: axis %d of shape %s has no elements, expected at least one",
                       call->op->name, axis, df_shape_text(x->ndim, x->shape).text);
    int64_t shape[DF_MAX_NDIM];
    int ndim = 0;
    for (int d = 0; d < x->ndim; d++)
        if (d != axis) shape[ndim++] = x->shape[d];
    return df_tensor_set(call->out[0], index, ndim, shape, call->op->name, err);
}

typedef struct {
    const search *search;
    const char *x;
    int64_t *at; /* (outer, chunks, inner), relative to the start of the chunk */
    void *out;
    df_span span;
    int64_t chunk, n_chunks, n_blocks;
    int bytes;
    df_dtype index;
} job;

static job job_of(const df_call *call, const search *searches)
{
    const df_tensor *x = call->in[0];
    job j = {.search = &searches[x->dtype], .x = x->data, .at = call->workspace,
             .out = call->out[0]->data, .bytes = df_dtypes[x->dtype].bytes,
             .index = call->out[0]->dtype};
    int axis = 0;
    df_error never; /* infer has checked the axis */
    df_normalize_axis(call->attrs[AXIS].i, x->ndim, call->op->name, &axis, &never);
    j.span = df_span_of(x, axis, axis);
    j.chunk = j.span.inner == 1 ? CHUNK : CHUNK_ROWS;
    j.n_chunks = df_ceil_div(j.span.n, j.chunk);
    j.n_blocks = df_ceil_div(j.span.inner, ARG_COLUMNS);
    return j;
}

static int64_t workspace(const df_call *call)
{
    const job j = job_of(call, argmax);
    return j.span.outer * j.n_chunks * j.span.inner * (int64_t)sizeof(int64_t);
}

/* Searches chunks [begin, end) of (outer, chunks, blocks of columns). */
static void search_task(void *context, int64_t begin, int64_t end)
{
    const job *j = context;
    const int64_t n = j->span.n, inner = j->span.inner;
    if (inner == 1 && j->n_chunks == 1) {
        j->search->rows(j->at + begin, j->x + begin * n * j->bytes, end - begin, n);
        return;
    }
    for (int64_t i = begin; i < end; i++) {
        const int64_t block = i % j->n_blocks * ARG_COLUMNS, chunks = i / j->n_blocks;
        const int64_t outer = chunks / j->n_chunks, from = chunks % j->n_chunks * j->chunk;
        const int64_t rows = df_min(j->chunk, n - from);
        const char *x = j->x + ((outer * n + from) * inner + block) * j->bytes;
        int64_t *at = j->at + chunks * inner + block;
        if (inner == 1)
            j->search->rows(at, x, 1, rows);
        else
            j->search->columns(at, x, rows, df_min(ARG_COLUMNS, inner - block), inner);
    }
}

/* Computes results [begin, end) of (outer, inner). */
static void choose_task(void *context, int64_t begin, int64_t end)
{
    const job *j = context;
    const int64_t inner = j->span.inner;
    for (int64_t i = begin; i < end; i++) {
        int64_t best;
        if (j->n_chunks == 1) {
            best = j->at[i];
        } else {
            const int64_t outer = i / inner, c = i % inner;
            best = j->search->best(j->x + (outer * j->span.n * inner + c) * j->bytes,
                                   j->at + outer * j->n_chunks * inner + c, j->n_chunks, inner,
                                   j->chunk, inner);
        }
        if (j->index == DF_I64)
            ((int64_t *)j->out)[i] = best;
        else
            ((int32_t *)j->out)[i] = (int32_t)best;
    }
}

static df_status run(const df_call *call, const search *searches, df_error *err)
{
    job j = job_of(call, searches);
    const int64_t results = j.span.outer * j.span.inner;
    if (results == 0) return DF_OK;
    if (j.index == DF_I32 && j.span.n > INT32_MAX)
        return df_fail(err, DF_OVERFLOW, "%s: an axis of %lld elements, expected output_type int64",
                       call->op->name, (long long)j.span.n);
    const int64_t each = df_min(j.span.n, j.chunk) * df_min(j.span.inner, ARG_COLUMNS);
    df_parallel_for(j.span.outer * j.n_chunks * j.n_blocks, df_max(16384 / each, 1),
                    0.03 * j.bytes * (double)each + 5, search_task, &j);
    df_parallel_for(results, 8192, 1 + 4 * (double)(j.n_chunks - 1), choose_task, &j);
    return DF_OK;
}

static df_status run_argmax(const df_call *call, df_error *err) { return run(call, argmax, err); }
static df_status run_argmin(const df_call *call, df_error *err) { return run(call, argmin, err); }

#define ARG_OP(op)                                                                               \
    .name = op, .kind = DF_REDUCTION, .n_in = 1, .n_out = 1, .n_attrs = 2,                       \
    .attrs = {{"axis", DF_ATTR_INT, .axis = true}, {"output_type", DF_ATTR_DTYPE}},              \
    .infer = infer_reduce_arg,                                                                   \
    .workspace = workspace, RUN_IN_FLOAT

DF_OP(argmax) = {ARG_OP("argmax"), .run = run_argmax};
DF_OP(argmin) = {ARG_OP("argmin"), .run = run_argmin};
