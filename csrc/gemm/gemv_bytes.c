/* Matrix times vector for int8 and uint8, with int32 sums; gemm.c calls it. As in gemv.c there are
 * a vector, copied as int16, and a stored matrix, which is read along its rows. Sums wrap around,
 * so that their order does not matter. */
#include "simd/lanes_bytes.h"
#include "base/thread.h"
#include "gemm/gemv.h"

#define UNROLL _Pragma("GCC unroll 8")
#define DOT_ROWS 4  /* rows at a time */
#define ROW_PAIRS 4 /* pairs of rows at a time when rows are combined */
#define SLICE 512   /* elements of y per block when rows are combined */
#define CHUNK_BYTES 16384
#define NS_PER_BYTE 0.03 /* on one core */

typedef struct {
    const df_gemm *g;
    int64_t row; /* of the batch: first row of y */
    const uint8_t *matrix;
    const int16_t *x; /* the vector, followed by zeros up to a whole vector */
    int64_t ld, y_step;
    int16_t low; /* byte_mask of the matrix */
    bool by_dots;
} gemv_bytes;

static int16_t mask_of(const df_gemm *g, bool b)
{
    return byte_mask((g->dtype == DF_I8) != (b && g->mixed) ? DF_I8 : DF_U8);
}

int64_t DF_SYM(df_gemv_bytes_workspace)(const df_gemm *g)
{
    return df_ceil_div(g->k * 2, DF_ALIGNMENT) * DF_ALIGNMENT;
}

static void add_to(const df_gemm *g, int32_t *y, int32_t sum)
{
    *y = g->accumulate ? (int32_t)((uint32_t)*y + (uint32_t)sum) : sum;
}

/* y[j + r] = sum over p of M[j + r][p] x[p] for r < rows, a constant. */
DF_INLINE void dot_rows(const int rows, const gemv_bytes *v, int64_t j)
{
    const uint8_t *m = v->matrix + j * v->ld;
    const int64_t k = v->g->k;
    v_i32 sum[DOT_ROWS];
    UNROLL for (int r = 0; r < rows; r++) sum[r] = (v_i32){0};
    int64_t p = 0;
    for (; p + WIDE_LANES <= k; p += WIDE_LANES) {
        const v_i32 x = (v_i32)load_i16(v->x + p);
        UNROLL for (int r = 0; r < rows; r++)
            sum[r] = add_pairs((v_i32)widen_bytes(v->low, m + r * v->ld + p), x, sum[r]);
    }
    if (p < k) {
        const v_i32 x = (v_i32)load_i16(v->x + p);
        UNROLL for (int r = 0; r < rows; r++)
            sum[r] = add_pairs((v_i32)widen_bytes_n(v->low, m + r * v->ld + p, k - p), x,
                               sum[r]);
    }
    for (int r = 0; r < rows; r++)
        add_to(v->g, (int32_t *)v->g->c + (j + r) * v->y_step, sum_i32(sum[r]));
}

static void dots(const gemv_bytes *v, int64_t begin, int64_t end)
{
    int64_t j = begin;
    for (; j + DOT_ROWS <= end; j += DOT_ROWS) dot_rows(DOT_ROWS, v, j);
    for (; j < end; j++) dot_rows(1, v, j);
}

/* sums[j] += sum over p < 2 * pairs of m[p][j] x[p], for j < n. If `odd`, there is no last row. */
DF_INLINE void combine_rows(const int pairs, bool odd, const gemv_bytes *v, int64_t p,
                            const uint8_t *m, int32_t *sums, int64_t n)
{
    v_i32 x[ROW_PAIRS];
    UNROLL for (int r = 0; r < pairs; r++)
        x[r] = splat_i32(pair_of(v->x[p + 2 * r], odd ? 0 : v->x[p + 2 * r + 1]));
    for (int64_t j = 0; j < n; j += PAIR_LANES) {
        v_i32 sum = load_i32(sums + j);
        UNROLL for (int r = 0; r < pairs; r++) {
            const uint8_t *even = m + 2 * r * v->ld + j, *next = odd ? even : even + v->ld;
            sum = add_pairs(j + PAIR_LANES <= n ? pair_bytes(v->low, even, next)
                                                : pair_bytes_n(v->low, even, next, n - j),
                            x[r], sum);
        }
        store_i32(sums + j, sum);
    }
}

/* y[j] = sum over p of M[p][j] x[p] for begin <= j < end, at most SLICE elements, whose sums stay
 * in L1. */
static void combined(const gemv_bytes *v, int64_t begin, int64_t end)
{
    const uint8_t *m = v->matrix + begin;
    const int64_t n = end - begin, k = v->g->k;
    int32_t sums[SLICE] = {0};
    int64_t p = 0;
    for (; p + 2 * ROW_PAIRS <= k; p += 2 * ROW_PAIRS)
        combine_rows(ROW_PAIRS, false, v, p, m + p * v->ld, sums, n);
    for (; p < k; p += 2) combine_rows(1, p + 1 == k, v, p, m + p * v->ld, sums, n);
    for (int64_t j = 0; j < n; j++)
        add_to(v->g, (int32_t *)v->g->c + (begin + j) * v->y_step, sums[j]);
}

static void gemv_bytes_task(void *context, int64_t begin, int64_t end)
{
    const gemv_bytes *v = context;
    const df_gemm *g = v->g;
    if (v->by_dots) dots(v, begin, end);
    else combined(v, begin, end);
    int32_t *y = (int32_t *)g->c + begin * v->y_step;
    if (g->epilogue && g->m == 1)
        g->epilogue(g->context, v->row, 1, begin, end - begin, y, g->ldc);
    else if (g->epilogue)
        g->epilogue(g->context, v->row + begin, end - begin, 0, 1, y, g->ldc);
}

void DF_SYM(df_gemv_bytes)(const df_gemm *g, int64_t row, void *workspace)
{
    const bool is_row = g->m == 1;
    const int16_t low = mask_of(g, !is_row);
    const uint8_t *from = is_row ? g->a : g->b;
    const int64_t step = is_row ? (g->transpose_a ? g->lda : 1) : (g->transpose_b ? 1 : g->ldb);
    int16_t *x = workspace;
    for (int64_t i = 0; i < g->k; i++) x[i] = byte_at(low, from, i * step);
    memset(x + g->k, 0, (size_t)(DF_SYM(df_gemv_bytes_workspace)(g) - 2 * g->k));
    gemv_bytes v = {.g = g, .row = row, .matrix = is_row ? g->b : g->a, .x = x,
                    .ld = is_row ? g->ldb : g->lda, .y_step = is_row ? 1 : g->ldc,
                    .low = mask_of(g, is_row),
                    .by_dots = is_row ? g->transpose_b : !g->transpose_a};
    const int64_t dot_rows = df_max(1, CHUNK_BYTES / g->k / DOT_ROWS) * DOT_ROWS;
    df_parallel_for(is_row ? g->n : g->m, v.by_dots ? dot_rows : SLICE,
                    (double)g->k * NS_PER_BYTE, gemv_bytes_task, &v);
}
