/* Blocking, packing and the split over threads of a matrix product; the arithmetic is in
 * gemm_formulas.h, products with a vector in gemv.c.
 *
 * C is cut into column panels as wide as the kernel and row blocks as tall as it. Around them:
 * at most DEPTH of k at a time (a block of C is then one sum in registers, added to C), bounded
 * groups of panels and rows (they bound the packed copies), and jobs for the thread pool, which
 * are tiles of some rows x some panels. How a product is cut depends on its sizes alone. */
#include "simd/lanes.h"
#include "base/thread.h"
#include "gemm/gemm.h"
#include "gemm/gemv.h"

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

#define DEPTH_BYTES 4096  /* of k per pass: a panel of B is then at most 192 KB (L2) */
#define ROW_GROUP 2048    /* rows whose packed copy exists at a time */
#define PANEL_GROUP 42    /* panels of B whose packed copy exists at a time: 2016 floats */
#define JOB_ROWS 96       /* with DEPTH_BYTES: 384 KB of A (L2) */
#define JOB_PANELS 8
#define MANY_JOBS 32      /* enough for any thread count to balance */
#define SMALL_JOB 1e6     /* multiply-adds: not worth cutting further */
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
    int64_t lanes;    /* elements of a vector */
    int64_t n_panels; /* column panels, each COLS vectors wide except the last one or two */
    int64_t last;     /* column where the last panel starts */
    int64_t depth;    /* of k per pass */
    bool packs_a;
    int64_t packs_from; /* panels of B from this on are packed; n_panels: none */
    int64_t packed_a_bytes, packed_b_bytes;
    char *packed_a, *packed_b;
    double mac_ns; /* estimated time of one multiply-add */
    int64_t batch_row; /* row of the batch where C starts */
    /* the pass: */
    int64_t row0, rows, panel0, panels, k0, k;
    int64_t job_rows, job_panels;
} product;

static int64_t panel_start(const product *t, int64_t panel)
{
    if (panel == t->n_panels)
        return t->g->n;
    return panel == t->n_panels - 1 ? t->last : panel * COLS * t->lanes;
}

/* Columns panel by panel: a remainder of COLS + 1 vectors becomes two panels of about equal width,
 * since a panel of one vector runs at half speed. */
static void cut_columns(product *t)
{
    int64_t vectors = df_ceil_div(t->g->n, t->lanes);
    t->n_panels = df_ceil_div(vectors, COLS);
    bool lonely = vectors > COLS && vectors % COLS == 1;
    t->last = ((t->n_panels - 1) * COLS - (lonely ? COLS / 2 : 0)) * t->lanes;
}

/* Bytes of the panels [begin, end) packed to `depth`, each padded to whole vectors. */
static int64_t panels_bytes(const product *t, int64_t begin, int64_t end, int64_t depth)
{
    int64_t columns = df_ceil_div(panel_start(t, end), t->lanes) * t->lanes - panel_start(t, begin);
    return columns * depth * t->kernel->bytes;
}

/* Packing B pays where its rows lie far apart and many row blocks read them: sooner where they lie
 * at multiples of a page, which all fall into few sets of the caches (64 x 1024 x 1024 with AVX2:
 * 72 GFLOP/s unpacked). A transposed B must be packed, as must a partial vector if slow to load. */
static void choose_packing(product *t)
{
    const df_gemm *g = t->g;
    const int64_t page = 4096, bytes = t->kernel->bytes;
    bool a_collides = !g->transpose_a && g->lda * bytes % page == 0;
    t->packs_a = g->n >= 256 && g->m > ROWS && (g->transpose_a || a_collides);
    bool b_collides = g->m >= 16 * ROWS && g->ldb * bytes % page == 0;
    bool b_is_far = g->m >= 512 && g->ldb * bytes >= page;
    if (g->transpose_b || (g->k >= 256 && (b_collides || b_is_far)))
        t->packs_from = 0;
    else
        t->packs_from = t->n_panels - (!LOAD_N_IS_FAST && g->n % t->lanes != 0);
}

static product plan(const df_gemm *g)
{
    product t = {.g = g, .kernel = &KERNELS[g->dtype]};
    const int64_t bytes = t.kernel->bytes;
    t.lanes = DF_VEC_BYTES / bytes;
    t.mac_ns = 0.125 / (double)t.lanes;
    cut_columns(&t);
    int64_t passes = df_ceil_div(g->k * bytes, DEPTH_BYTES);
    t.depth = df_ceil_div(g->k, passes);
    choose_packing(&t);
    if (t.packs_a)
        t.packed_a_bytes = df_min(df_ceil_div(g->m, ROWS) * ROWS, ROW_GROUP) * t.depth * bytes;
    for (int64_t p = t.packs_from; p < t.n_panels; p += PANEL_GROUP) {
        int64_t end = df_min(p + PANEL_GROUP, t.n_panels);
        t.packed_b_bytes = df_max(t.packed_b_bytes, panels_bytes(&t, p, end, t.depth));
    }
    t.packed_a_bytes = df_ceil_div(t.packed_a_bytes, DF_ALIGNMENT) * DF_ALIGNMENT;
    t.packed_b_bytes = df_ceil_div(t.packed_b_bytes, DF_ALIGNMENT) * DF_ALIGNMENT;
    return t;
}

static void pack_a_task(void *context, int64_t begin, int64_t end)
{
    const product *t = context;
    const df_gemm *g = t->g;
    const int64_t bytes = t->kernel->bytes;
    const int64_t step = g->transpose_a ? 1 : g->lda, depth_step = g->transpose_a ? g->lda : 1;
    for (int64_t block = begin; block < end; block++) {
        int64_t row = t->row0 + block * ROWS;
        const char *from = t->a + (row * step + t->k0 * depth_step) * bytes;
        t->kernel->pack(t->packed_a + block * ROWS * t->k * bytes, ROWS, from,
                        df_min(ROWS, t->g->m - row), step, t->k, depth_step);
    }
}

/* Panels of this pass's group lie one after another from the first packed one. */
static char *packed_panel(const product *t, int64_t panel)
{
    int64_t first = df_max(t->panel0, t->packs_from);
    return t->packed_b + panels_bytes(t, first, panel, t->k);
}

static void pack_b_task(void *context, int64_t begin, int64_t end)
{
    const product *t = context;
    const df_gemm *g = t->g;
    const int64_t bytes = t->kernel->bytes;
    const int64_t step = g->transpose_b ? g->ldb : 1, depth_step = g->transpose_b ? 1 : g->ldb;
    const int64_t first = df_max(t->panel0, t->packs_from);
    for (int64_t panel = first + begin; panel < first + end; panel++) {
        int64_t col = panel_start(t, panel), n = panel_start(t, panel + 1) - col;
        const char *from = t->b + (col * step + t->k0 * depth_step) * bytes;
        t->kernel->pack(packed_panel(t, panel), df_ceil_div(n, t->lanes) * t->lanes, from, n, step,
                        t->k, depth_step);
    }
}

static void pack_b(product *t)
{
    int64_t panels = t->panel0 + t->panels - df_max(t->panel0, t->packs_from);
    if (panels > 0)
        df_parallel_for(panels, 1, 0.2 * COLS * (double)(t->lanes * t->k), pack_b_task, t);
}

static void pack_a(product *t)
{
    int64_t blocks = df_ceil_div(t->rows, ROWS);
    if (t->packs_a)
        df_parallel_for(blocks, 4, 0.2 * ROWS * (double)t->k, pack_a_task, t);
}

static void panel_of_job(const product *t, int64_t row, int64_t rows, int64_t panel)
{
    const df_gemm *g = t->g;
    const int64_t bytes = t->kernel->bytes;
    const int64_t col = panel_start(t, panel), n = panel_start(t, panel + 1) - col;
    gemm_panel p = {.rows = rows, .cols = n, .k = t->k, .c_row = g->ldc};
    p.accumulate = g->accumulate || t->k0 > 0;
    p.c = t->c + (row * g->ldc + col) * bytes;
    if (t->packs_a) {
        p.a = t->packed_a + (row - t->row0) * t->k * bytes;
        p.a_row = 1;
        p.a_col = ROWS;
        p.a_block = ROWS * t->k;
    } else {
        p.a_row = g->transpose_a ? 1 : g->lda;
        p.a_col = g->transpose_a ? g->lda : 1;
        p.a_block = ROWS * p.a_row;
        p.a = t->a + (row * p.a_row + t->k0 * p.a_col) * bytes;
    }
    if (panel >= t->packs_from) {
        p.b = packed_panel(t, panel);
        p.b_row = df_ceil_div(n, t->lanes) * t->lanes;
    } else {
        p.b = t->b + (t->k0 * g->ldb + col) * bytes;
        p.b_row = g->ldb;
    }
    t->kernel->panel(&p);
}

static void finish_job(const product *t, int64_t row, int64_t rows, int64_t panel,
                       int64_t panel_end)
{
    const df_gemm *g = t->g;
    const int64_t col = panel_start(t, panel), cols = panel_start(t, panel_end) - col;
    char *c = t->c + (row * g->ldc + col) * t->kernel->bytes;
    g->epilogue(g->context, t->batch_row + row, rows, col, cols, c, g->ldc);
}

/* Job number j is row tile j % row_tiles of column tile j / row_tiles: neighbours share B. */
static void job_task(void *context, int64_t begin, int64_t end)
{
    const product *t = context;
    const bool is_last_pass = t->k0 + t->k == t->g->k;
    const int64_t row_tiles = df_ceil_div(t->rows, t->job_rows);
    for (int64_t job = begin; job < end; job++) {
        int64_t row = t->row0 + job % row_tiles * t->job_rows;
        int64_t panel = t->panel0 + job / row_tiles * t->job_panels;
        int64_t rows = df_min(t->job_rows, t->row0 + t->rows - row);
        int64_t panel_end = df_min(panel + t->job_panels, t->panel0 + t->panels);
        for (int64_t p = panel; p < panel_end; p++) panel_of_job(t, row, rows, p);
        if (is_last_pass && t->g->epilogue)
            finish_job(t, row, rows, panel, panel_end);
    }
}

static int64_t n_jobs(const product *t)
{
    return df_ceil_div(t->rows, t->job_rows) * df_ceil_div(t->panels, t->job_panels);
}

static double job_macs(const product *t)
{
    return (double)(t->job_rows * t->job_panels * COLS * t->lanes) * (double)t->k;
}

/* Tiles as large as the caches like, halved until there are enough of them for the threads. */
static void cut_jobs(product *t)
{
    t->job_rows = df_min(df_ceil_div(t->rows, ROWS) * ROWS, JOB_ROWS);
    t->job_panels = df_min(t->panels, JOB_PANELS);
    while (n_jobs(t) < MANY_JOBS && job_macs(t) > SMALL_JOB) {
        if (t->job_panels > 1 && t->job_panels * COLS * t->lanes >= t->job_rows)
            t->job_panels = df_ceil_div(t->job_panels, 2);
        else if (t->job_rows > ROWS)
            t->job_rows = df_ceil_div(t->job_rows / ROWS, 2) * ROWS;
        else if (t->job_panels > 1)
            t->job_panels = df_ceil_div(t->job_panels, 2);
        else
            break;
    }
}

static void compute(product *t)
{
    cut_jobs(t);
    df_parallel_for(n_jobs(t), 1, job_macs(t) * t->mac_ns, job_task, t);
}

/* One product that is not left to gemv, k > 0. */
static void multiply(product *t, void *workspace)
{
    t->packed_a = workspace;
    t->packed_b = t->packed_a + t->packed_a_bytes;
    for (t->panel0 = 0; t->panel0 < t->n_panels; t->panel0 += PANEL_GROUP) {
        t->panels = df_min(PANEL_GROUP, t->n_panels - t->panel0);
        for (t->k0 = 0; t->k0 < t->g->k; t->k0 += t->depth) {
            t->k = df_min(t->depth, t->g->k - t->k0);
            pack_b(t);
            for (t->row0 = 0; t->row0 < t->g->m; t->row0 += ROW_GROUP) {
                t->rows = df_min(ROW_GROUP, t->g->m - t->row0);
                pack_a(t);
                compute(t);
            }
        }
    }
}

/* The same for a product that is_small: one pass on this thread, nothing to cut. */
static void multiply_small(product *t, void *workspace)
{
    const int64_t n_blocks = df_ceil_div(t->g->m, ROWS);
    t->packed_a = workspace;
    t->packed_b = t->packed_a + t->packed_a_bytes;
    t->panels = t->n_panels;
    t->rows = t->g->m;
    t->k = t->g->k;
    if (t->packs_from < t->n_panels)
        pack_b_task(t, 0, t->n_panels - t->packs_from);
    if (t->packs_a)
        pack_a_task(t, 0, n_blocks);
    for (int64_t p = 0; p < t->n_panels; p++) panel_of_job(t, 0, t->rows, p);
    if (t->g->epilogue)
        finish_job(t, 0, t->rows, 0, t->n_panels);
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
    p->cost = macs * 0.125 / (double)(DF_VEC_BYTES / KERNELS[g->dtype].bytes) + 50;
    p->in_parallel = p->n > 1 && macs < LARGE_PRODUCT;
    p->grain = p->in_parallel ? df_ceil_div(p->n, BATCH_BLOCKS) : p->n;
    p->is_vector = df_gemv_applies(g);
    if (p->is_vector) {
        p->bytes = DF_SYM(df_gemv_workspace)(g);
        return;
    }
    p->one = plan(g);
    p->bytes = p->one.packed_a_bytes + p->one.packed_b_bytes;
    p->is_small = p->cost < SMALL_NS && p->one.depth == g->k && g->m <= ROW_GROUP &&
                  p->one.n_panels <= PANEL_GROUP;
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
