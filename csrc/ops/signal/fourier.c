/* Discrete Fourier transforms along an axis. The plan, with its tables, is computed by the calling
 * thread in each run; blocks of columns are divided among tasks with scratch memory each. Results
 * do not depend on the division. */
#include "base/thread.h"
#include "fourier/fourier.h"
#include "ops/axes.h"
#include "simd/lanes.h"

enum { AXIS, INVERSE, NORM };
enum { FORWARD_NORM = 1, ORTHO_NORM }; /* results are divided by n or by its root */
enum { MAX_TASKS = 32, LARGE_COLUMN = 1 << 14 };
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

typedef enum { WHOLE, FIRST, SECOND } part_of_plan;

typedef struct job {
    df_fourier_plan plan;
    int64_t outer, blocks; /* rows before the axis; blocks of columns in each */
    int64_t items, tasks;
    char *scratch;         /* of the first task */
    int64_t task_scratch;
    const void *x;
    void *y, *middle;      /* part of a single column: between the steps */
    part_of_plan part;
    const struct fourier_kernels *kernels;
} job;

/* Functions of a dtype. */
typedef struct fourier_kernels {
    void (*transform_blocks)(const job *j, int64_t begin, int64_t end, void *scratch);
    void (*transform_filter)(const df_fourier_plan *p, void *scratch);
} fourier_kernels;

#define TEMPLATE "ops/signal/fourier_formulas.h"
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

/* True if the steps of each column are divided among tasks, rather than the columns. */
static bool divides_columns(const df_fourier_plan *p)
{
    return p->n_steps == 2 && !p->chirp && p->n >= LARGE_COLUMN;
}

/* Describes the run of a call. False if the bytes of its memory cannot be counted. */
static bool describe(const df_call *call, job *j)
{
    const df_tensor *x = call->in[0];
    int axis = 0;
    df_error never; /* infer has checked the axis */
    df_normalize_axis(call->attrs[AXIS].i, x->ndim, call->op->name, &axis, &never);
    const df_span span = df_span_of(x, axis, axis);
    const int64_t norm = call->attrs[NORM].i;
    const double n = (double)span.n, scale = norm == FORWARD_NORM ? 1 / n
                                           : norm == ORTHO_NORM ? 1 / sqrt(n) : 1;
    *j = (job){.outer = span.outer};
    if (!df_fourier_describe(&j->plan, x->dtype, span.n, span.inner, call->attrs[INVERSE].i, scale))
        return false;
    const df_fourier_plan *p = &j->plan;
    j->blocks = p->n_steps == 2 ? 1 : df_ceil_div(span.inner, p->step[0].width);
    j->items = p->gathers ? df_ceil_div(span.outer, p->step[0].width) : span.outer * j->blocks;
    j->task_scratch = divides_columns(p) ? p->step_scratch : p->scratch;
    j->tasks = df_max(df_min(df_min(j->items, MAX_TASKS), MAX_SCRATCH / p->scratch), 1);
    return true;
}

static int64_t workspace(const df_call *call)
{
    job j;
    if (call->in[0]->size <= 0) return 0;
    if (!describe(call, &j)) return -1;
    const df_fourier_plan *p = &j.plan;
    if (!divides_columns(p)) return p->table_bytes + j.tasks * p->scratch;
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

static df_status run_fft(const df_call *call, df_error *err)
{
    const df_tensor *x = call->in[0];
    job j;
    if (x->size == 0) return DF_OK;
    if (!describe(call, &j))
        return df_fail(err, DF_OVERFLOW, "%s: shape %s, expected at most 2^40 points",
                       call->op->name, df_shape_text(x->ndim, x->shape).text);
    df_fourier_plan *p = &j.plan;
    df_fourier_tables(p, call->workspace);
    j.scratch = (char *)call->workspace + p->table_bytes;
    j.x = x->data;
    j.y = call->out[0]->data;
    j.kernels = &kernels_of[x->dtype];
    if (p->chirp) j.kernels->transform_filter(p, j.scratch);
    if (!divides_columns(p)) {
        run_items(&j, j.items, (double)(x->size / j.items));
        return DF_OK;
    }
    const int64_t bytes = p->n * df_dtypes[x->dtype].bytes;
    j.middle = j.scratch;
    j.scratch += df_fourier_middle(p);
    for (int64_t k = 0; k < j.outer; k++) {
        for (j.part = FIRST; j.part <= SECOND; j.part++) {
            const int64_t blocks = df_ceil_div(p->step[j.part == FIRST].n,
                                               p->step[j.part == SECOND].width);
            j.tasks = MAX_TASKS;
            run_items(&j, blocks, (double)(p->n / blocks));
        }
        j.x = (const char *)j.x + bytes;
        j.y = (char *)j.y + bytes;
    }
    return DF_OK;
}

static double flops(const df_call *call)
{
    const df_tensor *x = call->in[0];
    int axis = 0;
    df_error never;
    df_normalize_axis(call->attrs[AXIS].i, x->ndim, call->op->name, &axis, &never);
    return x->size <= 0 ? 0 : 5 * (double)x->size * log2((double)x->shape[axis]);
}

/* y[k] = sum of x[j] exp(-2 pi i j k / n), or of x[j] exp(2 pi i j k / n) if inverse. */
DF_OP(fft) = {.name = "fft", .kind = DF_GENERAL, .n_in = 1, .n_out = 1, .n_attrs = 3,
              .attrs = {{"axis", DF_ATTR_INT, .open = true}, {"inverse", DF_ATTR_BOOL},
                        {"norm", DF_ATTR_INT}},
              .infer = infer, .workspace = workspace, .run = run_fft, .flops = flops};
