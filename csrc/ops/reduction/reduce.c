/* Reductions over any set of axes: sum, mean, prod, max, min, any, all, euclidean norm, variance,
 * standard deviation, logsumexp.
 *
 * Adjacent dimensions are merged, so a shape is a sequence of groups, alternately kept and reduced.
 * A stage reduces one group of a block (outer, n, inner) in chunks of fixed length to (outer,
 * chunks, inner). This result is reduced again until one chunk is left; then the next group
 * follows. Chunks depend only on shapes, so results do not depend on the number of threads, and
 * short chunks limit the error of float sums. */
#include "ops/axes.h"
#include "ops/reduction/reductions.h"
#include "base/thread.h"

enum { AXES, KEEPDIMS };

/* The functions of a reducer; FOLDED adds the functions for column reductions. */
#define REDUCER(name, identity, map, combine)                                                    \
    static void FN(name##_rows)(void *out, const void *x, const void *p, int64_t rows, int64_t n)\
    { FN(reduce_rows)(out, x, p, rows, n, identity, FN(map), FN(combine)); }                     \
    static void FN(name##_columns)(void *out, const void *x, const void *p, int64_t rows,        \
                                   int64_t cols, int64_t stride)                                 \
    { FN(reduce_columns)(out, x, p, rows, cols, stride, identity, FN(map), FN(combine)); }
#define FOLDED(name, identity, map, combine)                                                     \
    static void FN(name##_part)(int64_t rows, int64_t cols, int64_t stride, void *out,           \
                                const void *x)                                                   \
    {                                                                                            \
        if (rows == DF_COLUMN_ROWS)                                                              \
            FN(reduce_part)(out, x, DF_COLUMN_ROWS, cols, stride, FN(map), FN(combine));         \
        else FN(reduce_part)(out, x, 1, cols, stride, FN(map), FN(combine));                     \
    }                                                                                            \
    static void FN(name##_gather)(int64_t rows, int64_t cols, int64_t stride, void *out,         \
                                  const void *x)                                                 \
    { FN(gather_rows)(out, x, rows, cols, stride, identity, FN(combine)); }

/* A maximum or minimum of integers is the signed maximum of x ^ flip: ~ reverses the order, and
 * flipping the highest bit maps unsigned order to signed order. The four reducers share kernels,
 * which are compiled once per size. */
#define EXTREME(name, flip)                                                                      \
    static void FN(name##_rows)(void *out, const void *x, const void *p, int64_t rows, int64_t n)\
    { (void)p, FN(extreme_rows)(out, x, rows, n, flip); }                                        \
    static void FN(name##_columns)(void *out, const void *x, const void *p, int64_t rows,        \
                                   int64_t cols, int64_t stride)                                 \
    { (void)p, FN(extreme_columns)(out, x, rows, cols, stride, flip); }
#define TEMPLATE "ops/reduction/reduce_extreme_formulas.h"
#include "ops/each_int.h"
#undef TEMPLATE

#define TEMPLATE "ops/reduction/reduce_formulas.h"
#include "ops/each_float.h"
#include "ops/each_int.h"
#undef TEMPLATE

/* Bools are bytes 0 and 1. The flip of reduce_all swaps them; its result for no elements is 1. */
#if DF_BUILT_BOOL
#define DTYPE i8
EXTREME(all, FN(lowest)() ^ 1)
#undef DTYPE
#endif

typedef void (*rows_fn)(void *out, const void *x, const void *p, int64_t rows, int64_t n);
typedef void (*columns_fn)(void *out, const void *x, const void *p, int64_t rows, int64_t cols,
                           int64_t stride);
typedef void (*gather_fn)(int64_t rows, int64_t cols, int64_t stride, void *out, const void *x);
typedef void (*apart_fn)(void *out, int64_t out_step, const void *x, const void *p, int64_t n,
                         int64_t stride, int64_t rows);
typedef void (*finish_fn)(int64_t n, void *out, const void *p, double count);

/* The functions that reduce one dtype; for floats, also those for column reductions, and for the
 * reductions of reduce_channels.h. */
typedef struct {
    rows_fn rows;
    columns_fn columns;
    df_column_part_fn part;
    gather_fn gather;
    apart_fn apart;
} reducer;

/* A reduction: the reducer of the elements, the reducer of partial results, and the finish.
 * `parameter` is a reduction whose result the first reducer needs (the mean of a variance). */
typedef struct reduction {
    reducer first[DF_N_DTYPES], rest[DF_N_DTYPES];
    finish_fn finish[DF_N_DTYPES];
    const struct reduction *parameter;
    bool by_parts; /* of complex numbers: the real and the imaginary parts are reduced separately */
    double cost; /* of the first reducer, ns per element; 0: limited by memory */
} reduction;

#define REDUCER_OF(name, dtype) {.rows = name##_rows_##dtype, .columns = name##_columns_##dtype}
#define FOLDED_OF(name, dtype)                                                                   \
    {name##_rows_##dtype, name##_columns_##dtype, name##_part_##dtype, name##_gather_##dtype, NULL}
#define FLOAT_REDUCERS(name) [DF_F32] = REDUCER_OF(name, f32), DF_OF_ALL(F64, REDUCER_OF(name, f64))
#define FOLDED_FLOATS(name) [DF_F32] = FOLDED_OF(name, f32), DF_OF_ALL(F64, FOLDED_OF(name, f64))
#define EXTREME_REDUCERS(name)                                                                   \
    FOLDED_FLOATS(name),                                                                         \
    DF_OF_ALL(U8, REDUCER_OF(unsigned_##name, i8)),                                              \
    DF_OF_ALL(U16, REDUCER_OF(unsigned_##name, i16)),                                            \
    DF_OF_ALL(U32, REDUCER_OF(unsigned_##name, i32)),                                            \
    DF_OF_ALL(U64, REDUCER_OF(unsigned_##name, i64)),                                            \
    DF_OF_ALL(I8, REDUCER_OF(name, i8)), DF_OF_ALL(I16, REDUCER_OF(name, i16)),                  \
    DF_OF_ALL(I32, REDUCER_OF(name, i32)), DF_OF_ALL(I64, REDUCER_OF(name, i64))
#define SIGNLESS_REDUCERS(name) /* wraparound gives the same bits */                             \
    FOLDED_FLOATS(name),                                                                         \
    DF_OF_ALL(U8, REDUCER_OF(name, i8)), DF_OF_ALL(U16, REDUCER_OF(name, i16)),                  \
    DF_OF_ALL(U32, REDUCER_OF(name, i32)), DF_OF_ALL(U64, REDUCER_OF(name, i64)),                \
    DF_OF_ALL(I8, REDUCER_OF(name, i8)), DF_OF_ALL(I16, REDUCER_OF(name, i16)),                  \
    DF_OF_ALL(I32, REDUCER_OF(name, i32)), DF_OF_ALL(I64, REDUCER_OF(name, i64))
#define FINISH(name) .finish = {[DF_F32] = name##_finish_f32, DF_OF(F64, name##_finish_f64)}

#include "ops/reduction/reduce_complex.h"

static const reduction sum = {.first = {SIGNLESS_REDUCERS(sum)}, .rest = {SIGNLESS_REDUCERS(sum)},
                              .by_parts = true};
static const reduction prod = {.first = {SIGNLESS_REDUCERS(prod), COMPLEX_REDUCERS(prod)},
                               .rest = {SIGNLESS_REDUCERS(prod), COMPLEX_REDUCERS(prod)}};
static const reduction max = {.first = {EXTREME_REDUCERS(max)}, .rest = {EXTREME_REDUCERS(max)}};
static const reduction min = {.first = {EXTREME_REDUCERS(min)}, .rest = {EXTREME_REDUCERS(min)}};
static const reduction any = {.first = {DF_OF_ALL(BOOL, REDUCER_OF(unsigned_max, i8))},
                              .rest = {DF_OF_ALL(BOOL, REDUCER_OF(unsigned_max, i8))}};
static const reduction all = {.first = {DF_OF_ALL(BOOL, REDUCER_OF(all, i8))},
                              .rest = {DF_OF_ALL(BOOL, REDUCER_OF(all, i8))}};
static const reduction mean = {.first = {FOLDED_FLOATS(sum)}, .rest = {FLOAT_REDUCERS(sum)},
                               FINISH(mean), .by_parts = true};
static const reduction euclidean_norm = {.first = {FOLDED_FLOATS(sum_square)},
                                         .rest = {FLOAT_REDUCERS(sum)}, FINISH(root)};
static const reduction sum_of_squares = {.first = {FOLDED_FLOATS(sum_square)},
                                         .rest = {FLOAT_REDUCERS(sum)}};
static const reduction mean_of_squares = {.first = {FOLDED_FLOATS(sum_square)},
                                          .rest = {FLOAT_REDUCERS(sum)}, FINISH(mean)};
static const reduction variance = {.first = {FLOAT_REDUCERS(sum_deviation)},
                                   .rest = {FLOAT_REDUCERS(sum)}, FINISH(mean), .parameter = &mean};
static const reduction std = {.first = {FLOAT_REDUCERS(sum_deviation)},
                              .rest = {FLOAT_REDUCERS(sum)}, FINISH(std), .parameter = &mean};
static const reduction finite_max = {.first = {FLOAT_REDUCERS(max)}, .rest = {FLOAT_REDUCERS(max)},
                                     FINISH(finite)};
static const reduction logsumexp = {.first = {FLOAT_REDUCERS(sum_exp)},
                                    .rest = {FLOAT_REDUCERS(sum)}, FINISH(log),
                                    .parameter = &finite_max, .cost = 0.4};

/* Dimensions of an input without those of size 1, adjacent ones of one kind merged. Each group has
 * at least two elements, so there are fewer than 64. */
#define MAX_GROUPS 64
typedef struct {
    int n;
    bool by_parts; /* the last dimension is that of the parts of complex numbers */
    bool reduced[MAX_GROUPS];
    int64_t size[MAX_GROUPS];
} groups;

/* The groups (n, results), the first one reduced; for n = 0 or 1. */
static void group_columns(groups *g, int64_t n, int64_t results)
{
    g->n = 2;
    g->reduced[0] = true, g->size[0] = n;
    g->reduced[1] = false, g->size[1] = results;
}

static void group(groups *g, const df_tensor *x, const bool *marked, int64_t n_out)
{
    g->by_parts = false;
    if (x->size == 0) { /* every result has no elements */
        group_columns(g, 0, n_out);
        return;
    }
    bool some = false;
    g->n = 0;
    for (int d = 0; d < x->ndim; d++) {
        if (x->shape[d] == 1) continue;
        some |= marked[d];
        if (g->n == 0 || g->reduced[g->n - 1] != marked[d]) {
            g->reduced[g->n] = marked[d];
            g->size[g->n++] = 1;
        }
        g->size[g->n - 1] *= x->shape[d];
    }
    if (!some) group_columns(g, 1, n_out); /* every result has one element */
}

/* Elements of a chunk. Rows: each of 8 accumulators sums 2 KB; columns: long enough for few partial
 * results, short enough to use two threads. */
#define ROW_CHUNK 16384
#define COLUMN_CHUNK 131072
#define COLUMN_CHUNK_ROWS_MIN 256
#define COLUMN_CHUNK_ROWS_MAX 4096
#define COLUMN_BLOCK 4096 /* columns whose accumulators a task holds in L1 */
#define TASK_ELEMENTS 65536 /* 16 K was 5 % slower on rows in L3, as each block is a scheduling
                             * step */

/* One stage: (outer, n, inner) to (outer, chunks, inner). */
typedef struct {
    const reducer *reducer;
    const char *x, *p;
    df_dtype half; /* of x, if its rows are widened to float32; otherwise DF_F32 */
    char *out;
    df_span span;
    int64_t chunk, n_chunks, n_blocks;
    bool by_pairs; /* the columns are the two parts of complex numbers */
    int64_t channels; /* channels last: elements of a row are this far apart; 0: rows are dense */
    int bytes;
} stage;

static bool all_reduced(const groups *g)
{
    for (int i = 0; i < g->n; i++)
        if (g->reduced[i]) return false;
    return true;
}

static int64_t chunk_length(int64_t inner)
{
    if (inner <= 1) return ROW_CHUNK;
    return df_min(df_max(COLUMN_CHUNK / inner, COLUMN_CHUNK_ROWS_MIN), COLUMN_CHUNK_ROWS_MAX);
}

/* Sets up the stage that reduces the last reduced group, and updates `g` to its result. Returns
 * false if nothing is left to reduce. */
static bool next_stage(groups *g, stage *s)
{
    int at = g->n - 1;
    while (at >= 0 && !g->reduced[at]) at--;
    if (at < 0) return false;
    s->span = (df_span){1, g->size[at], 1};
    for (int i = 0; i < g->n; i++)
        if (i != at) *(i < at ? &s->span.outer : &s->span.inner) *= g->size[i];
    s->chunk = chunk_length(s->span.inner);
    s->n_chunks = df_max(df_ceil_div(s->span.n, s->chunk), 1);
    s->n_blocks = df_ceil_div(s->span.inner, COLUMN_BLOCK);
    s->channels = 0;
    s->by_pairs = false;
    s->half = DF_F32;
    g->size[at] = s->n_chunks;
    if (s->n_chunks > 1) return true;
    for (int i = at + 1; i < g->n; i++) { /* merge the adjacent groups, which are both kept */
        g->reduced[i - 1] = g->reduced[i];
        g->size[i - 1] = g->size[i];
    }
    g->n--;
    return true;
}

/* Computes results [begin, end) of (outer, chunks), one element each. */
static void row_task(void *context, int64_t begin, int64_t end)
{
    const stage *s = context;
    const int64_t n = s->span.n, b = s->bytes;
    if (s->n_chunks == 1) {
        s->reducer->rows(s->out + begin * b, s->x + begin * n * b,
                         s->p ? s->p + begin * b : NULL, end - begin, n);
        return;
    }
    for (int64_t i = begin; i < end; i++) {
        const int64_t row = i / s->n_chunks, from = i % s->n_chunks * s->chunk;
        s->reducer->rows(s->out + i * b, s->x + (row * n + from) * b,
                         s->p ? s->p + row * b : NULL, 1, df_min(s->chunk, n - from));
    }
}

/* Computes results [begin, end) of (outer, chunks, blocks of columns). */
static void column_task(void *context, int64_t begin, int64_t end)
{
    const stage *s = context;
    const int64_t n = s->span.n, inner = s->span.inner, b = s->bytes;
    for (int64_t i = begin; i < end; i++) {
        const int64_t block = i % s->n_blocks * COLUMN_BLOCK, chunks = i / s->n_blocks;
        const int64_t outer = chunks / s->n_chunks, from = chunks % s->n_chunks * s->chunk;
        if (s->by_pairs) {
            reduce_pairs(s->reducer, s->out + chunks * 2 * b, s->x + (outer * n + from) * 2 * b,
                         df_min(s->chunk, n - from), s->bytes);
            continue;
        }
        s->reducer->columns(s->out + (chunks * inner + block) * b,
                            s->x + ((outer * n + from) * inner + block) * b,
                            s->p ? s->p + (outer * inner + block) * b : NULL,
                            df_min(s->chunk, n - from), df_min(COLUMN_BLOCK, inner - block),
                            inner);
    }
}

static void run_apart(stage *s);
static void half_row_task(void *context, int64_t begin, int64_t end);
static void half_column_task(void *context, int64_t begin, int64_t end);

static void run_stage(stage *s, double cost)
{
    if (s->channels) {
        run_apart(s);
        return;
    }
    const bool rows = s->span.inner == 1, is_half = s->half != DF_F32;
    const int64_t items = s->span.outer * s->n_chunks * (rows ? 1 : s->n_blocks);
    if (items == 0) return;
    const int64_t each = df_min(s->span.n, s->chunk) * df_min(s->span.inner, COLUMN_BLOCK) + 1;
    if (cost == 0) cost = 0.02 * s->bytes;
    df_parallel_for(items, df_max(TASK_ELEMENTS / each, 1), cost * (double)each + 5,
                    is_half ? (rows ? half_row_task : half_column_task)
                            : (rows ? row_task : column_task), s);
}

/* The parameter has one element per result, but the first stage needs one per (outer, inner), where
 * outer still includes reduced groups: it is repeated along each of these, from the first on. */
static char *repeat_parameter(const groups *g, char *p, char *to, char *other, int bytes)
{
    int last = g->n - 1;
    while (last >= 0 && !g->reduced[last]) last--;
    for (int at = 0; at < last; at++) {
        if (!g->reduced[at]) continue;
        int64_t outer = 1, inner = bytes;
        for (int i = 0; i < at; i++) outer *= g->size[i];
        for (int i = at + 1; i < g->n; i++) inner *= g->reduced[i] ? 1 : g->size[i];
        for (int64_t o = 0; o < outer; o++)
            for (int64_t r = 0; r < g->size[at]; r++)
                memcpy(to + (o * g->size[at] + r) * inner, p + o * inner, (size_t)inner);
        p = to;
        to = other;
        other = p;
    }
    return p;
}

/* Bytes of the results of odd and even stages, and of the repeated parameter. */
typedef struct {
    int64_t even, odd, parameter;
} scratch;

static int64_t round_up(int64_t bytes) { return (bytes + DF_ALIGNMENT - 1) & -DF_ALIGNMENT; }

static scratch scratch_of(groups g, const reduction *r, int bytes)
{
    stage s;
    scratch need = {0, 0, 0};
    next_stage(&g, &s);
    if (r->parameter) need.parameter = round_up(s.span.outer * s.span.inner * bytes);
    need.even = round_up(s.span.outer * s.n_chunks * s.span.inner * bytes);
    if (next_stage(&g, &s))
        need.odd = round_up(s.span.outer * s.n_chunks * s.span.inner * bytes);
    return need;
}

/* `dtype`: of the result; x may have 16 bits if it is float32. `channels`: of x, if it is stored
 * channels last but `g` groups channels first; otherwise 0. */
static void reduce(const reduction *r, groups g, df_dtype dtype, const df_tensor *x,
                   int64_t channels, char *out, int64_t n_out, double count, char *workspace)
{
    const int bytes = df_dtypes[dtype].bytes;
    const scratch need = scratch_of(g, r, bytes);
    char *results[2] = {workspace, workspace + need.even}, *parameter = NULL, *p = NULL;
    if (r->parameter) { /* computed first, in the same scratch memory */
        parameter = results[1] + need.odd;
        reduce(r->parameter, g, dtype, x, channels, parameter, n_out, count, workspace);
        p = repeat_parameter(&g, parameter, parameter + need.parameter,
                             parameter + 2 * need.parameter, bytes);
    }
    groups left = g;
    stage s;
    for (int i = 0; next_stage(&left, &s); i++) {
        s.reducer = i ? &r->rest[dtype] : &r->first[dtype];
        s.x = i ? results[~i & 1] : x->data;
        if (i == 0 && x->dtype != dtype) s.half = x->dtype;
        s.p = i ? NULL : p;
        s.out = all_reduced(&left) ? out : results[i & 1];
        if (i == 0) s.channels = channels;
        s.by_pairs = g.by_parts && s.span.inner == 2;
        s.bytes = bytes;
        run_stage(&s, i ? 0 : r->cost);
    }
    if (r->finish[dtype]) r->finish[dtype](n_out, out, parameter, count);
}

/* The dtype of the elements that are reduced. */
static df_dtype element_dtype(const df_call *call, const reduction *r)
{
    const df_dtype dtype = call->in[0]->dtype;
    return r->by_parts ? df_real_dtype(dtype) : dtype;
}

static df_status infer(const df_call *call, const reduction *r, df_error *err)
{
    const df_tensor *x = call->in[0];
    bool marked[DF_MAX_NDIM];
    if (!r->first[element_dtype(call, r)].rows) {
        const char *wanted = r->first[DF_BOOL].rows  ? "bool"
                             : r->first[DF_I32].rows ? "a number dtype"
                                                     : "a floating dtype";
        return df_fail_dtype(call, 0, wanted, err);
    }
    df_status status = df_mark_axes(call, call->attrs[AXES].list, marked, err);
    if (status != DF_OK) return status;
    int64_t shape[DF_MAX_NDIM];
    int ndim = 0;
    for (int d = 0; d < x->ndim; d++)
        if (!marked[d] || call->attrs[KEEPDIMS].i) shape[ndim++] = marked[d] ? 1 : x->shape[d];
    return df_tensor_set(call->out[0], x->dtype, ndim, shape, call->op->name, err);
}

static void group_call(groups *g, const df_call *call, df_dtype dtype)
{
    bool marked[DF_MAX_NDIM];
    df_error never; /* infer has checked the axes */
    df_mark_axes(call, call->attrs[AXES].list, marked, &never);
    group(g, call->in[0], marked, call->out[0]->size);
    if (dtype == call->in[0]->dtype) return;
    g->by_parts = true;
    if (g->reduced[g->n - 1]) g->reduced[g->n] = false, g->size[g->n++] = 1;
    g->size[g->n - 1] *= 2; /* the parts of a number, as a last dimension */
}

static int64_t workspace(const df_call *call, const reduction *r)
{
    groups g;
    const df_dtype dtype = element_dtype(call, r);
    group_call(&g, call, dtype);
    const scratch need = scratch_of(g, r, df_dtypes[dtype].bytes);
    return need.even + need.odd + 3 * need.parameter;
}

static df_status run(const df_call *call, const reduction *r)
{
    const df_tensor *out = call->out[0];
    df_tensor x = *call->in[0]; /* borrows the shape */
    if (out->size == 0) return DF_OK;
    groups g;
    x.dtype = element_dtype(call, r);
    group_call(&g, call, x.dtype);
    reduce(r, g, x.dtype, &x, 0, out->data, x.dtype == out->dtype ? out->size : 2 * out->size,
           (double)(x.size / out->size), call->workspace);
    return DF_OK;
}

#include "ops/reduction/reduce_channels.h"
#include "ops/reduction/reduce_half.h"
#include "ops/reduction/reduce_pieces.h"

#define REDUCTION(of)                                                                            \
    static df_status of##_infer(const df_call *call, df_error *err)                              \
    {                                                                                            \
        return infer(call, &of, err);                                                            \
    }                                                                                            \
    static int64_t of##_workspace(const df_call *call) { return workspace(call, &of); }          \
    static df_status of##_run(const df_call *call, df_error *err)                                \
    {                                                                                            \
        (void)err;                                                                               \
        return run(call, &of);                                                                   \
    }                                                                                            \
    static inline df_status of##_run_half(const df_call *call, df_error *err)                    \
    {                                                                                            \
        return run_half(call, &of, err);                                                         \
    }
#define REDUCTION_OP(of)                                                                         \
    .name = "reduce_" #of, .kind = DF_REDUCTION, .n_in = 1, .n_out = 1, .n_attrs = 2,            \
    .attrs = {{"axes", DF_ATTR_INTS, .axis = true}, {"keepdims", DF_ATTR_BOOL}},                 \
    .infer = of##_infer,                                                                         \
    .workspace = of##_workspace, .run = of##_run
#define FORMULA(reducer, after) .formula = {DF_FORM_REDUCTION, reducer, .finish = after}

REDUCTION(sum)
REDUCTION(prod)
REDUCTION(max)
REDUCTION(min)
REDUCTION(any)
REDUCTION(all)
REDUCTION(mean)
REDUCTION(euclidean_norm)
REDUCTION(variance)
REDUCTION(std)
REDUCTION(logsumexp)
REDUCTION(sum_of_squares)
REDUCTION(mean_of_squares)

DF_OP(reduce_sum) = {REDUCTION_OP(sum), OF_NUMBERS(sum), COLUMNS(sum), FORMULA("sum", NULL)};
DF_OP(reduce_prod) = {REDUCTION_OP(prod), OF_NUMBERS(prod), COLUMNS(prod), FORMULA("prod", NULL)};
DF_OP(reduce_max) = {REDUCTION_OP(max), OF_NUMBERS(max), COLUMNS(max), FORMULA("max", NULL)};
DF_OP(reduce_min) = {REDUCTION_OP(min), OF_NUMBERS(min), COLUMNS(min), FORMULA("min", NULL)};
DF_OP(reduce_any) = {REDUCTION_OP(any), OF_BOOLS(any)};
DF_OP(reduce_all) = {REDUCTION_OP(all), OF_BOOLS(all)};
DF_OP(reduce_mean) = {REDUCTION_OP(mean), OF_FLOATS(mean), COLUMNS(mean),
                      FORMULA("sum", "mean_finish"), .promote = 1,
                      .promote_to_float = true};
DF_OP(reduce_euclidean_norm) = {REDUCTION_OP(euclidean_norm), OF_FLOATS(euclidean_norm),
                                COLUMNS(euclidean_norm), FORMULA("sum_square", "root_finish")};
DF_OP(reduce_variance) = {REDUCTION_OP(variance), OF_FLOATS(variance)};
DF_OP(reduce_std) = {REDUCTION_OP(std), OF_FLOATS(std)};
DF_OP(reduce_logsumexp) = {REDUCTION_OP(logsumexp), OF_FLOATS(logsumexp)};
/* Substituted by a graph pass for sums of squares: squares without other readers are not stored. */
DF_OP(reduce_sum_of_squares) = {REDUCTION_OP(sum_of_squares), OF_FLOATS_ALONE(sum_of_squares),
                                COLUMNS(sum_of_squares), FORMULA("sum_square", NULL)};
DF_OP(reduce_mean_of_squares) = {REDUCTION_OP(mean_of_squares), OF_FLOATS_ALONE(mean_of_squares),
                                 COLUMNS(mean_of_squares), FORMULA("sum_square", "mean_finish")};

/* Substituted by a graph pass for reductions in channels first of a transposed tensor. */
CHANNEL_REDUCTION(sum)
CHANNEL_REDUCTION(mean)
CHANNEL_REDUCTION(sum_of_squares)
CHANNEL_REDUCTION(mean_of_squares)
CHANNEL_REDUCTION(variance)
DF_OP(channel_sum) = {CHANNEL_REDUCTION_OP(sum)};
DF_OP(channel_mean) = {CHANNEL_REDUCTION_OP(mean)};
DF_OP(channel_sum_of_squares) = {CHANNEL_REDUCTION_OP(sum_of_squares)};
DF_OP(channel_mean_of_squares) = {CHANNEL_REDUCTION_OP(mean_of_squares)};
DF_OP(channel_variance) = {CHANNEL_REDUCTION_OP(variance)};
