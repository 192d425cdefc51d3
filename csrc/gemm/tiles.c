/* bfloat16 products with AMX, see tiles.h. A tile of A has 16 rows of 32 elements along k, a tile
 * of B 16 rows of 16 pairs along k, a tile of C 16 x 16 float32 sums.
 *
 * The jobs of the thread pool are some rows of C x some panels of 32 columns. A job packs its panel
 * of B, a part of k at a time, and processes its rows with it, 32 at a time: four tiles of sums,
 * two of A, two of B. A is read from its original memory, or from a packed copy if it is transposed
 * or its tiles are not whole. The sums of a panel stay in float32 over all of k, so the result
 * depends neither on the jobs nor on the division of k. */
#include "gemm/tiles.h"

#include "base/cpu.h"
#include "base/thread.h"
#include "simd/lanes_half.h"

#if DF_PRODUCT_BF16 && defined(__AVX512BW__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC target("amx-tile,amx-bf16,avx512bf16")

#define SIDE 16   /* rows of a tile; columns of a tile of sums */
#define ALONG 32  /* elements of a tile of A along k */
#define TILE_BYTES 1024
#define PANEL 32  /* columns */
#define DEPTH 512 /* of k at a time: 32 KB of B (L1) */
#define JOB_ROWS 512
#define JOB_PANELS 8
#define JOBS_PER_THREAD 4
#define NS_PER_MAC 0.001
#define LEAST_WORK 16384 /* multiply-adds; for less, loading the tile configuration takes longer */

#define UNROLL _Pragma("GCC unroll 16")

typedef struct {
    const df_gemm *g;
    const char *packed_a; /* NULL: A is read from its original memory */
    int64_t row;          /* first row of C in the batch */
    int64_t job_rows, job_panels, row_jobs, n_panels;
} tiles;

bool DF_SYM(df_tiles_apply)(const df_gemm *g)
{
    return g->dtype == DF_BF16 && g->m * g->n >= LEAST_WORK / g->k &&
           df_cpu_bfloat16() == DF_BF16_AMX;
}

/* --- packing ---------------------------------------------------------------------------------- */

/* Exchanges lane j of v[i] with lane i of v[j]. */
DF_INLINE void transpose(__m512i v[SIDE])
{
    __m512i w[SIDE];
    UNROLL for (int i = 0; i < SIDE; i += 2) {
        w[i] = _mm512_unpacklo_epi32(v[i], v[i + 1]);
        w[i + 1] = _mm512_unpackhi_epi32(v[i], v[i + 1]);
    }
    UNROLL for (int i = 0; i < SIDE; i += 4) {
        v[i] = _mm512_unpacklo_epi64(w[i], w[i + 2]);
        v[i + 1] = _mm512_unpackhi_epi64(w[i], w[i + 2]);
        v[i + 2] = _mm512_unpacklo_epi64(w[i + 1], w[i + 3]);
        v[i + 3] = _mm512_unpackhi_epi64(w[i + 1], w[i + 3]);
    }
    UNROLL for (int half = 0; half < SIDE; half += 8)
        UNROLL for (int i = half; i < half + 4; i++) {
            w[i] = _mm512_shuffle_i32x4(v[i], v[i + 4], 0x88);
            w[i + 4] = _mm512_shuffle_i32x4(v[i], v[i + 4], 0xdd);
        }
    UNROLL for (int i = 0; i < 8; i++) {
        v[i] = _mm512_shuffle_i32x4(w[i], w[i + 8], 0x88);
        v[i + 8] = _mm512_shuffle_i32x4(w[i], w[i + 8], 0xdd);
    }
}

/* Packs n <= 16 lines of a matrix, depth <= 32 of k, padded with zeros, as pairs along k or as
 * lines. The stored lines run along k, or k runs across them. */
DF_INLINE void pack_part(char *to, bool as_lines, const uint16_t *from, int64_t ld, bool along_k,
                         int64_t n, int64_t depth)
{
    const __mmask32 in_depth = (__mmask32)((UINT64_C(1) << depth) - 1);
    const __mmask16 in_n = (__mmask16)((1u << n) - 1);
    __m512i v[SIDE];
    UNROLL for (int i = 0; i < SIDE; i++) {
        if (along_k) {
            v[i] = _mm512_maskz_loadu_epi16(i < n ? in_depth : 0, from + i * ld);
            continue;
        }
        const __mmask16 even = 2 * i < depth ? in_n : 0, odd = 2 * i + 1 < depth ? in_n : 0;
        const __m256i first = _mm256_maskz_loadu_epi16(even, from + 2 * i * ld);
        const __m256i second = _mm256_maskz_loadu_epi16(odd, from + (2 * i + 1) * ld);
        v[i] = _mm512_or_si512(_mm512_cvtepu16_epi32(first),
                               _mm512_slli_epi32(_mm512_cvtepu16_epi32(second), 16));
    }
    if (along_k != as_lines)
        transpose(v);
    UNROLL for (int i = 0; i < SIDE; i++) _mm512_store_si512(to + i * 64, v[i]);
}

DF_INLINE void pack_tile(char *to, bool as_lines, const uint16_t *from, int64_t ld, bool along_k,
                         int64_t n, int64_t depth)
{
    if (n == SIDE && depth == ALONG)
        pack_part(to, as_lines, from, ld, along_k, SIDE, ALONG); /* with constant masks */
    else
        pack_part(to, as_lines, from, ld, along_k, n, depth);
}

static bool packs_a(const df_gemm *g)
{
    return g->transpose_a || g->m % SIDE != 0 || g->k % ALONG != 0;
}

static void pack_a_task(void *context, int64_t begin, int64_t end)
{
    const tiles *t = context;
    const df_gemm *g = t->g;
    const int64_t along = df_ceil_div(g->k, ALONG);
    const uint16_t *a = g->a;
    for (int64_t i = begin; i < end; i++)
        for (int64_t p = 0; p < along; p++) {
            char *to = (char *)t->packed_a + (i * along + p) * TILE_BYTES;
            const int64_t n = df_min(SIDE, g->m - i * SIDE);
            const int64_t depth = df_min(ALONG, g->k - p * ALONG);
            if (g->transpose_a)
                pack_tile(to, true, a + p * ALONG * g->lda + i * SIDE, g->lda, false, n, depth);
            else
                pack_tile(to, true, a + i * SIDE * g->lda + p * ALONG, g->lda, true, n, depth);
        }
}

/* Packs the tiles of a panel of B from k0 on, two side by side. */
static void pack_b(char *to, const df_gemm *g, int64_t col, int64_t k0, int64_t depth)
{
    const uint16_t *b = g->b;
    for (int64_t p = k0; p < k0 + depth; p += ALONG)
        for (int64_t j = col; j < col + PANEL; j += SIDE, to += TILE_BYTES) {
            const int64_t n = df_max(0, df_min(SIDE, g->n - j)), some = df_min(ALONG, g->k - p);
            if (g->transpose_b)
                pack_tile(to, false, b + j * g->ldb + p, g->ldb, true, n, some);
            else
                pack_tile(to, false, b + p * g->ldb + j, g->ldb, false, n, some);
        }
}

/* Bytes of one panel along `depth` of k. */
static int64_t panel_bytes(int64_t depth)
{
    return df_ceil_div(depth, ALONG) * 2 * TILE_BYTES;
}

int64_t DF_SYM(df_tiles_packed_bytes)(const df_gemm *g)
{
    return df_ceil_div(g->n, PANEL) * panel_bytes(g->k);
}

typedef struct {
    const df_gemm *g;
    char *packed;
} packing;

static void pack_b_task(void *context, int64_t begin, int64_t end)
{
    const packing *p = context;
    for (int64_t i = begin; i < end; i++)
        pack_b(p->packed + i * panel_bytes(p->g->k), p->g, i * PANEL, 0, p->g->k);
}

void DF_SYM(df_tiles_pack)(const df_gemm *g, void *packed)
{
    packing p = {g, packed};
    df_parallel_for(df_ceil_div(g->n, PANEL), 1, 0.1 * PANEL * (double)g->k, pack_b_task, &p);
}

/* --- computing -------------------------------------------------------------------------------- */

/* 16 or 32 rows of one panel: `along` tiles of A and pairs of tiles of B along k. */
typedef struct {
    const char *a, *b;
    float *sums; /* rows of PANEL elements */
    int64_t a_row, a_tile, a_step; /* byte distances: rows of a tile, the tile below, the next tile
                                    * along k */
    int64_t along;
    bool first; /* sums start at 0 */
} block;

#define AT(row, col) (t->sums + (row) * SIDE * PANEL + (col) * SIDE)

DF_INLINE void multiply(const bool two, const block *t)
{
    const char *a = t->a, *b = t->b;
    if (t->first) {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
    } else {
        _tile_loadd(0, AT(0, 0), PANEL * 4);
        _tile_loadd(1, AT(0, 1), PANEL * 4);
        if (two) {
            _tile_loadd(2, AT(1, 0), PANEL * 4);
            _tile_loadd(3, AT(1, 1), PANEL * 4);
        }
    }
    for (int64_t p = 0; p < t->along; p++) {
        _tile_loadd(6, b, 64);
        _tile_loadd(4, a, t->a_row);
        _tile_dpbf16ps(0, 4, 6);
        _tile_loadd(7, b + TILE_BYTES, 64);
        _tile_dpbf16ps(1, 4, 7);
        if (two) {
            _tile_loadd(5, a + t->a_tile, t->a_row);
            _tile_dpbf16ps(2, 5, 6);
            _tile_dpbf16ps(3, 5, 7);
        }
        a += t->a_step;
        b += 2 * TILE_BYTES;
    }
    _tile_stored(0, AT(0, 0), PANEL * 4);
    _tile_stored(1, AT(0, 1), PANEL * 4);
    if (two) {
        _tile_stored(2, AT(1, 0), PANEL * 4);
        _tile_stored(3, AT(1, 1), PANEL * 4);
    }
}

/* The instruction flushes denormal numbers to 0; tile sums are never denormal. */
static void round_rows(const df_gemm *g, const float *sums, int64_t row, int64_t rows, int64_t col)
{
    uint16_t *c = (uint16_t *)g->c + row * g->ldc + col;
    const __mmask32 in_c = (__mmask32)((UINT64_C(1) << df_min(PANEL, g->n - col)) - 1);
    for (int64_t i = 0; i < rows; i++, sums += PANEL)
        _mm512_mask_storeu_epi16(c + i * g->ldc, in_c,
                                 (__m512i)_mm512_cvtne2ps_pbh(_mm512_load_ps(sums + SIDE),
                                                              _mm512_load_ps(sums)));
}

/* Computes rows of a job in one panel, along `depth` of k from k0 on. */
static void run_rows(const tiles *t, const char *packed_b, float *sums, int64_t row, int64_t rows,
                     int64_t col, int64_t k0, int64_t depth)
{
    const df_gemm *g = t->g;
    const int64_t all_along = df_ceil_div(g->k, ALONG);
    block now = {.b = packed_b, .first = k0 == 0, .along = df_ceil_div(depth, ALONG)};
    if (t->packed_a) {
        now.a_row = 64;
        now.a_step = TILE_BYTES;
        now.a_tile = all_along * TILE_BYTES;
        now.a = t->packed_a + (row / SIDE * all_along + k0 / ALONG) * TILE_BYTES;
    } else {
        now.a_row = g->lda * 2;
        now.a_step = ALONG * 2;
        now.a_tile = SIDE * now.a_row;
        now.a = (const char *)g->a + row * now.a_row + k0 * 2;
    }
    for (int64_t i = 0; i < rows; i += 2 * SIDE) {
        now.sums = sums + i * PANEL;
        if (rows - i > SIDE)
            multiply(true, &now);
        else
            multiply(false, &now);
        now.a += 2 * now.a_tile;
        if (k0 + depth == g->k)
            round_rows(g, now.sums, row + i, df_min(2 * SIDE, rows - i), col);
    }
}

static void run_job(const tiles *t, int64_t j)
{
    const df_gemm *g = t->g;
    char packed_b[DEPTH * PANEL * 2] __attribute__((aligned(DF_ALIGNMENT)));
    float sums[JOB_ROWS * PANEL] __attribute__((aligned(DF_ALIGNMENT)));
    const int64_t row = j % t->row_jobs * t->job_rows, panel = j / t->row_jobs * t->job_panels;
    const int64_t rows = df_min(t->job_rows, g->m - row);
    const int64_t end = df_min(panel + t->job_panels, t->n_panels) * PANEL;
    for (int64_t col = panel * PANEL; col < end; col += PANEL)
        for (int64_t k0 = 0; k0 < g->k; k0 += DEPTH) {
            const int64_t depth = df_min(DEPTH, g->k - k0);
            const char *b = packed_b;
            if (g->packed_b)
                b = (const char *)g->b + col / PANEL * panel_bytes(g->k) + panel_bytes(k0);
            else
                pack_b(packed_b, g, col, k0, depth);
            run_rows(t, b, sums, row, rows, col, k0, depth);
        }
    if (g->epilogue) {
        const int64_t col = panel * PANEL;
        g->epilogue(g->context, t->row + row, rows, col, df_min(end, g->n) - col,
                    (uint16_t *)g->c + row * g->ldc + col, g->ldc);
    }
}

static void job_task(void *context, int64_t begin, int64_t end)
{
    struct {
        uint8_t palette, start_row, zeros[14];
        uint16_t row_bytes[16];
        uint8_t rows[16];
    } shapes __attribute__((aligned(64))) = {.palette = 1};
    for (int i = 0; i < 8; i++) {
        shapes.row_bytes[i] = 64;
        shapes.rows[i] = SIDE;
    }
    _tile_loadconfig(&shapes);
    for (int64_t j = begin; j < end; j++) run_job(context, j);
    _tile_release();
}

static double job_macs(const tiles *t)
{
    return (double)(t->job_rows * t->job_panels * PANEL) * (double)t->g->k;
}

static void cut_jobs(tiles *t)
{
    const df_gemm *g = t->g;
    const int threads = df_num_threads();
    t->n_panels = df_ceil_div(g->n, PANEL);
    t->row_jobs = df_ceil_div(g->m, JOB_ROWS);
    t->job_panels = df_min(t->n_panels, JOB_PANELS);
    while (threads > 1 && t->job_panels > 1 &&
           t->row_jobs * df_ceil_div(t->n_panels, t->job_panels) < threads * JOBS_PER_THREAD)
        t->job_panels = df_ceil_div(t->job_panels, 2);
    t->job_rows = df_ceil_div(df_ceil_div(g->m, t->row_jobs), 2 * SIDE) * 2 * SIDE;
    t->row_jobs = df_ceil_div(g->m, t->job_rows);
}

int64_t DF_SYM(df_tiles_workspace)(const df_gemm *g)
{
    return packs_a(g) ? df_ceil_div(g->m, SIDE) * df_ceil_div(g->k, ALONG) * TILE_BYTES : 0;
}

void DF_SYM(df_tiles)(const df_gemm *g, int64_t row, void *workspace)
{
    tiles t = {.g = g, .row = row, .packed_a = packs_a(g) ? workspace : NULL};
    cut_jobs(&t);
    if (t.packed_a)
        df_parallel_for(df_ceil_div(g->m, SIDE), 4, 0.05 * SIDE * (double)g->k, pack_a_task, &t);
    df_parallel_for(t.row_jobs * df_ceil_div(t.n_panels, t.job_panels), 1,
                    job_macs(&t) * NS_PER_MAC, job_task, &t);
}

#pragma GCC pop_options
#else
bool DF_SYM(df_tiles_apply)(const df_gemm *g)
{
    (void)g;
    return false;
}
int64_t DF_SYM(df_tiles_packed_bytes)(const df_gemm *g)
{
    (void)g;
    return 0;
}
void DF_SYM(df_tiles_pack)(const df_gemm *g, void *packed)
{
    (void)g;
    (void)packed;
}
int64_t DF_SYM(df_tiles_workspace)(const df_gemm *g)
{
    (void)g;
    return 0;
}
void DF_SYM(df_tiles)(const df_gemm *g, int64_t row, void *workspace)
{
    (void)g;
    (void)row;
    (void)workspace;
}
#endif
