/* Cumulative ops along one axis: cumsum, cumprod, the recurrence in their gradients, and logarithms
 * of sums of exponentials.
 *
 * All process a block (outer, n, inner), forwards or in reverse. Exclusive ops leave out the
 * element itself and start with the identity. */
#include "ops/axes.h"
#include "ops/elementwise/elementwise.h"
#include "base/thread.h"

extern DF_OP(add);
extern DF_OP(multiply);

enum { AXIS, EXCLUSIVE, REVERSE };

#define BLOCK_COLUMNS 2048 /* columns of a row per task */
#define OUTER_AT_ONCE 4    /* blocks of single columns that are processed together */

/* `outer` blocks, `outer_step` elements apart, of n rows of `cols` adjacent columns; rows are
 * `step` elements apart, negative in reverse. */
typedef struct {
    int64_t outer, outer_step, n, cols, step;
    bool exclusive;
} block_shape;

typedef void (*block_fn)(void *out, const void *const *in, const block_shape *s);

/* The accumulator: float64 for float32, rounded once per result; otherwise a sum of 10^7 numbers
 * would lose three digits. */
typedef double accumulator_f32;
typedef double accumulator_f64;
typedef uint8_t accumulator_u8;
typedef uint16_t accumulator_u16;
typedef uint32_t accumulator_u32;
typedef uint64_t accumulator_u64;
typedef int8_t accumulator_i8;
typedef int16_t accumulator_i16;
typedef int32_t accumulator_i32;
typedef int64_t accumulator_i64;
#define ACC DF_CAT(accumulator, DTYPE)

#define TEMPLATE "ops/reduction/cumulative_formulas.h"
#include "ops/each_float.h"
#include "ops/each_int.h"
#undef TEMPLATE

/* Complex numbers, whose parts are neighbouring columns, by tile functions, each row rounded:
 * y[k] = factors[k] y[k - 1], or with terms factors[k - 1] y[k - 1] + terms[k]; exclusive ops take
 * rows k - 1. */
DF_NOINLINE void complex_block(df_dtype dtype, char *out, const char *factors, const char *terms,
                               const block_shape *s)
{
    const df_op *multiply = &DF_SYM(df_op_multiply), *add = &DF_SYM(df_op_add);
    const int64_t bytes = df_dtypes[df_real_dtype(dtype)].bytes, step = s->step * bytes;
    const size_t row = (size_t)(s->cols * bytes);
    for (int64_t o = 0; o < s->outer; o++) {
        const int64_t at = o * s->outer_step * bytes;
        char *y = out + at;
        const char *by = factors + at, *plus = terms ? terms + at : NULL;
        if (!s->exclusive) memcpy(y, plus ? plus : by, row);
        else memset(y, 0, row);
        for (int64_t c = 0; s->exclusive && !plus && c < s->cols; c += 2) {
            if (dtype == DF_C64) ((float *)y)[c] = 1;
            else ((double *)y)[c] = 1;
        }
        for (int64_t k = 1; k < s->n; k++, y += step, by += step) {
            const void *in[2] = {y, by + (plus || s->exclusive ? 0 : step)};
            multiply->tile[dtype](s->cols / 2, y + step, in, NULL);
            if (!plus) continue;
            const void *sum[2] = {plus + (k - s->exclusive) * step, y + step};
            add->tile[dtype](s->cols / 2, y + step, sum, NULL);
        }
    }
}

#define COMPLEX_BLOCKS(complex, dtype)                                                           \
    static void cumprod_block_##complex(void *out, const void *const *in, const block_shape *s)  \
    {                                                                                            \
        complex_block(dtype, out, in[0], NULL, s);                                               \
    }                                                                                            \
    static void recurrence_block_##complex(void *out, const void *const *in,                     \
                                           const block_shape *s)                                 \
    {                                                                                            \
        complex_block(dtype, out, in[0], in[1], s);                                              \
    }
DF_WHERE(C64, COMPLEX_BLOCKS(c64, DF_C64))
DF_WHERE(C128, COMPLEX_BLOCKS(c128, DF_C128))

#define OF_INTS(name)                                                                            \
    DF_OF(U8, name##_block_i8), DF_OF(U16, name##_block_i16), DF_OF(U32, name##_block_i32),      \
    DF_OF(U64, name##_block_i64), DF_OF(I8, name##_block_i8), DF_OF(I16, name##_block_i16),      \
    DF_OF(I32, name##_block_i32), DF_OF(I64, name##_block_i64)
#define OF_FLOATS(name) [DF_F32] = name##_block_f32, DF_OF(F64, name##_block_f64)
#define OF_COMPLEX(name) DF_OF(C64, name##_block_c64), DF_OF(C128, name##_block_c128)
/* complex numbers: the parts are summed separately, as neighbouring columns */
static const block_fn cumsum[DF_N_DTYPES] = {OF_FLOATS(cumsum), OF_INTS(cumsum),
                                             DF_OF(C64, cumsum_block_f32),
                                             DF_OF(C128, cumsum_block_f64)};
static const block_fn cumprod[DF_N_DTYPES] = {OF_FLOATS(cumprod), OF_INTS(cumprod),
                                              OF_COMPLEX(cumprod)};
static const block_fn of_logsumexp[DF_N_DTYPES] = {OF_FLOATS(logsumexp)};
static const block_fn of_recurrence[DF_N_DTYPES] = {OF_FLOATS(recurrence), OF_COMPLEX(recurrence)};

DF_ONCE(df_status, infer_scan, (const df_call *call, df_error *err))
{
    const df_tensor *x = call->in[0];
    int axis;
    const bool floats = call->n_in == 2;
    if (floats ? !of_recurrence[x->dtype] : !cumsum[x->dtype])
        return df_fail_dtype(call, 0,
                             floats ? "a floating or complex dtype" : "a number dtype", err);
    if (floats && (!df_may_be_same_shape(x, call->in[1]) || x->dtype != call->in[1]->dtype))
        return df_fail(err, DF_BAD_SHAPE, "%s: inputs are %s and %s, expected the same",
                       call->op->name, df_tensor_text(x).text, df_tensor_text(call->in[1]).text);
    df_status status = df_normalize_axis(call->attrs[AXIS].i, x->ndim, call->op->name, &axis, err);
    return status == DF_OK ? df_infer_same(call, err) : status;
}

static df_status infer_logsumexp(const df_call *call, df_error *err)
{
    return of_logsumexp[call->in[0]->dtype] ? infer_scan(call, err)
                                         : df_fail_dtype(call, 0, "a floating dtype", err);
}

typedef struct {
    block_fn fn;
    const df_call *call;
    df_span span;
    int64_t n_blocks;
    int bytes;
} job;

/* Processes items [begin, end) of (outer, blocks of columns), by one call if a block has all
 * columns. */
static void block_task(void *context, int64_t begin, int64_t end)
{
    const job *j = context;
    const int64_t inner = j->span.inner, n = j->span.n;
    const bool reverse = j->call->attrs[REVERSE].i;
    const int64_t items = j->n_blocks == 1 ? end - begin : 1;
    for (int64_t i = begin; i < end; i += items) {
        const int64_t block = i % j->n_blocks * BLOCK_COLUMNS;
        const int64_t first = (i / j->n_blocks * n + (reverse ? n - 1 : 0)) * inner + block;
        const block_shape s = {items, n * inner, n, df_min(BLOCK_COLUMNS, inner - block),
                               reverse ? -inner : inner, j->call->attrs[EXCLUSIVE].i};
        const void *in[2];
        for (int k = 0; k < j->call->n_in; k++)
            in[k] = (const char *)j->call->in[k]->data + first * j->bytes;
        j->fn((char *)j->call->out[0]->data + first * j->bytes, in, &s);
    }
}

/* Cost per element: `alone` if inner is 1, otherwise `among`. */
DF_ONCE(df_status, run_along, (const df_call *call, const block_fn *fns, double alone,
                               double among))
{
    const df_tensor *x = call->in[0];
    int axis = 0;
    df_error never; /* infer has checked the axis */
    df_normalize_axis(call->attrs[AXIS].i, x->ndim, call->op->name, &axis, &never);
    job j = {fns[x->dtype], call, df_span_of(x, axis, axis), 1, df_dtypes[x->dtype].bytes};
    if (x->size == 0) return DF_OK;
    const double cost = j.span.inner == 1 ? alone : among;
    if (df_is_complex(x->dtype)) j.span.inner *= 2, j.bytes /= 2;
    j.n_blocks = df_ceil_div(j.span.inner, BLOCK_COLUMNS);
    const int64_t each = j.span.n * df_min(j.span.inner, BLOCK_COLUMNS);
    df_parallel_for(j.span.outer * j.n_blocks, df_max(8192 / each, 1), cost * (double)each,
                    block_task, &j);
    return DF_OK;
}

static df_status run_cumsum(const df_call *call, df_error *err)
{
    (void)err;
    return run_along(call, cumsum, 1, 0.2);
}
static df_status run_cumprod(const df_call *call, df_error *err)
{
    (void)err;
    return run_along(call, cumprod, 1, 0.2);
}
static df_status run_recurrence(const df_call *call, df_error *err)
{
    (void)err;
    return run_along(call, of_recurrence, 1, 0.2);
}
static df_status run_logsumexp(const df_call *call, df_error *err)
{
    (void)err;
    return run_along(call, of_logsumexp, 25, 25);
}

#define CUMULATIVE_OP(op)                                                                        \
    .name = op, .kind = DF_GENERAL, .cannot_fail = true, .n_out = 1, .n_attrs = 3,               \
    .attrs = {{"axis", DF_ATTR_INT, .open = true}, {"exclusive", DF_ATTR_BOOL},                  \
              {"reverse", DF_ATTR_BOOL}},                                                        \
    RUN_IN_FLOAT

DF_OP(cumsum) = {CUMULATIVE_OP("cumsum"), .n_in = 1, .infer = infer_scan,
                 .run = run_cumsum};
DF_OP(cumprod) = {CUMULATIVE_OP("cumprod"), .n_in = 1, .infer = infer_scan,
                  .run = run_cumprod};
/* s[k] = b[k] + a[k - 1] s[k - 1]; exclusive: s[k] = b[k - 1] + a[k - 1] s[k - 1] from s[0] = 0. */
DF_OP(cumulative_recurrence) = {CUMULATIVE_OP("cumulative_recurrence"), .n_in = 2,
                                .infer = infer_scan, .run = run_recurrence};
DF_OP(cumulative_logsumexp) = {CUMULATIVE_OP("cumulative_logsumexp"), .n_in = 1,
                               .infer = infer_logsumexp, .run = run_logsumexp};
