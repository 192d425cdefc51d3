/* Blocking, packing and parallelisation of one matrix product.
 *
 * C is divided into column panels as wide as the kernel and row blocks as tall as the kernel. The
 * jobs of the thread pool are tiles of several row blocks x several panels. A job processes at most
 * `depth` of k at a time (a block of C is then one sum in registers, added to C). The rows of a
 * panel of B are far apart: the first row block of a job leaves a dense copy of the rows it loads
 * for later blocks, which costs little more than reading. In jobs of many rows all blocks copy the
 * next panel, a few rows at a time; in jobs of fewer rows they prefetch it. So only a transposed A
 * is packed in advance, and no thread waits for another in between. Neither copies nor jobs change
 * the order of a sum. */
#include "simd/simd.h"
#include "base/thread.h"
#include "gemm/product.h"

#include <sched.h>

#define DEPTH_BYTES 2048   /* of k at a time: a panel of B is then at most 96 KB (L2) */
#define SHALLOW_BYTES 1024 /* same, for products of few rows: 48 KB (L1) */
#define FEW_ROWS 128       /* up to this many rows a job covers all of k; with more, tiles of A
                            * would exceed L2 */
#define COPY_BYTES 65536   /* B is copied if its panels are spread over more memory */
#define COPY_ROWS (4 * GEMM_ROWS)
#define COPY_NEXT_ROWS (32 * GEMM_ROWS) /* from this many rows on, blocks copy the next panel */
#define LEAST_FETCH_ROWS (2 * GEMM_ROWS) /* from this many rows on, */
#define MOST_FETCH_ROWS 256              /* up to this many, blocks prefetch the next panel */
#define C_IN_CACHE 262144  /* bytes */
#define STEPS 64           /* with fewer steps the interruptions of the kernel's loop cost too
                            * much, */
#define FEW_STEPS 16       /* except for few rows, whose prefetches would delay the loads */
#define FEW_FETCH_ROWS 64
#define ROW_GROUP 2048     /* rows of A packed at a time */
#define JOB_ROWS 384       /* with DEPTH_BYTES: 768 KB of A (L2) */
#define JOB_PANELS 8
#define WIDE_PANELS 12     /* for wide tiles; divided as evenly as possible */
#define JOBS_PER_THREAD 16 /* enough for balance: fewer panels per job until there are this many, */
#define LEAST_PER_THREAD 3 /* fewer rows per job only until there are this many */
#define MANY_ROWS 512      /* with an epilogue, tiles stay wide from this many rows on */
#define LEAST_ROWS 96      /* and are cut to as few rows as this instead */
#define SMALL_JOB 1e6      /* multiply-adds: not worth dividing further, */
#define LEAST_JOB 1e5      /* except into fewer panels, */
#define FEW_PER_THREAD 2   /* until there are this many */
#define A_IN_CACHE 1048576 /* bytes */
#define A_NEAR 32768
#define B_IN_CACHE 524288
#define LEAST_SHARED 24    /* rows per thread for threads to share rows, */
#define MANY_SHARED 128    /* if B is large, */
#define MOST_SHARED 256    /* rows per thread that form one tile */
#define MAX_SLOTS 32       /* jobs that can have a copy of B at a time */

static int64_t panel_start(const gemm_product *t, int64_t panel)
{
    if (panel == t->n_panels)
        return t->g->n;
    return panel == t->n_panels - 1 ? t->last : panel * t->width * t->lanes;
}

/* Number of vectors for n elements. */
static int64_t n_vectors(const gemm_product *t, int64_t n)
{
    return df_ceil_div(n * t->bytes, DF_VEC_BYTES);
}

static int64_t n_groups(const gemm_product *t, int64_t k)
{
    return t->group == 1 ? k : df_ceil_div(k, t->group);
}

/* Divides the columns into panels. A remainder of GEMM_COLS + 1 vectors becomes two panels of about
 * equal width, since a panel of one vector runs at half speed. 4 or 8 vectors become panels of 2:
 * equal shares for two threads (see tile_of_job). */
static void cut_columns(gemm_product *t)
{
    int64_t vectors = n_vectors(t, t->g->n);
    t->width = vectors == 4 || vectors == 8 ? 2 : GEMM_COLS;
    t->n_panels = df_ceil_div(vectors, t->width);
    bool lonely = vectors > t->width && vectors % t->width == 1;
    t->last = ((t->n_panels - 1) * t->width - (lonely ? t->width / 2 : 0)) * t->lanes;
}

/* Chooses the packing. A transposed B must be packed, and so must a partial vector if it is slow to
 * load. A transposed A is packed if many panels read it from beyond L1. */
static void choose_packing(gemm_product *t)
{
    const df_gemm *g = t->g;
    const bool must = gemm_must_pack(t->kernel);
    t->packs_a = must || (g->transpose_a && t->is_complex) ||
                 (g->transpose_a && g->n >= 256 && g->m > GEMM_ROWS &&
                  g->k * g->lda * t->bytes > A_NEAR);
    t->packs_from = t->n_panels;
    if (g->packed_b)
        return;
    if (must || t->is_complex || g->transpose_b)
        t->packs_from = 0;
    else if (!LOAD_N_IS_FAST && g->n * t->bytes % DF_VEC_BYTES != 0)
        t->packs_from = t->n_panels - 1;
    t->copies_b = t->packs_from > 0 && t->n_panels > 1 && g->m >= COPY_ROWS &&
                  g->k * g->ldb * t->bytes > COPY_BYTES;
}

bool DF_SYM(df_product_packs_nothing)(const df_gemm *g)
{
    return LOAD_N_IS_FAST && !gemm_must_pack(DF_SYM(df_gemm_kernel)(g->dtype)) &&
           !df_is_complex(g->dtype) &&
           !g->transpose_a && !g->transpose_b && g->m < COPY_ROWS;
}

void DF_SYM(df_product_plan)(gemm_product *t, const df_gemm *g)
{
    *t = (gemm_product){.g = g, .kernel = DF_SYM(df_gemm_kernel)(g->dtype)};
    t->kernel_b = t->kernel;
    if (g->mixed) t->kernel_b = DF_SYM(df_gemm_kernel)(g->dtype == DF_I8 ? DF_U8 : DF_I8);
    t->bytes = t->kernel->bytes;
    t->in_bytes = t->kernel->in_bytes;
    t->group = t->kernel->group;
    t->is_complex = df_is_complex(g->dtype);
    t->lanes = t->bytes == 4 ? DF_VEC_BYTES / 4 : DF_VEC_BYTES / 8;
    t->mac_ns = 0.125 / DF_VEC_BYTES * (double)t->bytes;
    cut_columns(t);
    choose_packing(t);
    const int64_t limit = g->m <= FEW_ROWS ? SHALLOW_BYTES : DEPTH_BYTES;
    const int64_t bytes = n_groups(t, g->k) * t->bytes;
    t->depth = g->k;
    if (bytes > limit)
        t->depth = n_groups(t, df_ceil_div(g->k, df_ceil_div(bytes, limit))) * t->group;
    if (t->is_complex) t->depth += t->depth % 2;
    t->steps = g->m * g->n * t->bytes > C_IN_CACHE ? STEPS : t->depth;
    if (t->packs_a)
        t->packed_a_bytes =
            df_min(df_ceil_div(g->m, GEMM_ROWS) * GEMM_ROWS, ROW_GROUP) *
            n_groups(t, t->depth) * t->bytes;
    t->packed_a_bytes = df_ceil_div(t->packed_a_bytes, DF_ALIGNMENT) * DF_ALIGNMENT;
    if (t->copies_b || t->packs_from < t->n_panels) {
        t->slot_bytes = df_min(t->width, n_vectors(t, g->n)) * DF_VEC_BYTES * n_groups(t, t->depth);
        t->slot_bytes = 2 * df_ceil_div(t->slot_bytes, DF_ALIGNMENT) * DF_ALIGNMENT;
        t->n_slots = df_min(t->n_panels * df_ceil_div(g->m, GEMM_ROWS), MAX_SLOTS);
    }
}

/* Bytes of a panel of B packed along k. */
static int64_t packed_panel_bytes(const gemm_product *t, int64_t cols, int64_t k)
{
    return n_vectors(t, cols) * DF_VEC_BYTES * n_groups(t, k);
}

/* Rows are padded to the longest vector, so that exports can pack: the size is the same at every
 * SIMD level, unless numbers are packed in pairs. */
int64_t DF_SYM(df_product_packed_bytes)(const df_gemm *g)
{
    gemm_product t;
    int64_t bytes = 0;
    DF_SYM(df_product_plan)(&t, g);
    if (t.group == 1) return df_ceil_div(g->n * t.bytes, DF_ALIGNMENT) * DF_ALIGNMENT * g->k;
    for (int64_t p = 0; p < t.n_panels; p++)
        bytes += packed_panel_bytes(&t, panel_start(&t, p + 1) - panel_start(&t, p), g->k);
    return bytes;
}

static void pack_b_task(void *context, int64_t begin, int64_t end)
{
    const gemm_product *t = context;
    const df_gemm *g = t->g;
    const int64_t step = g->transpose_b ? g->ldb : 1, depth_step = g->transpose_b ? 1 : g->ldb;
    for (int64_t p = begin; p < end; p++) {
        const int64_t col = panel_start(t, p), cols = panel_start(t, p + 1) - col;
        t->kernel_b->pack_b(t->slots + packed_panel_bytes(t, col, g->k),
                          n_vectors(t, cols) * t->lanes,
                          (const char *)g->b + col * step * t->in_bytes, cols, step, g->k,
                          depth_step);
    }
}

void DF_SYM(df_product_pack)(const df_gemm *g, void *packed)
{
    gemm_product t;
    DF_SYM(df_product_plan)(&t, g);
    t.slots = packed;
    const int64_t used = packed_panel_bytes(&t, g->n, g->k);
    memset((char *)packed + used, 0, (size_t)(DF_SYM(df_product_packed_bytes)(g) - used));
    df_parallel_for(t.n_panels, 1, 0.3 * (double)(t.width * t.lanes * g->k), pack_b_task, &t);
}

int64_t DF_SYM(df_product_workspace)(const gemm_product *t)
{
    return t->packed_a_bytes + t->n_slots * t->slot_bytes;
}

static void pack_a_task(void *context, int64_t begin, int64_t end)
{
    const gemm_product *t = context;
    const df_gemm *g = t->g;
    const int64_t step = !g->transpose_a ? g->lda : t->is_complex ? 2 : 1;
    const int64_t depth_step = g->transpose_a ? g->lda : 1;
    for (int64_t block = begin; block < end; block++) {
        const int64_t row = t->row0 + block * GEMM_ROWS;
        t->kernel->pack(t->packed_a + block * GEMM_ROWS * n_groups(t, t->k) * t->bytes, GEMM_ROWS,
                        t->a + (row * step + t->k0 * depth_step) * t->in_bytes,
                        df_min(GEMM_ROWS, g->m - row), step, t->k, depth_step);
    }
}

static void pack_a(gemm_product *t)
{
    df_parallel_for(df_ceil_div(t->rows, GEMM_ROWS), 4, 0.2 * GEMM_ROWS * (double)t->k,
                    pack_a_task, t);
}

/* A tile of C with room for two panels of B: the current one and the copy of the next one. */
typedef struct {
    int64_t row, rows, panel, panel_end;
    char *slot, *next_slot;
    bool is_copied; /* the next panel has been copied to `slot` */
} tile;

/* Sets the source of a panel of B: the original with a copy on the way, a copy, or packed now. */
static void place_b(const gemm_product *t, const tile *job, int64_t panel, int64_t k0,
                    gemm_panel *p)
{
    const df_gemm *g = t->g;
    const int64_t step = g->transpose_b ? g->ldb : 1, depth_step = g->transpose_b ? 1 : g->ldb;
    const int64_t depth = df_min(t->depth, t->k0 + t->k - k0);
    const int64_t col = panel_start(t, panel);
    if (g->packed_b) {
        p->b = t->b + packed_panel_bytes(t, col, g->k) + packed_panel_bytes(t, p->cols, k0);
        p->b_row = n_vectors(t, p->cols) * t->lanes;
        return;
    }
    if (g->fill_b) {
        p->b = job->slot;
        p->b_row = n_vectors(t, p->cols) * t->lanes;
        g->fill_b(g->b, (float *)job->slot, p->b_row, col, p->cols, k0, depth);
        return;
    }
    const char *from = t->b + (col * step + k0 * depth_step) * t->in_bytes;
    if (panel < t->packs_from && !job->is_copied) {
        p->b = from;
        p->b_row = g->ldb;
        p->copy = t->copies_b && job->rows >= COPY_ROWS ? job->slot : NULL;
        return;
    }
    p->b = job->slot;
    p->b_row = n_vectors(t, p->cols) * t->lanes;
    if (!job->is_copied)
        t->kernel_b->pack_b(job->slot, p->b_row, from, p->cols, step, depth, depth_step);
}

/* The rows of B in a panel from k0 on, as the kernel reads them. None if the panel does not exist,
 * or is packed only when it is read. */
static gemm_copy rows_of_b(const gemm_product *t, int64_t panel, int64_t k0)
{
    const df_gemm *g = t->g;
    if (panel >= (g->packed_b ? t->n_panels : t->packs_from))
        return (gemm_copy){0};
    const int64_t col = panel_start(t, panel), cols = panel_start(t, panel + 1) - col;
    gemm_copy found = {.rows = n_groups(t, df_min(t->depth, t->k0 + t->k - k0))};
    if (g->packed_b) {
        found.from = t->b + packed_panel_bytes(t, col, g->k) + packed_panel_bytes(t, cols, k0);
        found.step = n_vectors(t, cols) * DF_VEC_BYTES;
    } else {
        found.step = g->ldb * t->in_bytes;
        found.from = t->b + col * t->in_bytes + k0 * found.step;
    }
    return found;
}

/* Has the rows of B that are read after p copied to next_slot, if p has enough row blocks, or
 * prefetched. */
static void prepare_next(const gemm_product *t, const tile *job, int64_t panel, int64_t k0,
                         gemm_panel *p)
{
    const bool ends_panel = k0 + t->depth >= t->k0 + t->k;
    const int64_t next = ends_panel ? panel + 1 : panel, whole = t->width * t->lanes;
    const gemm_copy found = rows_of_b(t, next, ends_panel ? t->k0 : k0 + t->depth);
    if (found.rows == 0)
        return;
    if (t->copies_b && p->rows >= COPY_NEXT_ROWS && next < job->panel_end && p->cols == whole &&
        panel_start(t, next + 1) - panel_start(t, next) == whole) {
        p->next = found;
        p->next.to = job->next_slot;
    } else if (p->rows >= LEAST_FETCH_ROWS && p->rows <= MOST_FETCH_ROWS) {
        p->steps = p->rows < FEW_FETCH_ROWS ? FEW_STEPS : STEPS;
        const int64_t times = df_ceil_div(p->rows, GEMM_ROWS) * df_ceil_div(p->k, p->steps);
        p->fetch = (gemm_fetch){found.from, found.step, df_ceil_div(found.rows, times)};
    }
}

static void run_panel(const gemm_product *t, tile *job, int64_t panel, int64_t k0)
{
    const df_gemm *g = t->g;
    const int64_t col = panel_start(t, panel);
    gemm_panel p = {.rows = job->rows, .cols = panel_start(t, panel + 1) - col, .c_row = g->ldc};
    p.k = n_groups(t, df_min(t->depth, t->k0 + t->k - k0));
    p.steps = t->steps;
    p.accumulate = g->accumulate || k0 > 0;
    p.c = t->c + (job->row * g->ldc + col) * t->bytes;
    if (t->packs_a) {
        p.a = t->packed_a + (job->row - t->row0) * p.k * t->bytes;
        p.a_row = 1;
        p.a_col = GEMM_ROWS;
        p.a_block = GEMM_ROWS * p.k;
    } else {
        p.a_row = g->transpose_a ? 1 : g->lda;
        p.a_col = g->transpose_a ? g->lda : 1;
        p.a_block = GEMM_ROWS * p.a_row;
        p.a = t->a + (job->row * p.a_row + k0 * p.a_col) * t->in_bytes;
    }
    place_b(t, job, panel, k0, &p);
    prepare_next(t, job, panel, k0, &p);
    t->kernel->panel(&p);
    job->is_copied = p.next.rows > 0;
    if (job->is_copied) {
        char *used = job->slot;
        job->slot = job->next_slot;
        job->next_slot = used;
    }
}

static void run_tile(const gemm_product *t, tile *job)
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

/* Takes the lowest free slot, so that little memory is used; excess threads wait for a slot. */
static int take_slot(const gemm_product *t)
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

static void give_slot(const gemm_product *t, int slot)
{
    atomic_fetch_or_explicit(t->free_slots, UINT64_C(1) << slot, memory_order_release);
}

/* True if each thread gets its own range of rows, from first to last, as in the elementwise work
 * before and after: A and C are then in the caches of the cores that read and write them (a step of
 * a handwritten LSTM on two threads: 5.8 ms instead of 6.6; 512 x 512 x 512 alone: 0.83 instead of
 * 0.91). All threads read all of B, so B must be small or the rows many. */
static bool splits_rows(const gemm_product *t, int threads)
{
    const bool is_small = t->k * t->g->n * t->bytes <= B_IN_CACHE;
    return threads > 1 && t->rows >= LEAST_SHARED * threads &&
           (is_small || t->rows >= MANY_SHARED * threads);
}

/* The tile of job j. Neighbouring jobs share A if threads keep to their rows or if tiles of A must
 * stay in cache. If all of A stays in cache, they share B, and a thread keeps to its columns of B
 * and C from one product to the next: the weights of a layer are then read by the core that updated
 * them (32 x 784 x 128 after the update on two cores: 28 us instead of 37). */
static tile tile_of_job(const gemm_product *t, int64_t j)
{
    const int64_t column_tiles = df_ceil_div(t->n_panels, t->job_panels);
    const int64_t row_tiles = df_ceil_div(t->rows, t->job_rows);
    const bool by_columns = !t->by_rows && t->rows * t->k * t->bytes <= A_IN_CACHE;
    const int64_t i = by_columns ? j % row_tiles : j / column_tiles;
    tile job = {.row = t->row0 + i * t->job_rows};
    job.panel = (by_columns ? j / row_tiles : j % column_tiles) * t->job_panels;
    job.rows = df_min(t->job_rows, t->row0 + t->rows - job.row);
    job.panel_end = df_min(job.panel + t->job_panels, t->n_panels);
    return job;
}

static void place_slot(const gemm_product *t, tile *job, int slot)
{
    job->slot = t->slots + slot * t->slot_bytes;
    job->next_slot = job->slot + t->slot_bytes / 2;
}

static void job_task(void *context, int64_t begin, int64_t end)
{
    const gemm_product *t = context;
    const int slot = t->n_slots ? take_slot(t) : 0;
    for (int64_t j = begin; j < end; j++) {
        tile job = tile_of_job(t, j);
        place_slot(t, &job, slot);
        run_tile(t, &job);
    }
    if (t->n_slots)
        give_slot(t, slot);
}

static int64_t n_jobs(const gemm_product *t)
{
    return df_ceil_div(t->rows, t->job_rows) * df_ceil_div(t->n_panels, t->job_panels);
}

static double job_macs(const gemm_product *t)
{
    return (double)(t->job_rows * t->job_panels * t->width * t->lanes) * (double)t->k;
}

/* Number of rows of equal tiles with at most `most` rows. */
static int64_t even_rows(const gemm_product *t, int64_t most)
{
    const int64_t blocks = df_ceil_div(t->rows, GEMM_ROWS),
                  tiles = df_ceil_div(blocks * GEMM_ROWS, most);
    return df_ceil_div(blocks, tiles) * GEMM_ROWS;
}

/* Chooses tiles that suit the caches and divides them until there are enough for the threads: first
 * into fewer panels, because each row tile copies B again. With an epilogue and many rows, tiles
 * stay wide, because the epilogue reads its operands row by row: pieces of 400 bytes come from
 * memory at a third of the speed of 1,500 bytes (gradient of GELU after 1024 x 256 x 1024, two
 * threads: 2.8 ms instead of 4.2). */
static void cut_jobs(gemm_product *t)
{
    const int threads = df_num_threads();
    const bool stays_wide = t->g->epilogue && t->rows >= MANY_ROWS;
    t->job_rows = even_rows(t, JOB_ROWS);
    t->job_panels = df_min(t->n_panels, JOB_PANELS);
    if (stays_wide)
        t->job_panels = df_ceil_div(t->n_panels, df_ceil_div(t->n_panels, WIDE_PANELS));
    t->by_rows = splits_rows(t, threads);
    if (t->by_rows && t->rows <= MOST_SHARED * threads)
        t->job_rows = even_rows(t, df_ceil_div(t->rows, threads));
    while (threads > 1 && job_macs(t) > LEAST_JOB) {
        const bool is_small = job_macs(t) <= SMALL_JOB;
        if (is_small && (t->job_panels == 1 || n_jobs(t) >= threads * FEW_PER_THREAD))
            break;
        if (stays_wide && n_jobs(t) >= threads * LEAST_PER_THREAD)
            break;
        if (stays_wide && t->job_rows > LEAST_ROWS)
            t->job_rows = even_rows(t, df_ceil_div(t->job_rows / GEMM_ROWS, 2) * GEMM_ROWS);
        else if (t->job_panels > 1 && n_jobs(t) < threads * JOBS_PER_THREAD)
            t->job_panels = df_ceil_div(t->job_panels, 2);
        else if (t->job_rows > GEMM_ROWS && n_jobs(t) < threads * LEAST_PER_THREAD)
            t->job_rows = even_rows(t, df_ceil_div(t->job_rows / GEMM_ROWS, 2) * GEMM_ROWS);
        else
            break;
    }
}

static void compute(gemm_product *t)
{
    cut_jobs(t);
    df_parallel_for(n_jobs(t), 1, job_macs(t) * t->mac_ns, job_task, t);
}

static void place_workspace(gemm_product *t, void *workspace, _Atomic uint64_t *free_slots)
{
    t->packed_a = workspace;
    t->slots = t->packed_a + t->packed_a_bytes;
    t->free_slots = free_slots;
}

void DF_SYM(df_product_run)(gemm_product *t, void *workspace)
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

bool DF_SYM(df_product_can_run_whole)(const gemm_product *t)
{
    return !t->packs_a || (t->g->m <= ROW_GROUP && t->depth == t->g->k);
}

void DF_SYM(df_product_run_whole)(gemm_product *t, void *workspace)
{
    place_workspace(t, workspace, NULL);
    t->rows = t->g->m;
    t->k = t->g->k;
    if (t->packs_a)
        pack_a_task(t, 0, df_ceil_div(t->rows, GEMM_ROWS));
    tile all = {.rows = t->rows, .panel_end = t->n_panels};
    place_slot(t, &all, 0);
    run_tile(t, &all);
}
