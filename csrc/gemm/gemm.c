/* Blocking, packing and the split over threads of a matrix product; the arithmetic is in
 * gemm_formulas.h, products with a vector in gemv.c.
 *
 * C is cut into column panels as wide as the kernel and row blocks as tall as it, and jobs for the
 * thread pool are tiles of some row blocks x some panels. A job takes at most `depth` of k at a
 * time (a block of C is then one sum in registers, added to C). Rows of a panel of B lie far apart:
 * the first row block of a job leaves a dense copy of what it loads for the blocks after it, which
 * costs hardly more than reading. So nothing is packed ahead but a transposed A, and no thread
 * waits for another between. Neither copies nor jobs change the order of a sum. */
#include "simd/lanes.h"
#include "base/thread.h"
#include "gemm/gemm.h"
#include "gemm/gemv.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

/* Registers for C, B and one element of A: 8 x 3 of 32, 4 x 3 of 16. */
#if defined(__AVX512F__) || defined(__aarch64__)
#define ROWS 8
#else
#define ROWS 4
#endif
#define COLS 3

/* Is load_n one instruction? Else a partial column panel of B is packed and padded with zeros. */
#if defined(__AVX512BW__)
#define LOAD_N_IS_FAST 1
#else
#define LOAD_N_IS_FAST 0
#endif

#define UNROLL _Pragma("GCC unroll 8")
#define AHEAD 8 /* rows of B fetched ahead where they are copied */

#define DEPTH_BYTES 2048   /* of k at a time: a panel of B is then at most 96 KB (L2) */
#define SHALLOW_BYTES 1024 /* the same for products of few rows: 48 KB (L1) */
#define FEW_ROWS 128       /* of such, a job does all of k; else A's tiles would leave L2 */
#define COPY_BYTES 65536   /* B is copied where its panels are spread over more than that */
#define COPY_ROWS (4 * ROWS)
#define ROW_GROUP 2048     /* rows whose packed copy exists at a time */
#define JOB_ROWS 384       /* with DEPTH_BYTES: 768 KB of A (L2) */
#define JOB_PANELS 8
#define JOBS_PER_THREAD 16 /* enough to balance: cut into fewer panels until there are so many, */
#define LEAST_PER_THREAD 3 /* into fewer rows only until there are these */
#define SMALL_JOB 1e6      /* multiply-adds: not worth cutting further */
#define MAX_SLOTS 32       /* jobs that can have a copy of B at a time */
#define BATCH_BLOCKS 16   /* workspaces when products of a batch run in parallel */
#define SMALL_NS 2500     /* a product estimated below it runs in one piece: too short to share */
#define LARGE_PRODUCT 3e7 /* multiply-adds: parallel inside each product rather than over a batch */

/* One column panel of C over all rows of a job. Element (i, p) of op(A) is at
 * a[i / ROWS * a_block + i % ROWS * a_row + p * a_col], (p, j) of op(B) at b[p * b_row + j]. */
typedef struct {
    int64_t rows, cols, k;
    const void *a, *b;
    void *c;
    int64_t a_block, a_row, a_col, b_row, c_row;
    bool accumulate;
    void *copy; /* room for the panel of B in whole vectors, to copy it and go on there; or NULL */
} gemm_panel;

#define DTYPE f32
#include "gemm/gemm_formulas.h"
#undef DTYPE
#define DTYPE f64
#include "gemm/gemm_formulas.h"
#undef DTYPE
#define DTYPE i32
#include "gemm/gemm_formulas.h"
#undef DTYPE
#define DTYPE i64
#include "gemm/gemm_formulas.h"
#undef DTYPE

typedef struct {
    void (*panel)(const gemm_panel *panel);
    void (*pack)(void *packed, int64_t width, const void *source, int64_t n, int64_t step,
                 int64_t depth, int64_t depth_step);
    int bytes;
} gemm_kernel;

static const gemm_kernel KERNELS[DF_N_DTYPES] = {
    [DF_F32] = {panel_f32, pack_f32, 4},
    [DF_F64] = {panel_f64, pack_f64, 8},
    [DF_I32] = {panel_i32, pack_i32, 4},
    [DF_I64] = {panel_i64, pack_i64, 8},
};

bool DF_SYM(df_gemm_has)(df_dtype dtype) { return KERNELS[dtype].panel != NULL; }

/* How one product is cut, and the pieces being worked on. */
typedef struct {
    const df_gemm *g;
    const gemm_kernel *kernel;
    const char *a, *b;
    char *c;
    int64_t bytes, lanes; /* of an element; elements of a vector */
    int64_t n_panels; /* column panels, each COLS vectors wide except the last one or two */
    int64_t last;     /* column where the last panel starts */
    int64_t depth;    /* of k at a time */
    bool packs_a, copies_b;
    int64_t packs_from; /* panels of B from this on are packed, by each job; n_panels: none */
    int64_t packed_a_bytes, slot_bytes, n_slots;
    char *packed_a, *slots;
    _Atomic uint64_t *free_slots; /* a bit for each */
    double mac_ns; /* estimated time of one multiply-add */
    int64_t batch_row; /* row of the batch where C starts */
    int64_t row0, rows, k0, k; /* worked on: all of it, or what of A is packed */
    int64_t job_rows, job_panels;
} product;

static int64_t panel_start(const product *t, int64_t panel)
{
    if (panel == t->n_panels)
        return t->g->n;
    return panel == t->n_panels - 1 ? t->last : panel * COLS * t->lanes;
}

/* Vectors that hold n elements. */
static int64_t n_vectors(const product *t, int64_t n)
{
    return df_ceil_div(n * t->bytes, DF_VEC_BYTES);
}

/* Columns panel by panel: a remainder of COLS + 1 vectors becomes two panels of about equal width,
 * since a panel of one vector runs at half speed. */
static void cut_columns(product *t)
{
    int64_t vectors = n_vectors(t, t->g->n);
    t->n_panels = df_ceil_div(vectors, COLS);
    bool lonely = vectors > COLS && vectors % COLS == 1;
    t->last = ((t->n_panels - 1) * COLS - (lonely ? COLS / 2 : 0)) * t->lanes;
}

/* A transposed B must be packed, as must a partial vector if slow to load. A transposed A is packed
 * where many panels read it. */
static void choose_packing(product *t)
{
    const df_gemm *g = t->g;
    t->packs_a = g->transpose_a && g->n >= 256 && g->m > ROWS;
    t->packs_from = t->n_panels;
    if (g->transpose_b)
        t->packs_from = 0;
    else if (!LOAD_N_IS_FAST && g->n * t->bytes % DF_VEC_BYTES != 0)
        t->packs_from = t->n_panels - 1;
    t->copies_b = !g->transpose_b && t->n_panels > 1 && g->m >= COPY_ROWS &&
                  g->k * g->ldb * t->bytes > COPY_BYTES;
}

static void plan(product *t, const df_gemm *g)
{
    *t = (product){.g = g, .kernel = &KERNELS[g->dtype]};
    t->bytes = t->kernel->bytes;
    t->lanes = t->bytes == 4 ? DF_VEC_BYTES / 4 : DF_VEC_BYTES / 8;
    t->mac_ns = 0.125 / DF_VEC_BYTES * (double)t->bytes;
    cut_columns(t);
    choose_packing(t);
    const int64_t limit = g->m <= FEW_ROWS ? SHALLOW_BYTES : DEPTH_BYTES;
    t->depth = g->k;
    if (g->k * t->bytes > limit)
        t->depth = df_ceil_div(g->k, df_ceil_div(g->k * t->bytes, limit));
    if (t->packs_a)
        t->packed_a_bytes = df_min(df_ceil_div(g->m, ROWS) * ROWS, ROW_GROUP) * t->depth * t->bytes;
    t->packed_a_bytes = df_ceil_div(t->packed_a_bytes, DF_ALIGNMENT) * DF_ALIGNMENT;
    if (t->copies_b || t->packs_from < t->n_panels) {
        t->slot_bytes = df_min(COLS, n_vectors(t, g->n)) * DF_VEC_BYTES * t->depth;
        t->slot_bytes = df_ceil_div(t->slot_bytes, DF_ALIGNMENT) * DF_ALIGNMENT;
        t->n_slots = df_min(t->n_panels * df_ceil_div(g->m, ROWS), MAX_SLOTS);
    }
}

static int64_t workspace_bytes(const product *t)
{
    return t->packed_a_bytes + t->n_slots * t->slot_bytes;
}

static void pack_a_task(void *context, int64_t begin, int64_t end)
{
    const product *t = context;
    const df_gemm *g = t->g;
    for (int64_t block = begin; block < end; block++) {
        const int64_t row = t->row0 + block * ROWS;
        t->kernel->pack(t->packed_a + block * ROWS * t->k * t->bytes, ROWS,
                        t->a + (row + t->k0 * g->lda) * t->bytes, df_min(ROWS, g->m - row), 1, t->k,
                        g->lda);
    }
}

static void pack_a(product *t)
{
    df_parallel_for(df_ceil_div(t->rows, ROWS), 4, 0.2 * ROWS * (double)t->k, pack_a_task, t);
}

/* A tile of C, and the slot for a panel of B at a time. */
typedef struct {
    int64_t row, rows, panel, panel_end;
    char *slot;
} tile;

/* Where a panel of B is read: in place, to be copied, or packed now. */
static void place_b(const product *t, const tile *job, int64_t panel, int64_t k0, gemm_panel *p)
{
    const df_gemm *g = t->g;
    const int64_t col = panel_start(t, panel);
    const int64_t step = g->transpose_b ? g->ldb : 1, depth_step = g->transpose_b ? 1 : g->ldb;
    const char *from = t->b + (col * step + k0 * depth_step) * t->bytes;
    if (panel < t->packs_from) {
        p->b = from;
        p->b_row = g->ldb;
        p->copy = t->copies_b && job->rows >= COPY_ROWS ? job->slot : NULL;
        return;
    }
    p->b = job->slot;
    p->b_row = n_vectors(t, p->cols) * t->lanes;
    t->kernel->pack(job->slot, p->b_row, from, p->cols, step, p->k, depth_step);
}

static void run_panel(const product *t, const tile *job, int64_t panel, int64_t k0)
{
    const df_gemm *g = t->g;
    const int64_t col = panel_start(t, panel);
    gemm_panel p = {.rows = job->rows, .cols = panel_start(t, panel + 1) - col, .c_row = g->ldc};
    p.k = df_min(t->depth, t->k0 + t->k - k0);
    p.accumulate = g->accumulate || k0 > 0;
    p.c = t->c + (job->row * g->ldc + col) * t->bytes;
    if (t->packs_a) {
        p.a = t->packed_a + (job->row - t->row0) * t->k * t->bytes;
        p.a_row = 1;
        p.a_col = ROWS;
        p.a_block = ROWS * t->k;
    } else {
        p.a_row = g->transpose_a ? 1 : g->lda;
        p.a_col = g->transpose_a ? g->lda : 1;
        p.a_block = ROWS * p.a_row;
        p.a = t->a + (job->row * p.a_row + k0 * p.a_col) * t->bytes;
    }
    place_b(t, job, panel, k0, &p);
    t->kernel->panel(&p);
}

static void run_tile(const product *t, const tile *job)
{
    const df_gemm *g = t->g;
    for (int64_t panel = job->panel; panel < job->panel_end; panel++)
        for (int64_t k0 = t->k0; k0 < t->k0 + t->k; k0 += t->depth) run_panel(t, job, panel, k0);
    if (!g->epilogue || t->k0 + t->k < g->k)
        return;
    const int64_t col = panel_start(t, job->panel);
    g->epilogue(g->context, t->batch_row + job->row, job->rows, col,
                panel_start(t, job->panel_end) - col,
                t->c + (job->row * g->ldc + col) * t->bytes, g->ldc);
}

/* The lowest free slot, so that memory in use stays small; more threads than slots take turns. */
static int take_slot(const product *t)
{
    uint64_t free = atomic_load_explicit(t->free_slots, memory_order_relaxed);
    for (;;) {
        if (!free) {
            sched_yield();
            free = atomic_load_explicit(t->free_slots, memory_order_relaxed);
        } else if (atomic_compare_exchange_weak_explicit(t->free_slots, &free, free & (free - 1),
                                                         memory_order_acquire,
                                                         memory_order_relaxed)) {
            return __builtin_ctzll(free);
        }
    }
}

static void give_slot(const product *t, int slot)
{
    atomic_fetch_or_explicit(t->free_slots, UINT64_C(1) << slot, memory_order_release);
}

/* Job number j is column tile j % column_tiles of row tile j / column_tiles: neighbours share A. */
static void job_task(void *context, int64_t begin, int64_t end)
{
    const product *t = context;
    const int64_t column_tiles = df_ceil_div(t->n_panels, t->job_panels);
    const int slot = t->n_slots ? take_slot(t) : 0;
    for (int64_t j = begin; j < end; j++) {
        tile job = {.row = t->row0 + j / column_tiles * t->job_rows,
                    .panel = j % column_tiles * t->job_panels,
                    .slot = t->slots + slot * t->slot_bytes};
        job.rows = df_min(t->job_rows, t->row0 + t->rows - job.row);
        job.panel_end = df_min(job.panel + t->job_panels, t->n_panels);
        run_tile(t, &job);
    }
    if (t->n_slots)
        give_slot(t, slot);
}

static int64_t n_jobs(const product *t)
{
    return df_ceil_div(t->rows, t->job_rows) * df_ceil_div(t->n_panels, t->job_panels);
}

static double job_macs(const product *t)
{
    return (double)(t->job_rows * t->job_panels * COLS * t->lanes) * (double)t->k;
}

/* Rows of equal tiles of at most `most` rows. */
static int64_t even_rows(const product *t, int64_t most)
{
    const int64_t blocks = df_ceil_div(t->rows, ROWS), tiles = df_ceil_div(blocks * ROWS, most);
    return df_ceil_div(blocks, tiles) * ROWS;
}

/* Tiles as large as the caches like, cut until there are enough of them for the threads: into
 * fewer panels first, because each row tile copies B anew. */
static void cut_jobs(product *t)
{
    const int threads = df_num_threads();
    t->job_rows = even_rows(t, JOB_ROWS);
    t->job_panels = df_min(t->n_panels, JOB_PANELS);
    while (threads > 1 && job_macs(t) > SMALL_JOB) {
        if (t->job_panels > 1 && n_jobs(t) < threads * JOBS_PER_THREAD)
            t->job_panels = df_ceil_div(t->job_panels, 2);
        else if (t->job_rows > ROWS && n_jobs(t) < threads * LEAST_PER_THREAD)
            t->job_rows = even_rows(t, df_ceil_div(t->job_rows / ROWS, 2) * ROWS);
        else
            break;
    }
}

static void compute(product *t)
{
    cut_jobs(t);
    df_parallel_for(n_jobs(t), 1, job_macs(t) * t->mac_ns, job_task, t);
}

static void place_workspace(product *t, void *workspace, _Atomic uint64_t *free_slots)
{
    t->packed_a = workspace;
    t->slots = t->packed_a + t->packed_a_bytes;
    t->free_slots = free_slots;
}

/* One product that is not left to gemv, k > 0. */
static void multiply(product *t, void *workspace)
{
    _Atomic uint64_t free_slots = (UINT64_C(1) << t->n_slots) - 1;
    place_workspace(t, workspace, &free_slots);
    const int64_t k_step = t->packs_a || t->g->m > FEW_ROWS ? t->depth : t->g->k;
    const int64_t row_step = t->packs_a ? ROW_GROUP : t->g->m;
    for (t->k0 = 0; t->k0 < t->g->k; t->k0 += k_step) {
        t->k = df_min(k_step, t->g->k - t->k0);
        for (t->row0 = 0; t->row0 < t->g->m; t->row0 += row_step) {
            t->rows = df_min(row_step, t->g->m - t->row0);
            if (t->packs_a)
                pack_a(t);
            compute(t);
        }
    }
}

/* The same for a product that is_small: one tile on this thread, nothing to cut. */
static void multiply_small(product *t, void *workspace)
{
    place_workspace(t, workspace, NULL);
    t->rows = t->g->m;
    t->k = t->g->k;
    if (t->packs_a)
        pack_a_task(t, 0, df_ceil_div(t->rows, ROWS));
    const tile all = {.rows = t->rows, .panel_end = t->n_panels, .slot = t->slots};
    run_tile(t, &all);
}

/* Products of a batch; blocks of `grain` of them share a workspace of `bytes`. */
struct df_gemm_plan {
    df_gemm g;
    int64_t n, grain, bytes;
    double cost;      /* estimated ns of a product */
    bool in_parallel; /* over the batch, each product on one thread */
    bool is_vector, is_small;
    product one; /* of each product not left to gemv; its pointers are unset */
    int64_t dims[]; /* of g's batch, where the plan owns them */
};

static int64_t batch_size(const df_gemm *g)
{
    int64_t n = 1;
    for (int d = 0; d < g->batch_ndim; d++) n *= g->batch_shape[d];
    return n;
}

static void plan_batch(const df_gemm *g, df_gemm_plan *p)
{
    *p = (df_gemm_plan){.g = *g, .n = batch_size(g), .grain = 1};
    if (p->n == 0 || g->m == 0 || g->n == 0 || g->k == 0)
        return;
    const double macs = (double)g->m * (double)g->n * (double)g->k;
    p->cost = macs * 0.125 / DF_VEC_BYTES * KERNELS[g->dtype].bytes + 50;
    p->in_parallel = p->n > 1 && macs < LARGE_PRODUCT;
    p->grain = p->in_parallel ? df_ceil_div(p->n, BATCH_BLOCKS) : p->n;
    p->is_vector = df_gemv_applies(g);
    if (p->is_vector) {
        p->bytes = DF_SYM(df_gemv_workspace)(g);
        return;
    }
    plan(&p->one, g);
    p->is_small = p->cost < SMALL_NS &&
                  (!p->one.packs_a || (g->m <= ROW_GROUP && p->one.depth == g->k));
    if (p->is_small || p->in_parallel)
        p->one.n_slots = df_min(p->one.n_slots, 1); /* of one thread */
    p->bytes = workspace_bytes(&p->one);
}

df_gemm_plan *DF_SYM(df_gemm_plan_new)(const df_gemm *g)
{
    const size_t ndim = (size_t)g->batch_ndim, bytes = ndim * sizeof(int64_t);
    df_gemm_plan *p = malloc(sizeof *p + 3 * bytes);
    if (!p)
        return NULL;
    plan_batch(g, p);
    if (ndim) {
        memcpy(p->dims, g->batch_shape, bytes);
        memcpy(p->dims + ndim, g->a_strides, bytes);
        memcpy(p->dims + 2 * ndim, g->b_strides, bytes);
    }
    p->g.batch_shape = p->dims;
    p->g.a_strides = p->dims + ndim;
    p->g.b_strides = p->dims + 2 * ndim;
    return p;
}

/* One run of a plan. */
typedef struct {
    const df_gemm_plan *plan;
    const df_gemm_data *data;
    char *workspace;
} batch_run;

static void batch_task(void *context, int64_t begin, int64_t end)
{
    const batch_run *run = context;
    const df_gemm_plan *plan = run->plan;
    const int64_t bytes = KERNELS[plan->g.dtype].bytes;
    char *workspace = run->workspace + begin / plan->grain * plan->bytes;
    df_gemm one = plan->g;
    one.context = run->data->context;
    for (int64_t i = begin; i < end; i++) {
        int64_t a = 0, c = i * one.m * one.ldc, rest = i, w = 0;
        for (int d = one.batch_ndim - 1; d >= 0; d--) {
            int64_t at = rest % one.batch_shape[d];
            rest /= one.batch_shape[d];
            a += at * one.a_strides[d];
            w += at * one.b_strides[d];
        }
        one.a = (const char *)run->data->a + a * bytes;
        one.b = (const char *)run->data->b + w * bytes;
        one.c = (char *)run->data->c + c * bytes;
        if (plan->is_vector) {
            DF_SYM(df_gemv)(&one, i * one.m, workspace);
            continue;
        }
        product t = plan->one;
        t.g = &one;
        t.a = one.a;
        t.b = one.b;
        t.c = one.c;
        t.batch_row = i * one.m;
        if (plan->is_small)
            multiply_small(&t, workspace);
        else
            multiply(&t, workspace);
    }
}

/* A product with k = 0: rows [begin, end) of the batch. */
static void empty_sum_task(void *context, int64_t begin, int64_t end)
{
    const batch_run *run = context;
    const df_gemm *g = &run->plan->g;
    char *c = run->data->c;
    const int64_t bytes = KERNELS[g->dtype].bytes;
    if (!g->accumulate)
        for (int64_t i = begin; i < end; i++)
            memset(c + i * g->ldc * bytes, 0, (size_t)(g->n * bytes));
    if (g->epilogue)
        g->epilogue(run->data->context, begin, end - begin, 0, g->n, c + begin * g->ldc * bytes,
                    g->ldc);
}

int64_t DF_SYM(df_gemm_plan_workspace)(const df_gemm_plan *plan)
{
    return df_ceil_div(plan->n, plan->grain) * plan->bytes;
}

void DF_SYM(df_gemm_run)(const df_gemm_plan *plan, const df_gemm_data *data, void *workspace)
{
    const df_gemm *g = &plan->g;
    batch_run run = {.plan = plan, .data = data, .workspace = workspace};
    if (plan->n == 0 || g->m == 0 || g->n == 0)
        return;
    if (g->k == 0)
        df_parallel_for(plan->n * g->m, df_max(1, 16384 / g->n), 0.2 * (double)g->n,
                        empty_sum_task, &run);
    else if (plan->in_parallel)
        df_parallel_for(plan->n, plan->grain, plan->cost, batch_task, &run);
    else
        batch_task(&run, 0, plan->n);
}

int64_t DF_SYM(df_gemm_workspace)(const df_gemm *g)
{
    df_gemm_plan plan;
    plan_batch(g, &plan);
    return DF_SYM(df_gemm_plan_workspace)(&plan);
}

void DF_SYM(df_gemm)(const df_gemm *g, void *workspace)
{
    df_gemm_plan plan;
    plan_batch(g, &plan);
    const df_gemm_data data = {.a = g->a, .b = g->b, .c = g->c, .context = g->context};
    DF_SYM(df_gemm_run)(&plan, &data, workspace);
}
