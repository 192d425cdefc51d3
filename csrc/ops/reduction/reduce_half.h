/* Part of reduce.c: reductions of 16-bit floats. Each task widens the rows or columns that it
 * reduces, at most 64 KB at a time, so that half as many bytes are read as for float32; sums of
 * rows and columns widen in registers. Long columns of reducers without partial results, which
 * would be a few columns at a time, are widened whole. */
#include "gemm/half.h"
#include "simd/lanes_half.h"

#define HALF_PIECE 4096     /* elements of short rows at a time: 16 KB in L1 */
#define HALF_COLUMN_ROWS 512 /* most rows of a chunk whose columns are widened in pieces, */
#define STRIP_COLUMNS 1024   /* or columns of a strip of rows: 32 KB */

#if DF_BUILT_HALVES && defined(__AVX2__) /* has instructions that widen vectors */
#define DTYPE f32
/* The sum of a row, with the accumulators of reduce_row. */
#define SUM_ROW(half)                                                                            \
    static float sum_row_##half(const uint16_t *x, int64_t n)                                    \
    {                                                                                            \
        v_f32 acc[N_ACCUMULATORS] = {{0}};                                                       \
        int64_t i = 0;                                                                           \
        for (; i + N_ACCUMULATORS * LANES <= n; i += N_ACCUMULATORS * LANES)                     \
            _Pragma("GCC unroll 8") for (int k = 0; k < N_ACCUMULATORS; k++)                     \
                acc[k] += widen_##half(x + i + k * LANES);                                       \
        for (; i + LANES <= n; i += LANES) acc[0] += widen_##half(x + i);                        \
        if (i < n) acc[1] += widen_n_##half(x + i, n - i);                                       \
        return end_row_f32(acc, plus_f32);                                                       \
    }
/* Adds the sums of columns of a few rows to out, as reduce_strips. The number of rows is a constant
 * at each call; n columns are a vector or less. */
#define SUM_COLUMNS(half)                                                                        \
    DF_INLINE void add_columns_##half(float *out, const uint16_t *x, const int rows, int64_t n,  \
                                      int64_t stride)                                            \
    {                                                                                            \
        v_f32 v[DF_COLUMN_ROWS];                                                                 \
        _Pragma("GCC unroll 8") for (int r = 0; r < rows; r++)                                   \
            v[r] = n == LANES ? widen_##half(x + r * stride) : widen_n_##half(x + r * stride, n);\
        _Pragma("GCC unroll 3") for (int w = rows / 2; w > 0; w /= 2)                            \
            _Pragma("GCC unroll 4") for (int r = 0; r < w; r++) v[r] += v[r + w];                \
        store_upto_f32(out, load_upto_f32(out, n) + v[0], n);                                    \
    }                                                                                            \
    static void sum_columns_##half(float *out, const uint16_t *x, int64_t rows, int64_t cols,    \
                                   int64_t stride)                                               \
    {                                                                                            \
        memset(out, 0, (size_t)cols * sizeof(float));                                            \
        for (int64_t r = 0; r < rows; x += stride) {                                             \
            const bool strip = r + DF_COLUMN_ROWS <= rows;                                       \
            int64_t c = 0;                                                                       \
            for (; c + LANES <= cols && strip; c += LANES)                                       \
                add_columns_##half(out + c, x + c, DF_COLUMN_ROWS, LANES, stride);               \
            for (; c < cols; c += LANES) {                                                       \
                const int64_t n = df_min(LANES, cols - c);                                       \
                if (strip) add_columns_##half(out + c, x + c, DF_COLUMN_ROWS, n, stride);        \
                else add_columns_##half(out + c, x + c, 1, n, stride);                           \
            }                                                                                    \
            r += strip ? DF_COLUMN_ROWS : 1;                                                     \
            x += strip ? (DF_COLUMN_ROWS - 1) * stride : 0;                                      \
        }                                                                                        \
    }
DF_WHERE(F16, SUM_ROW(f16) SUM_COLUMNS(f16))
DF_WHERE(BF16, SUM_ROW(bf16) SUM_COLUMNS(bf16))
#undef SUM_ROW
#undef SUM_COLUMNS

static float sum_row_half(df_dtype half, const uint16_t *x, int64_t n)
{
    return half == DF_BF16 ? DF_HAS(BF16, sum_row_bf16(x, n)) : DF_HAS(F16, sum_row_f16(x, n));
}

static void sum_columns_half(df_dtype half, float *out, const uint16_t *x, int64_t rows,
                             int64_t cols, int64_t stride)
{
    if (half == DF_BF16) DF_HAS(BF16, sum_columns_bf16(out, x, rows, cols, stride));
    else DF_HAS(F16, sum_columns_f16(out, x, rows, cols, stride));
}
#undef DTYPE

static bool is_sum(const reducer *r) { return r->rows == sum_rows_f32; }
#else
static bool is_sum(const reducer *r) { return (void)r, false; }
#define sum_row_half(half, x, n) 0
#define sum_columns_half(half, out, x, rows, cols, stride) (void)0
#endif

/* Computes results [begin, end) of (outer, chunks), as row_task. */
static void half_row_task(void *context, int64_t begin, int64_t end)
{
    const stage *s = context;
    const int64_t n = s->span.n, some = df_max(HALF_PIECE / df_max(n, 1), 1);
    const uint16_t *x = (const uint16_t *)s->x;
    float wide[ROW_CHUNK] __attribute__((aligned(DF_ALIGNMENT)));
    for (int64_t i = begin; i < end;) {
        const int64_t row = i / s->n_chunks, from = i % s->n_chunks * s->chunk;
        const int64_t rows = s->n_chunks == 1 ? df_min(some, end - i) : 1;
        const int64_t length = df_min(s->chunk, n - from);
        if (is_sum(s->reducer) && length > HALF_PIECE) {
            ((float *)s->out)[i++] = sum_row_half(s->half, x + row * n + from, length);
            continue;
        }
        df_piece(s->half, x, row * n + from, rows * length, wide);
        s->reducer->rows(s->out + i * s->bytes, wide, s->p ? s->p + row * s->bytes : NULL, rows,
                         length);
        i += rows;
    }
}

/* out[c] = the reduction of column c: strips of rows are widened and reduced to a part, which is
 * combined with the parts before. */
static void reduce_half_strips(const stage *s, float *out, const uint16_t *x, int64_t rows,
                               int64_t cols)
{
    float wide[DF_COLUMN_ROWS * STRIP_COLUMNS] __attribute__((aligned(DF_ALIGNMENT)));
    float parts[2][STRIP_COLUMNS] __attribute__((aligned(DF_ALIGNMENT))); /* total, one more */
    for (int64_t row = 0, n; row < rows; row += n) {
        n = rows - row >= DF_COLUMN_ROWS ? DF_COLUMN_ROWS : 1;
        for (int64_t r = 0; r < n; r++)
            df_piece(s->half, x, (row + r) * s->span.inner, cols, wide + r * cols);
        s->reducer->part(n, cols, cols, parts[row > 0], wide);
        s->reducer->gather(row ? 2 : 1, cols, STRIP_COLUMNS, parts[0], parts[0]);
    }
    memcpy(out, parts[0], (size_t)cols * sizeof(float));
}

/* Computes results [begin, end) of (outer, chunks, blocks of columns), as column_task. */
static void half_column_task(void *context, int64_t begin, int64_t end)
{
    const stage *s = context;
    const int64_t n = s->span.n, inner = s->span.inner;
    const uint16_t *x = (const uint16_t *)s->x;
    float wide[ROW_CHUNK] __attribute__((aligned(DF_ALIGNMENT)));
    for (int64_t i = begin; i < end; i++) {
        const int64_t block = i % s->n_blocks * COLUMN_BLOCK, chunks = i / s->n_blocks;
        const int64_t outer = chunks / s->n_chunks, from = chunks % s->n_chunks * s->chunk;
        const int64_t rows = df_min(s->chunk, n - from);
        const int64_t most = s->reducer->part ? STRIP_COLUMNS : ROW_CHUNK / rows / 32 * 32;
        const int64_t last = df_min(block + COLUMN_BLOCK, inner);
        for (int64_t at = block; at < last; at += most) {
            const int64_t cols = df_min(most, last - at);
            const uint16_t *source = x + (outer * n + from) * inner + at;
            float *out = (float *)s->out + chunks * inner + at;
            if (s->reducer->part) {
                if (is_sum(s->reducer))
                    sum_columns_half(s->half, out, source, rows, cols, inner);
                else reduce_half_strips(s, out, source, rows, cols);
                continue;
            }
            for (int64_t row = 0; row < rows; row++)
                df_piece(s->half, source, row * inner, cols, wide + row * cols);
            s->reducer->columns(out, wide,
                                s->p ? s->p + (outer * inner + at) * s->bytes : NULL, rows, cols,
                                cols);
        }
    }
}

static df_status run_half(const df_call *call, const reduction *r, df_error *err)
{
    const df_tensor *x = call->in[0], *out = call->out[0];
    groups g;
    stage first;
    if (out->size == 0) return DF_OK;
    group_call(&g, call, call->in[0]->dtype);
    groups left = g;
    next_stage(&left, &first);
    const bool is_long = df_min(first.span.n, first.chunk) > HALF_COLUMN_ROWS &&
                         !r->first[DF_F32].part;
    if (first.span.n == 0 || (first.span.inner > 1 && is_long))
        return DF_SYM(df_run_in_float)(call, err);
    const scratch need = scratch_of(g, r, sizeof(float));
    const int64_t bytes = need.even + need.odd + 3 * need.parameter;
    df_buffer *memory = df_buffer_new(bytes + out->size * (int64_t)sizeof(float));
    if (!memory)
        return df_fail(err, DF_OUT_OF_MEMORY, "%s: no memory for %lld results", call->op->name,
                       (long long)out->size);
    float *results = (float *)((char *)memory->data + bytes);
    reduce(r, g, DF_F32, x, 0, (char *)results, out->size, (double)(x->size / out->size),
           memory->data);
    DF_SYM(df_round_to_half)(x->dtype, out->size, out->data, results);
    df_buffer_release(memory);
    return DF_OK;
}
