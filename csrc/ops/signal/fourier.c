/* Discrete Fourier transforms along an axis. The plan, with its tables, is computed by the calling
 * thread in each run; blocks of columns are divided among tasks with scratch memory each. Results
 * do not depend on the division.
 *
 * The transform of an even number of real numbers is a transform of half the length, of pairs as
 * complex numbers, whose results are combined. Odd numbers are transformed as complex numbers. */
#include "base/thread.h"
#include "fourier/fourier.h"
#include "ops/axes.h"
#include "simd/lanes.h"

enum { AXIS, INVERSE, NORM };
enum { POINTS, ADJOINT = NORM + 1 }; /* of transforms of real numbers */
enum { FORWARD_NORM = 1, ORTHO_NORM }; /* results are divided by n or by its root */
enum { MAX_TASKS = 32, LARGE_COLUMN = 1 << 14, COMBINED = 1 << 12 };
#define MAX_SCRATCH (INT64_C(1) << 26) /* of all tasks, if it suffices for one */

/* Lists for DF_SHUFFLE. */
#define DF_FIRSTS_16 0, 0, 2, 2, 4, 4, 6, 6, 8, 8, 10, 10, 12, 12, 14, 14
#define DF_FIRSTS_8 0, 0, 2, 2, 4, 4, 6, 6
#define DF_FIRSTS_4 0, 0, 2, 2
#define DF_FIRSTS_2 0, 0
#define DF_SECONDS_16 1, 1, 3, 3, 5, 5, 7, 7, 9, 9, 11, 11, 13, 13, 15, 15
#define DF_SECONDS_8 1, 1, 3, 3, 5, 5, 7, 7
#define DF_SECONDS_4 1, 1, 3, 3
#define DF_SECONDS_2 1, 1
#define DF_BACKWARDS_16 14, 15, 12, 13, 10, 11, 8, 9, 6, 7, 4, 5, 2, 3, 0, 1
#define DF_BACKWARDS_8 6, 7, 4, 5, 2, 3, 0, 1
#define DF_BACKWARDS_4 2, 3, 0, 1
#define DF_BACKWARDS_2 0, 1

/* Lists of lanes of two vectors a and b of 64-bit elements: for each pair of blocks of h lanes, the
 * first blocks of a and b (A), or the second ones (B). */
#define DF_A1_8 0, 8, 2, 10, 4, 12, 6, 14
#define DF_B1_8 1, 9, 3, 11, 5, 13, 7, 15
#define DF_A2_8 0, 1, 8, 9, 4, 5, 12, 13
#define DF_B2_8 2, 3, 10, 11, 6, 7, 14, 15
#define DF_A4_8 0, 1, 2, 3, 8, 9, 10, 11
#define DF_B4_8 4, 5, 6, 7, 12, 13, 14, 15
#define DF_A1_4 0, 4, 2, 6
#define DF_B1_4 1, 5, 3, 7
#define DF_A2_4 0, 1, 4, 5
#define DF_B2_4 2, 3, 6, 7
#define DF_A1_2 0, 2
#define DF_B1_2 1, 3

#define DTYPE f64
#define TRADE(h)                                                                                 \
    const v_f64 c = DF_SHUFFLE(*a, *b, DF_LIST(DF_A##h));                                        \
    const v_f64 d = DF_SHUFFLE(*a, *b, DF_LIST(DF_B##h));                                        \
    *a = c, *b = d
/* Exchanges the second blocks of h lanes of a with the first ones of b: after h = 1, 2, 4 ... for
 * rows r and r + h, a tile is transposed. */
DF_INLINE void trade(v_f64 *a, v_f64 *b, int h)
{
    if (h == 1) {
        TRADE(1);
    }
#if DF_VEC_BYTES >= 32
    if (h == 2) {
        TRADE(2);
    }
#endif
#if DF_VEC_BYTES >= 64
    if (h == 4) {
        TRADE(4);
    }
#endif
}
#undef TRADE
#undef DTYPE

typedef enum { WHOLE, FIRST, SECOND, COMBINE } part_of_plan;

typedef struct job {
    df_fourier_plan plan;
    int64_t outer, blocks; /* rows before the axis; blocks of columns in each */
    int64_t points;        /* of a transform of real numbers; 0: of complex numbers */
    double factor;         /* points: of the frequencies between the first and the last */
    int64_t items, tasks;
    char *scratch;         /* of the first task */
    int64_t task_scratch;
    const void *x;
    void *y, *middle;      /* part of a single column: between the steps */
    part_of_plan part;
    const struct fourier_kernels *kernels;
} job;

/* Complex numbers per task, at the start of the scratch memory: copies of rows of real numbers, or
 * results before they become rows of frequencies, which are not aligned. */
static int64_t complex_copies(const job *j)
{
    const df_fourier_plan *p = &j->plan;
    if (!j->points || (p->pairs && p->inverse)) return 0;
    return df_fourier_whole_lines(p, p->n * (p->gathers ? p->step[0].width : 1));
}

/* Functions of a dtype. */
typedef struct fourier_kernels {
    void (*transform_blocks)(const job *j, int64_t begin, int64_t end, void *scratch);
    void (*transform_filter)(const df_fourier_plan *p, void *scratch);
} fourier_kernels;

#define TEMPLATE "ops/signal/fourier_formulas.h"
#include "ops/each_complex.h"
#undef TEMPLATE
#define TEMPLATE "ops/signal/fourier_tasks_formulas.h"
#include "ops/each_complex.h"
#undef TEMPLATE

static const fourier_kernels kernels_of[DF_N_DTYPES] = {
    DF_OF_ALL(C64, {blocks_c64, transform_filter_c64}),
    DF_OF_ALL(C128, {blocks_c128, transform_filter_c128})};

static df_status infer(const df_call *call, df_error *err)
{
    const df_tensor *x = call->in[0];
    int axis;
    if (!kernels_of[x->dtype].transform_blocks)
        return df_fail_dtype(call, 0, "complex64 or complex128", err);
    df_status status = df_normalize_axis(call->attrs[AXIS].i, x->ndim, call->op->name, &axis, err);
    return status == DF_OK ? df_infer_same(call, err) : status;
}

/* The complex dtype of the numbers or of the frequencies. */
static df_dtype dtype_of(const df_tensor *x)
{
    return x->dtype == DF_F32 ? DF_C64 : x->dtype == DF_F64 ? DF_C128 : x->dtype;
}

DF_ONCE(df_status, infer_rfft, (const df_call *call, df_error *err))
{
    const df_tensor *x = call->in[0];
    const bool inverse = call->attrs[INVERSE].i;
    const int64_t n = call->attrs[POINTS].i, last = x->ndim ? x->shape[x->ndim - 1] : 0;
    const int64_t want = inverse ? n / 2 + 1 : n;
    int64_t shape[DF_MAX_NDIM];
    if (df_is_complex(x->dtype) != inverse || !df_is_complex(dtype_of(x)))
        return df_fail_dtype(call, 0, inverse ? "complex64 or complex128" : "float32 or float64",
                             err);
    if (n != DF_OPEN && n < 1)
        return df_fail(err, DF_INVALID_ARGUMENT, "%s: n is %lld, expected at least 1",
                       call->op->name, (long long)n);
    if (!x->ndim)
        return df_fail(err, DF_BAD_SHAPE, "%s: shape (), expected at least 1 dimension",
                       call->op->name);
    if (n != DF_OPEN && last != DF_UNKNOWN && last != want)
        return df_fail(err, DF_BAD_SHAPE, "%s: shape %s, expected a last dimension of size %lld",
                       call->op->name, df_shape_text(x->ndim, x->shape).text, (long long)want);
    memcpy(shape, x->shape, (size_t)x->ndim * sizeof *shape);
    shape[x->ndim - 1] = n == DF_OPEN ? DF_UNKNOWN : inverse ? n : n / 2 + 1;
    return df_tensor_set(call->out[0], inverse ? df_real_dtype(x->dtype) : dtype_of(x), x->ndim,
                         shape, call->op->name, err);
}

/* True if the steps of each column are divided among tasks, rather than the columns. */
static bool divides_columns(const job *j)
{
    const df_fourier_plan *p = &j->plan;
    return p->n_steps == 2 && !p->chirp && p->n >= LARGE_COLUMN && j->points % 2 == 0;
}

/* Completes the description of a run of transforms of n points. False if the bytes of its memory
 * cannot be counted. */
DF_ONCE(bool, describe_fourier_run, (const df_call *call, job *j, int64_t n, int64_t columns))
{
    const df_dtype dtype = dtype_of(call->in[0]);
    const int64_t norm = call->attrs[NORM].i, length = j->points && n % 2 == 0 ? n / 2 : n;
    const double points = (double)n, scale = norm == FORWARD_NORM ? 1 / points
                                           : norm == ORTHO_NORM ? 1 / sqrt(points) : 1;
    df_fourier_plan *p = &j->plan;
    if (!df_fourier_describe(p, dtype, length, columns, call->attrs[INVERSE].i, scale))
        return false;
    const int64_t width = p->step[0].width;
    j->blocks = p->n_steps == 2 ? 1 : df_ceil_div(columns, width);
    j->items = p->gathers ? df_ceil_div(j->outer, width) : j->outer * j->blocks;
    if (j->points && n % 2 == 0) df_fourier_add_pairs(p);
    p->scratch += complex_copies(j) * df_dtypes[dtype].bytes;
    j->task_scratch = divides_columns(j) ? p->step_scratch : p->scratch;
    j->tasks = df_max(df_min(df_min(j->items, MAX_TASKS), MAX_SCRATCH / p->scratch), 1);
    return true;
}

DF_ONCE(bool, describe_fft, (const df_call *call, job *j))
{
    const df_tensor *x = call->in[0];
    int axis = 0;
    df_error never; /* infer has checked the axis */
    df_normalize_axis(call->attrs[AXIS].i, x->ndim, call->op->name, &axis, &never);
    const df_span span = df_span_of(x, axis, axis);
    *j = (job){.outer = span.outer};
    return describe_fourier_run(call, j, span.n, span.inner);
}

DF_ONCE(bool, describe_rfft, (const df_call *call, job *j))
{
    const df_tensor *x = call->in[0];
    const int64_t n = call->attrs[POINTS].i, inverse = call->attrs[INVERSE].i;
    const double adjoint = !call->attrs[ADJOINT].i ? 1 : inverse ? 0.5 : 2;
    *j = (job){.outer = x->size / x->shape[x->ndim - 1], .points = n,
               .factor = n % 2 || inverse ? adjoint : adjoint / 2};
    return describe_fourier_run(call, j, n, 1);
}

DF_ONCE(int64_t, fourier_workspace,
        (const df_call *call, bool (*describe)(const df_call *, job *)))
{
    job j;
    if (call->in[0]->size <= 0) return 0;
    if (!describe(call, &j)) return -1;
    const df_fourier_plan *p = &j.plan;
    if (!divides_columns(&j)) return p->table_bytes + j.tasks * p->scratch;
    return p->table_bytes + df_fourier_middle(p) + MAX_TASKS * p->step_scratch;
}

static void run_tasks(void *context, int64_t begin, int64_t end)
{
    const job *j = context;
    for (int64_t task = begin; task < end; task++)
        j->kernels->transform_blocks(j, j->items * task / j->tasks,
                                     j->items * (task + 1) / j->tasks,
                                     j->scratch + task * j->task_scratch);
}

/* Runs the items, each of `points` numbers. */
static void run_items(job *j, int64_t items, double points)
{
    const double ns = 0.15 * points * log2((double)j->plan.m + 1) * (j->plan.chirp ? 4 : 1);
    j->items = items;
    /* few tasks, whose scratch memory stays in the cache */
    j->tasks = df_min(df_min(j->tasks, items), 2 * df_num_threads());
    df_parallel_for(j->tasks, 1, ns * (double)items / (double)j->tasks, run_tasks, j);
}

/* Runs a part of a transform of a single column. */
static void run_part(job *j, part_of_plan part)
{
    const df_fourier_plan *p = &j->plan;
    const int64_t rows = part == COMBINE ? p->n / 2 + 1 : p->step[part == FIRST].n;
    const int64_t blocks =
        df_ceil_div(rows, part == COMBINE ? COMBINED : p->step[part == SECOND].width);
    j->part = part;
    j->tasks = MAX_TASKS;
    run_items(j, blocks, (double)(p->n / blocks));
}

static df_status run(const df_call *call, bool (*describe)(const df_call *, job *), df_error *err)
{
    const df_tensor *x = call->in[0], *y = call->out[0];
    job j;
    if (x->size == 0) return DF_OK;
    if (!describe(call, &j))
        return df_fail(err, DF_OVERFLOW, "%s: shape %s, expected at most 2^40 points",
                       call->op->name, df_shape_text(x->ndim, x->shape).text);
    df_fourier_plan *p = &j.plan;
    df_fourier_tables(p, call->workspace);
    j.scratch = (char *)call->workspace + p->table_bytes;
    j.x = x->data;
    j.y = y->data;
    j.kernels = &kernels_of[dtype_of(x)];
    if (p->chirp) j.kernels->transform_filter(p, j.scratch);
    if (!divides_columns(&j)) {
        run_items(&j, j.items, (double)(j.outer * p->n * p->columns / j.items));
        return DF_OK;
    }
    j.middle = j.scratch;
    j.scratch += df_fourier_middle(p);
    for (int64_t k = 0; k < j.outer; k++) {
        j.x = (const char *)x->data + k * (x->size / j.outer) * df_dtypes[x->dtype].bytes;
        j.y = (char *)y->data + k * (y->size / j.outer) * df_dtypes[y->dtype].bytes;
        if (p->pairs && p->inverse) {
            run_part(&j, COMBINE);
            j.x = j.y;
        }
        run_part(&j, FIRST);
        run_part(&j, SECOND);
        if (p->pairs && !p->inverse) run_part(&j, COMBINE);
    }
    return DF_OK;
}

static int64_t workspace_fft(const df_call *call)
{
    return fourier_workspace(call, describe_fft);
}

static int64_t workspace_rfft(const df_call *call)
{
    return fourier_workspace(call, describe_rfft);
}

static df_status run_fft(const df_call *call, df_error *err)
{
    return run(call, describe_fft, err);
}

static df_status run_rfft(const df_call *call, df_error *err)
{
    return run(call, describe_rfft, err);
}

static double flops_fft(const df_call *call)
{
    const df_tensor *x = call->in[0];
    int axis = 0;
    df_error never;
    df_normalize_axis(call->attrs[AXIS].i, x->ndim, call->op->name, &axis, &never);
    return x->size <= 0 ? 0 : 5 * (double)x->size * log2((double)x->shape[axis]);
}

static double flops_rfft(const df_call *call)
{
    const df_tensor *real = call->attrs[INVERSE].i ? call->out[0] : call->in[0];
    return real->size <= 0 ? 0 : 2.5 * (double)real->size * log2((double)call->attrs[POINTS].i);
}

/* y[k] = sum of x[j] exp(-2 pi i j k / n), or of x[j] exp(2 pi i j k / n) if inverse. */
DF_OP(fft) = {.name = "fft", .kind = DF_GENERAL, .n_in = 1, .n_out = 1, .n_attrs = 3,
              .attrs = {{"axis", DF_ATTR_INT, .open = true}, {"inverse", DF_ATTR_BOOL},
                        {"norm", DF_ATTR_INT}},
              .infer = infer, .workspace = workspace_fft, .run = run_fft, .flops = flops_fft};

/* Along the last dimension, the first n / 2 + 1 results of fft of n real numbers; if inverse, the
 * real numbers from these results. If adjoint, the adjoint of the other direction: results (inputs,
 * if inverse) are multiplied by 2 (1 / 2), except the first and, if n is even, the last. */
DF_OP(rfft) = {.name = "rfft", .kind = DF_GENERAL, .n_in = 1, .n_out = 1, .n_attrs = 4,
               .attrs = {{"n", DF_ATTR_INT, .open = true}, {"inverse", DF_ATTR_BOOL},
                         {"norm", DF_ATTR_INT}, {"adjoint", DF_ATTR_BOOL}},
               .infer = infer_rfft, .workspace = workspace_rfft, .run = run_rfft,
               .flops = flops_rfft};
