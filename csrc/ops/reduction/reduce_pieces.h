/* Part of reduce.c: reductions for clusters, of rows and of parts of column reductions. */
#include "fuse/cluster.h"

/* Reduces rows for a cluster like `run` reduces rows of one chunk; a few rows at a time, so that
 * the parameters fit on the stack. */
#define FEW_ROWS 64

/* Reduces rows of several chunks. */
static void reduce_long(const reduction *r, df_dtype dtype, int64_t rows, int64_t n, char *out,
                        const char *x, const char *p)
{
    const int64_t bytes = df_dtypes[dtype].bytes;
    char chunks[DF_CLUSTER_ROW_MAX / ROW_CHUNK * sizeof(double)]
        __attribute__((aligned(DF_ALIGNMENT)));
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t at = 0; at < n; at += ROW_CHUNK)
            r->first[dtype].rows(chunks + at / ROW_CHUNK * bytes, x + (i * n + at) * bytes,
                                 p ? p + i * bytes : NULL, 1, df_min(ROW_CHUNK, n - at));
        r->rest[dtype].rows(out + i * bytes, chunks, NULL, 1, df_ceil_div(n, ROW_CHUNK));
    }
}

static void reduce_few(const reduction *r, df_dtype dtype, int64_t rows, int64_t n, void *out,
                       const void *x)
{
    char parameter[FEW_ROWS * sizeof(double)] __attribute__((aligned(DF_ALIGNMENT)));
    char *p = r->parameter ? parameter : NULL;
    if (p) reduce_few(r->parameter, dtype, rows, n, p, x);
    if (n <= ROW_CHUNK) r->first[dtype].rows(out, x, p, rows, n);
    else reduce_long(r, dtype, rows, n, out, x, p);
    if (r->finish[dtype]) r->finish[dtype](rows, out, p, (double)n);
}

static void reduce_many(const reduction *r, df_dtype dtype, int64_t rows, int64_t n, void *out,
                        const void *x)
{
    const int64_t bytes = df_dtypes[dtype].bytes;
    for (int64_t i = 0; i < rows; i += FEW_ROWS)
        reduce_few(r, dtype, df_min(FEW_ROWS, rows - i), n, (char *)out + i * bytes,
                   (const char *)x + i * n * bytes);
}

#define WHOLE(of, dtype)                                                                         \
    static void of##_whole_##dtype(int64_t rows, int64_t n, void *out, const void *x)            \
    {                                                                                            \
        reduce_many(&of, dtype, rows, n, out, x);                                                \
    }
#define WHOLE_HALF(of, dtype)                                                                    \
    static void of##_whole_##dtype(int64_t rows, int64_t n, void *out, const void *x)            \
    {                                                                                            \
        DF_SYM(df_reduce_in_float)(of##_whole_DF_F32, dtype, rows, n, out, x);                   \
    }
#define WHOLE_FLOATS(of)                                                                         \
    WHOLE(of, DF_F32) DF_WHERE(F64, WHOLE(of, DF_F64))                                           \
    DF_WHERE(F16, WHOLE_HALF(of, DF_F16)) DF_WHERE(BF16, WHOLE_HALF(of, DF_BF16))
#define WHOLE_NUMBERS(of)                                                                        \
    WHOLE_FLOATS(of) DF_WHERE(U8, WHOLE(of, DF_U8)) DF_WHERE(U16, WHOLE(of, DF_U16))             \
    DF_WHERE(U32, WHOLE(of, DF_U32)) DF_WHERE(U64, WHOLE(of, DF_U64))                            \
    DF_WHERE(I8, WHOLE(of, DF_I8)) DF_WHERE(I16, WHOLE(of, DF_I16))                              \
    DF_WHERE(I32, WHOLE(of, DF_I32)) DF_WHERE(I64, WHOLE(of, DF_I64))
WHOLE_NUMBERS(sum)
WHOLE_NUMBERS(prod)
WHOLE_NUMBERS(max)
WHOLE_NUMBERS(min)
DF_WHERE(BOOL, WHOLE(any, DF_BOOL) WHOLE(all, DF_BOOL))
WHOLE_FLOATS(mean)
WHOLE_FLOATS(euclidean_norm)
WHOLE_FLOATS(variance)
WHOLE_FLOATS(std)
WHOLE_FLOATS(logsumexp)
WHOLE(sum_of_squares, DF_F32)
DF_WHERE(F64, WHOLE(sum_of_squares, DF_F64))
WHOLE(mean_of_squares, DF_F32)
DF_WHERE(F64, WHOLE(mean_of_squares, DF_F64))

/* --- column reductions (op/column_reduction.h) --- */

static void cut_column(df_column_reduction *f)
{
    f->chunk = df_min(chunk_length(f->inner), f->n);
    f->n_chunks = df_ceil_div(f->n, f->chunk);
    f->n_parts = f->inner == 1 ? 1 : f->chunk / DF_COLUMN_ROWS + DF_COLUMN_ROWS - 1;
}

typedef struct {
    const df_column_reduction *column;
    gather_fn gather;
    const char *parts;
    char *out;
    int64_t n_blocks; /* of COLUMN_BLOCK columns */
    int bytes;
} gathering;

/* Computes results [begin, end) of (outer, chunks, blocks of columns). */
static void gather_task(void *context, int64_t begin, int64_t end)
{
    const gathering *g = context;
    const df_column_reduction *f = g->column;
    for (int64_t i = begin; i < end; i++) {
        const int64_t block = i % g->n_blocks * COLUMN_BLOCK, chunks = i / g->n_blocks;
        const int64_t rows = df_min(f->chunk, f->n - chunks % f->n_chunks * f->chunk);
        g->gather(rows / DF_COLUMN_ROWS + rows % DF_COLUMN_ROWS,
                  df_min(COLUMN_BLOCK, f->inner - block),
                  f->inner, g->out + (chunks * f->inner + block) * g->bytes,
                  g->parts + (chunks * f->n_parts * f->inner + block) * g->bytes);
    }
}

static void finish_column(const reduction *r, df_dtype dtype, const df_column_reduction *f,
                          const char *parts,
                          char *out, char *workspace)
{
    const int bytes = df_dtypes[dtype].bytes;
    const int64_t chunks = f->outer * f->n_chunks, stage_bytes = chunks * f->inner * bytes;
    gathering g = {f, r->first[dtype].gather, parts, f->n_chunks == 1 ? out : workspace,
                   df_ceil_div(f->inner, COLUMN_BLOCK), bytes};
    if (f->inner == 1) memcpy(g.out, parts, (size_t)(chunks * bytes));
    else
        df_parallel_for(chunks * g.n_blocks, 1,
                        0.02 * bytes * (double)(f->n_parts * df_min(f->inner, COLUMN_BLOCK)),
                        gather_task, &g);
    groups left = {3, false, {false, true, false}, {f->outer, f->n_chunks, f->inner}};
    stage s;
    const char *x = g.out;
    for (int i = 1; f->n_chunks > 1 && next_stage(&left, &s); i++) {
        s.reducer = &r->rest[dtype];
        s.x = x;
        s.p = NULL;
        s.out = all_reduced(&left) ? out : workspace + (1 + i % 2) * stage_bytes;
        s.bytes = bytes;
        run_stage(&s, 0);
        x = s.out;
    }
    if (r->finish[dtype]) r->finish[dtype](f->outer * f->inner, out, NULL, (double)f->n);
}

#define COLUMN(of, dtype)                                                                        \
    static void of##_row_##dtype(int64_t rows, int64_t n, void *out, const void *x)              \
    {                                                                                            \
        of.first[dtype].rows(out, x, NULL, rows, n);                                             \
    }                                                                                            \
    static void of##_part_##dtype(int64_t rows, int64_t cols, int64_t stride, void *out,         \
                                  const void *x)                                                 \
    {                                                                                            \
        of.first[dtype].part(rows, cols, stride, out, x);                                        \
    }                                                                                            \
    static void of##_finish_##dtype(const df_column_reduction *f, const void *parts, void *out,  \
                                    void *workspace)                                             \
    {                                                                                            \
        finish_column(&of, dtype, f, parts, out, workspace);                                     \
    }
#define FOLD_FLOATS(of) COLUMN(of, DF_F32) DF_WHERE(F64, COLUMN(of, DF_F64))
FOLD_FLOATS(sum)
FOLD_FLOATS(prod)
FOLD_FLOATS(max)
FOLD_FLOATS(min)
FOLD_FLOATS(mean)
FOLD_FLOATS(euclidean_norm)
FOLD_FLOATS(sum_of_squares)
FOLD_FLOATS(mean_of_squares)

/* The `fold` of a record. */
#define COLUMN_FNS(of, dtype)                                                                    \
    [dtype] = {cut_column, of##_part_##dtype, of##_row_##dtype, of##_finish_##dtype}
#define COLUMNS(of) .column = {COLUMN_FNS(of, DF_F32), DF_WHERE(F64, COLUMN_FNS(of, DF_F64))}

#if DF_BUILT_HALVES
#define RUN_HALF(of) .run_half = of##_run_half
#else
#define RUN_HALF(of) .run_half = NULL
#endif

/* The `reduce` of a record. */
#define OF_BOOLS(of) .reduce = {DF_OF(BOOL, of##_whole_DF_BOOL)}
#define REDUCE_FLOATS(of)                                                                        \
    DF_OF(F16, of##_whole_DF_F16), DF_OF(BF16, of##_whole_DF_BF16), [DF_F32] = of##_whole_DF_F32,\
    DF_OF(F64, of##_whole_DF_F64)
#define OF_FLOATS(of) RUN_HALF(of), .reduce = {REDUCE_FLOATS(of)}
/* not for 16-bit floats, whose squares are rounded before they are summed */
#define OF_FLOATS_ALONE(of)                                                                      \
    .internal = true, .reduce = {[DF_F32] = of##_whole_DF_F32, DF_OF(F64, of##_whole_DF_F64)}
#define OF_NUMBERS(of)                                                                           \
    RUN_HALF(of),                                                                                \
    .reduce = {REDUCE_FLOATS(of), DF_OF(U8, of##_whole_DF_U8), DF_OF(U16, of##_whole_DF_U16),    \
        DF_OF(U32, of##_whole_DF_U32), DF_OF(U64, of##_whole_DF_U64),                            \
        DF_OF(I8, of##_whole_DF_I8), DF_OF(I16, of##_whole_DF_I16),                              \
        DF_OF(I32, of##_whole_DF_I32), DF_OF(I64, of##_whole_DF_I64)}
