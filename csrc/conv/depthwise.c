/* Depthwise convolutions: the sources and taps of each result; the arithmetic is in
 * depthwise_formulas.h.
 *
 * An output of a convolution and an element of its input gradient are the same kind of sum: over
 * evenly spaced taps, weights times evenly spaced sources. One kernel computes both, a run of
 * consecutive results with the same taps at a time. The gradient of the weights iterates over the
 * runs of the forward convolution.
 *
 * A channel with several outputs is repeated that many times for the kernels. */
#include "conv/depthwise.h"

#include <math.h>

#include "base/thread.h"
#include "conv/image.h"
#include "conv/tap_runs.h"
#include "simd/vmath.h"

/* Sums kept in registers: half of the registers of the SIMD level. */
#if defined(__AVX512F__) || defined(__aarch64__)
#define SUMS 16
#else
#define SUMS 8
#endif

#define VECTORS 16               /* vectors of channels at a time: sums of their weights fit L1 */
#define TASK_NS 2000
#define ROWS_BYTES (256 << 10)   /* sources and results in use at a time (L2) */
#define WEIGHTS_BYTES (32 << 10) /* weights of all taps that are read from L1 anyway */
#define L1_BYTES (40 << 10)      /* otherwise weights, sources and results in use at a time */
#define GROUPS 32                /* groups of runs with separate sums of weights */
#define GROUP_RUNS 16            /* runs per group, at least */
#define MAC_NS_PER_BYTE 0.01     /* estimate */
#define COPIED 16384             /* elements copied per task */

/* One run as the kernels see it. Distances in elements; counts and steps of taps are along planes,
 * rows and columns. */
typedef struct {
    const void *x;
    void *w, *y;
    int64_t n[3], x_step[3], w_step[3];
    int64_t count, x_next, y_next; /* results, and distances to the next one */
    int64_t channels;
    bool shared;         /* the sources of the next result are the same, shifted by one tap */
    int64_t left, right; /* number of first taps that the first result lacks, one less for each
                          * result after it; of last taps that the last result lacks */
    const void *bias;        /* added to the results first, or NULL */
    bool clamp;              /* then results are limited to [0, most] */
    float most;
    const df_finish *finish; /* further steps on the results, or NULL */
    int64_t at, column;      /* of the first result, for the steps */
} window;

#define DTYPE f32
#define FINISHES
#define UNROLL _Pragma("GCC unroll 16")
#include "conv/finish.h"
#include "conv/depthwise_formulas.h"
#undef FINISHES
#undef DTYPE
#if DF_BUILT_F64
#define DTYPE f64
#include "conv/depthwise_formulas.h"
#undef DTYPE
#endif
#undef UNROLL

typedef struct {
    void (*results)(const window *g);
    void (*weights)(const window *g);
    void (*spread)(void *to, const void *from, int64_t n, int64_t times);
    void (*gather)(void *to, const void *from, int64_t n, int64_t times);
    void (*add_up)(void *to, const void *from, int64_t n_sums, int64_t n, int64_t begin,
                   int64_t end);
} kernels;

static const kernels KERNELS[DF_N_DTYPES] = {
    [DF_F32] = {run_results_f32, run_weights_f32, spread_f32, gather_f32, add_up_f32},
    DF_OF_ALL(F64, {run_results_f64, run_weights_f64, spread_f64, gather_f64, add_up_f64}),
};

/* One pass over the results: elements of the gradient of x if `backward`, otherwise of y. */
typedef struct {
    const df_conv *c;
    const kernels *kernels;
    bool backward, of_weights;
    int64_t bytes, channels, times; /* bytes of an element; channels of y; outputs per channel of
                                     * x */
    const int64_t *from, *to;       /* sizes of sources and of results */
    const char *x, *w;
    char *y;
    int64_t x_step[3], w_step[3], x_next, y_next;
    df_tap_run *runs; /* along columns */
    int64_t n_runs, n_items; /* runs of a row; runs of all rows */
    df_product_epilogue epilogue;
    const char *bias; /* steps of the epilogue, see window */
    bool clamp;
    float most;
    df_finish finish;
    int64_t n_groups, n_weights;
    char *sums;
} pass;

static df_tap_sweep sweep_of(const pass *p, int d, int64_t result)
{
    return p->backward ? DF_SYM(df_input_sweep)(p->c, d, result % p->c->stride[d])
                       : DF_SYM(df_forward_sweep)(p->c, d);
}

static df_tap_run run_of(const pass *p, int d, int64_t result)
{
    const df_tap_sweep s = sweep_of(p, d, result);
    return DF_SYM(df_tap_run_at)(&s, result / s.step);
}

static int64_t n_sweeps(const pass *p)
{
    return p->backward ? df_min(p->c->stride[2], p->to[2]) : 1;
}

/* Bytes for the runs of all sweeps. In each sweep the first and the last tap change at most once
 * per tap. */
static int64_t runs_bytes(const pass *p)
{
    const df_tap_sweep s = sweep_of(p, 2, 0);
    const int64_t step = s.tap_step > 0 ? s.tap_step : -s.tap_step;
    const int64_t n_taps = (p->c->kernel[2] - 1) / step + 1, n = n_sweeps(p);
    int64_t runs = p->to[2], changes;
    if (df_mul_size(n, 2 * n_taps + 4, &changes))
        runs = df_min(runs, runs / DF_LONGEST_RUN + changes);
    return df_conv_align(df_conv_mul_bytes(runs, sizeof(df_tap_run)));
}

static pass plan(const df_conv *c, bool backward)
{
    pass p = {.c = c, .kernels = &KERNELS[c->dtype], .backward = backward,
              .bytes = df_conv_bytes(c), .channels = c->c_out, .times = c->c_out / c->c_in,
              .from = backward ? c->out : c->in, .to = backward ? c->in : c->out};
    int64_t x_size = p.channels, w_size = p.channels;
    for (int d = 2; d >= 0; d--) {
        const df_tap_sweep s = sweep_of(&p, d, 0);
        /* A longer step leads outside the image: no run has two taps, or results, along d. */
        p.x_step[d] = s.tap_next < p.from[d] ? s.tap_next * x_size : 0;
        p.w_step[d] = s.tap_step * w_size;
        if (d == 2) p.x_next = s.next < p.from[d] ? s.next * x_size : 0;
        if (d == 2) p.y_next = s.step * x_size;
        x_size *= p.from[d];
        w_size *= c->kernel[d];
    }
    p.n_weights = w_size;
    return p;
}

static void start(pass *p, void *workspace)
{
    p->runs = workspace;
    p->n_runs = 0;
    for (int64_t i = 0; i < n_sweeps(p); i++) {
        const df_tap_sweep s = sweep_of(p, 2, i);
        df_tap_run *runs = p->runs + p->n_runs;
        const bool five = s.n_taps == 5 && p->c->dtype == DF_F32 && !p->of_weights;
        p->n_runs += DF_SYM(df_join_edges)(&s, runs, DF_SYM(df_find_runs)(&s, runs), five ? 5 : 3);
    }
    p->n_items = p->c->n * p->to[0] * p->to[1] * p->n_runs;
}

/* Processes runs [begin, end) of all rows, for channels [at, at + n). */
static void process_channels(const pass *p, int64_t begin, int64_t end, int64_t at, int64_t n,
                             void (*kernel)(const window *g), char *w)
{
    const int64_t *from = p->from, *to = p->to, *taps = p->c->kernel;
    const int64_t pixel = p->channels * p->bytes;
    const char *sources = p->x + at * p->bytes;
    char *weights = w + at * p->bytes;
    window g = {.x_next = p->x_next, .y_next = p->y_next, .channels = n,
                .shared = p->x_next == p->x_step[2]};
    g.bias = p->bias ? p->bias + at * p->bytes : NULL;
    g.clamp = p->clamp;
    g.most = p->most;
    g.finish = p->finish.n ? &p->finish : NULL;
    g.column = at;
    memcpy(g.x_step, p->x_step, sizeof g.x_step);
    memcpy(g.w_step, p->w_step, sizeof g.w_step);
    while (begin < end) {
        const int64_t line = begin / p->n_runs, first = begin % p->n_runs;
        const int64_t plane = line / to[1], image = plane / to[0];
        const df_tap_run z = run_of(p, 0, plane % to[0]), h = run_of(p, 1, line % to[1]);
        const int64_t x = ((image * from[0] + z.source) * from[1] + h.source) * from[2];
        const int64_t stop = df_min(p->n_runs, first + end - begin);
        begin += stop - first;
        for (const df_tap_run *r = p->runs + first; r < p->runs + stop; r++) {
            g.x = sources + (x + r->source) * pixel;
            g.w = weights + ((z.tap * taps[1] + h.tap) * taps[2] + r->tap) * pixel;
            g.at = (line * to[2] + r->result) * p->channels + at;
            g.y = p->y + g.at * p->bytes;
            g.n[0] = z.n_taps;
            g.n[1] = h.n_taps;
            g.n[2] = r->n_taps;
            g.count = r->count;
            g.left = r->left;
            g.right = r->right;
            kernel(&g);
        }
    }
}

/* Processes runs [begin, end) of all rows, for all channels, in groups of channels small enough
 * that the rows that the next row reads again stay in L2. If there are more taps than pixels in a
 * row, weights are most of the memory that is read: then they stay in L1. */
static void process_runs(const pass *p, int64_t begin, int64_t end,
                         void (*kernel)(const window *g), char *w)
{
    const int64_t lanes = DF_VEC_BYTES / p->bytes;
    const int64_t row = df_max(p->from[2], p->to[2]) * (p->c->kernel[1] + 1) * DF_VEC_BYTES;
    const int64_t taps = p->n_weights / p->channels, weights = taps * DF_VEC_BYTES;
    int64_t n = df_max(ROWS_BYTES / row / 4, 1) * 4 * lanes;
    if (taps > p->from[2] && df_min(n, p->channels) / lanes * weights > WEIGHTS_BYTES)
        n = df_max(L1_BYTES / (row + weights) / 4, 1) * 4 * lanes;
    for (int64_t at = 0; at < p->channels; at += n)
        process_channels(p, begin, end, at, df_min(n, p->channels - at), kernel, w);
}

/* Estimated ns of a run. */
static double run_cost(const pass *p)
{
    const double macs = (double)p->to[2] * (double)p->n_weights / (double)df_max(p->n_runs, 1);
    return macs * (double)p->bytes * MAC_NS_PER_BYTE + 20;
}

static int64_t runs_per_task(const pass *p)
{
    return (int64_t)(TASK_NS / run_cost(p)) + 1;
}

static void results_task(void *context, int64_t begin, int64_t end)
{
    const pass *p = context;
    process_runs(p, begin, end, p->kernels->results, (char *)p->w);
    if (!p->epilogue.piece || p->epilogue.finish) return;
    const df_tap_run *last = &p->runs[(end - 1) % p->n_runs];
    const int64_t first = begin / p->n_runs * p->to[2] + p->runs[begin % p->n_runs].result;
    const int64_t stop = (end - 1) / p->n_runs * p->to[2] + last->result + last->count;
    p->epilogue.piece(p->epilogue.context, first, stop - first, 0, p->channels,
                      p->y + first * p->channels * p->bytes, p->channels);
}

/* Separates a bias, ReLU and ReLU6, which are applied before results are stored, from the further
 * steps, which are applied to runs. */
static void split_finish(pass *p)
{
    const df_finish *f = p->epilogue.finish;
    if (!f) return;
    const df_finish_step *s = f->steps, *end = s + f->n;
    if (s < end && s->kind == DF_FINISH_ADD && s->operand == DF_FINISH_PER_COLUMN)
        p->bias = (s++)->data;
    if (s < end && (s->kind == DF_FINISH_RELU || s->kind == DF_FINISH_RELU6)) {
        p->clamp = true;
        p->most = (s++)->kind == DF_FINISH_RELU6 ? 6 : INFINITY;
    }
    for (; s < end; s++) p->finish.steps[p->finish.n++] = *s;
}

/* --- several outputs per channel --- */

typedef struct {
    void (*copy)(void *to, const void *from, int64_t n, int64_t times);
    char *to;
    const char *from;
    int64_t to_bytes, from_bytes, times; /* per channel */
} copy;

static void copy_task(void *context, int64_t begin, int64_t end)
{
    const copy *j = context;
    j->copy(j->to + begin * j->to_bytes, j->from + begin * j->from_bytes, end - begin, j->times);
}

static void copy_channels(const pass *p, bool together, void *to, const void *from)
{
    const df_conv *c = p->c;
    const int64_t n = c->n * c->in[0] * c->in[1] * c->in[2] * c->c_in;
    copy j = {.to = to, .from = from, .times = p->times};
    j.copy = together ? p->kernels->gather : p->kernels->spread;
    j.to_bytes = together ? p->bytes : p->bytes * p->times;
    j.from_bytes = together ? p->bytes * p->times : p->bytes;
    df_parallel_for(n, df_ceil_div(COPIED, p->times), 0.5 * (double)p->times, copy_task, &j);
}

/* Bytes of x with its channels repeated; 0 if they are not repeated. */
static int64_t spread_bytes(const pass *p)
{
    const df_conv *c = p->c;
    int64_t bytes = p->bytes;
    if (p->times == 1) return 0;
    const int64_t sizes[] = {c->n, c->in[0], c->in[1], c->in[2], c->c_out};
    for (int i = 0; i < 5; i++) bytes = df_conv_mul_bytes(bytes, sizes[i]);
    return df_conv_align(bytes);
}

/* --- the three passes --- */

int64_t DF_SYM(df_depthwise_forward_workspace)(const df_conv *c)
{
    const pass p = plan(c, false);
    return df_conv_sum_bytes(runs_bytes(&p), spread_bytes(&p));
}

void DF_SYM(df_depthwise_forward)(const df_conv *c, const void *x, const void *w, void *y,
                                  df_product_epilogue epilogue, void *workspace)
{
    pass p = plan(c, false);
    start(&p, workspace);
    p.x = x;
    if (p.times > 1) {
        char *spread = (char *)workspace + runs_bytes(&p);
        copy_channels(&p, false, spread, x);
        p.x = spread;
    }
    p.w = w;
    p.y = y;
    p.epilogue = epilogue;
    split_finish(&p);
    df_parallel_for(p.n_items, runs_per_task(&p), run_cost(&p), results_task, &p);
}

int64_t DF_SYM(df_depthwise_input_workspace)(const df_conv *c)
{
    const pass p = plan(c, true);
    return df_conv_sum_bytes(runs_bytes(&p), spread_bytes(&p));
}

void DF_SYM(df_depthwise_input)(const df_conv *c, const void *w, const void *dy, void *dx,
                                void *workspace)
{
    pass p = plan(c, true);
    start(&p, workspace);
    p.x = dy;
    p.w = w;
    p.y = p.times > 1 ? (char *)workspace + runs_bytes(&p) : dx;
    df_parallel_for(p.n_items, runs_per_task(&p), run_cost(&p), results_task, &p);
    if (p.times > 1) copy_channels(&p, true, dx, p.y);
}

static void groups_task(void *context, int64_t begin, int64_t end)
{
    const pass *p = context;
    for (int64_t i = begin; i < end; i++) {
        const int64_t bytes = p->n_weights * p->bytes;
        char *sums = p->sums + i * bytes;
        memset(sums, 0, (size_t)bytes);
        process_runs(p, i * p->n_items / p->n_groups, (i + 1) * p->n_items / p->n_groups,
                     p->kernels->weights, sums);
    }
}

static void add_up_task(void *context, int64_t begin, int64_t end)
{
    const pass *p = context;
    p->kernels->add_up((void *)p->w, p->sums, p->n_groups, p->n_weights, begin, end);
}

int64_t DF_SYM(df_depthwise_filter_workspace)(const df_conv *c)
{
    const pass p = plan(c, false);
    const int64_t sums = df_conv_mul_bytes(GROUPS * p.bytes, p.n_weights);
    return df_conv_sum_bytes(df_conv_sum_bytes(runs_bytes(&p), spread_bytes(&p)),
                             df_conv_align(sums));
}

void DF_SYM(df_depthwise_filter)(const df_conv *c, const void *x, const void *dy, void *dw,
                                 void *workspace)
{
    pass p = plan(c, false);
    char *spread = (char *)workspace + runs_bytes(&p);
    p.of_weights = true;
    start(&p, workspace);
    p.x = x;
    if (p.times > 1) {
        copy_channels(&p, false, spread, x);
        p.x = spread;
    }
    p.w = dw;
    p.y = (char *)dy;
    p.sums = spread + spread_bytes(&p);
    p.n_groups = df_max(1, df_min(GROUPS, p.n_items / GROUP_RUNS));
    df_parallel_for(p.n_groups, 1, run_cost(&p) * (double)p.n_items / (double)p.n_groups,
                    groups_task, &p);
    df_parallel_for(p.n_weights, COPIED / GROUPS, 0.1 * (double)p.n_groups, add_up_task, &p);
}
