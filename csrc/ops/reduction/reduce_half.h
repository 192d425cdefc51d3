/* Part of reduce.c: reductions of 16-bit floats. Each task widens the rows or columns that it
 * reduces, at most 64 KB at a time, so that half as many bytes are read as for float32.
 * Long columns of narrow matrices, which would be a few columns at a time, are widened whole. */
#include "gemm/half.h"

#define HALF_PIECE 4096     /* elements of short rows at a time: 16 KB in L1 */
#define HALF_COLUMN_ROWS 512 /* most rows of a chunk whose columns are widened in pieces */

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
        df_piece(s->half, x, row * n + from, rows * length, wide);
        s->reducer->rows(s->out + i * s->bytes, wide, s->p ? s->p + row * s->bytes : NULL, rows,
                         length);
        i += rows;
    }
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
        const int64_t rows = df_min(s->chunk, n - from), most = ROW_CHUNK / rows / 32 * 32;
        const int64_t last = df_min(block + COLUMN_BLOCK, inner);
        for (int64_t at = block; at < last; at += most) {
            const int64_t cols = df_min(most, last - at);
            const uint16_t *source = x + (outer * n + from) * inner + at;
            for (int64_t row = 0; row < rows; row++)
                df_piece(s->half, source, row * inner, cols, wide + row * cols);
            s->reducer->columns(s->out + (chunks * inner + at) * s->bytes, wide,
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
    group_call(&g, call);
    groups left = g;
    next_stage(&left, &first);
    const bool is_long = df_min(first.span.n, first.chunk) > HALF_COLUMN_ROWS;
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
