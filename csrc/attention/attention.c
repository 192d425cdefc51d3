/* Parallelisation of attention; the arithmetic is in attention_formulas.h.
 *
 * A forward task is a block of queries of one head, which processes all keys tile by tile. A
 * backward task is a range of keys of one head, which processes all queries of the heads that share
 * the keys, for each tile of keys. With fewer heads than MANY_TASKS the keys are divided into
 * several ranges, each with a separate dq; the parts are added at the end. The division depends
 * only on sizes. */
#include "attention/attention.h"
#include "base/half.h"
#include "base/memory.h"
#include "base/thread.h"
#include "simd/rng.h"
#include "simd/vmath.h"

#include <math.h>
#include <stdatomic.h>

/* Registers for a block of a product: 6 x 4 of 32, or 6 x 2 of 16. */
#define ROWS 6
#if defined(__AVX512F__) || defined(__aarch64__)
#define COLS 4
#else
#define COLS 2
#endif
#define UNROLL _Pragma("GCC unroll 16")

#define QUERIES 48      /* queries per tile */
#define KEYS 128        /* keys per tile; a multiple of a group of random words */
#define DEPTH 512       /* of a product; longer sums would lose digits */
#define TASK_QUERIES (5 * QUERIES)
#define MANY_TASKS 8

/* C = A B, or C += A B: rows x (vectors * LANES). Element (i, p) of A is at
 * a[i * a_row + p * a_col], (p, j) of B at b[p * b_row + j]. */
typedef struct {
    int64_t rows, vectors, depth;
    const void *a, *b;
    void *c;
    int64_t a_row, a_col, b_row, c_row;
    bool accumulate;
} tile_product;

/* A matrix of one head in its stored layout: rows are `step` elements apart. */
typedef struct {
    void *data;
    df_dtype dtype;
    int64_t step, width;
} rows;

/* The matrices of a head; k and v may be shared by several heads. */
typedef struct {
    rows q, k, v, out, rest, g, dk, dv;
} heads;

/* A tile of the scores: queries [i, i + rows) x keys [j, j + keys) of head h of batch b. */
typedef struct {
    const df_attention *a;
    double scale;
    int64_t b, h, i, rows, j, keys;
} square;

static int64_t padded_width(int64_t n, int64_t lanes) { return df_ceil_div(n, lanes) * lanes; }

static void *carve(char **at, int64_t bytes)
{
    char *piece = *at;
    *at = (char *)((intptr_t)piece + padded_width(bytes, DF_ALIGNMENT));
    return piece;
}

static rows rows_of(const df_attention *a, const void *data, int64_t n_heads, int64_t length,
                    int64_t width, int64_t b, int64_t h)
{
    const int64_t row = a->heads_inner ? b * length * n_heads + h : (b * n_heads + h) * length;
    if (!data) return (rows){0};
    return (rows){(char *)data + row * width * df_dtypes[a->dtype].bytes, a->dtype,
                  a->heads_inner ? n_heads * width : width, width};
}

static heads heads_of(const df_attention *a, int64_t b, int64_t h, int64_t kv)
{
    return (heads){.q = rows_of(a, a->q, a->heads, a->queries, a->d, b, h),
                   .k = rows_of(a, a->k, a->kv_heads, a->keys, a->d, b, kv),
                   .v = rows_of(a, a->v, a->kv_heads, a->keys, a->e, b, kv),
                   .out = rows_of(a, a->out, a->heads, a->queries, a->e, b, h),
                   .rest = rows_of(a, a->rest, a->heads, a->queries, a->e, b, h),
                   .g = rows_of(a, a->g, a->heads, a->queries, a->e, b, h),
                   .dk = rows_of(a, a->dk, a->kv_heads, a->keys, a->d, b, kv),
                   .dv = rows_of(a, a->dv, a->kv_heads, a->keys, a->e, b, kv)};
}

#if defined(__AVX512F__)
/* to[p * KEYS + i] = from[i * step + p] for 16 rows and 4 columns, as four 4 x 4 transposes. */
static inline void transpose_sixteen(float *to, const float *from, int64_t step)
{
    __m512 r[4];
    UNROLL for (int i = 0; i < 4; i++) {
        r[i] = _mm512_castps128_ps512(_mm_loadu_ps(from + i * step));
        r[i] = _mm512_insertf32x4(r[i], _mm_loadu_ps(from + (i + 4) * step), 1);
        r[i] = _mm512_insertf32x4(r[i], _mm_loadu_ps(from + (i + 8) * step), 2);
        r[i] = _mm512_insertf32x4(r[i], _mm_loadu_ps(from + (i + 12) * step), 3);
    }
    const __m512 low01 = _mm512_unpacklo_ps(r[0], r[1]), high01 = _mm512_unpackhi_ps(r[0], r[1]);
    const __m512 low23 = _mm512_unpacklo_ps(r[2], r[3]), high23 = _mm512_unpackhi_ps(r[2], r[3]);
    _mm512_storeu_ps(to, _mm512_shuffle_ps(low01, low23, 0x44));
    _mm512_storeu_ps(to + KEYS, _mm512_shuffle_ps(low01, low23, 0xee));
    _mm512_storeu_ps(to + 2 * KEYS, _mm512_shuffle_ps(high01, high23, 0x44));
    _mm512_storeu_ps(to + 3 * KEYS, _mm512_shuffle_ps(high01, high23, 0xee));
}
#endif

/* The index of each lane. */
static const int32_t lanes_f32[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
DF_WHERE(F64, static const int64_t lanes_f64[] = {0, 1, 2, 3, 4, 5, 6, 7};)

#define DTYPE f32
#include "attention/attention_tiles_formulas.h"
#include "attention/attention_formulas.h"
#undef DTYPE
#if DF_BUILT_F64
#define DTYPE f64
#include "attention/attention_tiles_formulas.h"
#include "attention/attention_formulas.h"
#undef DTYPE
#endif

bool DF_SYM(df_attention_has)(df_dtype dtype) { return df_is_float(dtype); }

df_dtype DF_SYM(df_attention_sums)(df_dtype dtype) { return dtype == DF_F64 ? DF_F64 : DF_F32; }

typedef struct {
    const df_attention *a;
    int64_t blocks, block; /* number and length of the blocks of queries or keys */
    int64_t lanes, bytes;  /* per vector of the sums; per element */
    char *parts;           /* backward: a dq per block; NULL: the sums are computed in dq itself */
    int64_t part_bytes;
    int64_t part; /* block of the current task */
    atomic_bool *failed;
} job;

static job job_of(const df_attention *a)
{
    job j = {.a = a, .bytes = df_dtypes[DF_SYM(df_attention_sums)(a->dtype)].bytes};
    j.lanes = DF_VEC_BYTES / j.bytes;
    return j;
}

/* Estimated time per score: multiply-adds per element of q and of v, and the exponential. */
static double score_ns(const job *j, double per_d, double per_e)
{
    const double mac_ns = 0.125 / (double)j->lanes;
    const double all = (per_d * (double)j->a->d + per_e * (double)j->a->e) * mac_ns;
    return (all + 8 / (double)j->lanes * 0.1) * (j->a->causal ? 0.5 : 1);
}

/* Starts with the last queries, which take longest with a causal mask. */
static void forward_task(void *context, int64_t begin, int64_t end)
{
    const job *j = context;
    const df_attention *a = j->a;
    for (int64_t item = begin; item < end; item++) {
        const int64_t head = item / j->blocks, block = j->blocks - 1 - item % j->blocks;
        const int64_t i = block * j->block, n = df_min(j->block, a->queries - i);
        const bool done = (j->bytes == 8 ? DF_HAS(F64, forward_f64) : forward_f32)(
            a, a->scale, head / a->heads, head % a->heads, i, n);
        if (!done) atomic_store(j->failed, true);
    }
}

bool DF_SYM(df_attention_forward)(const df_attention *a)
{
    const int64_t n_heads = a->batch * a->heads;
    atomic_bool failed = false;
    job j = job_of(a);
    j.failed = &failed;
    j.block = TASK_QUERIES;
    while (j.block > QUERIES && n_heads * df_ceil_div(a->queries, j.block) < MANY_TASKS)
        j.block = padded_width(j.block / 2, QUERIES);
    j.blocks = df_ceil_div(a->queries, j.block);
    const double rows = (double)df_min(j.block, a->queries);
    df_parallel_for(n_heads * j.blocks, 1, rows * (double)a->keys * score_ns(&j, 1, 1),
                    forward_task, &j);
    return !atomic_load(&failed);
}

/* Chooses ranges of keys, and whether their sums for dq need memory. */
static job backward_job(const df_attention *a)
{
    job j = job_of(a);
    const int64_t n = df_max(1, a->batch * a->kv_heads), tiles = df_ceil_div(a->keys, KEYS);
    const int64_t wanted = df_max(1, df_min(tiles, df_ceil_div(MANY_TASKS, n)));
    j.block = df_max(1, df_ceil_div(tiles, wanted)) * KEYS;
    j.blocks = df_max(1, df_ceil_div(a->keys, j.block));
    if (j.blocks == 1 && df_dtypes[a->dtype].bytes == j.bytes && a->d % j.lanes == 0) return j;
    int64_t bytes;
    if (__builtin_mul_overflow(padded_width(a->d, j.lanes) * j.bytes, a->queries, &bytes) ||
        __builtin_mul_overflow(bytes, a->batch * a->heads, &bytes))
        bytes = -1;
    j.part_bytes = bytes;
    return j;
}

int64_t DF_SYM(df_attention_workspace)(const df_attention *a)
{
    const job j = backward_job(a);
    int64_t bytes;
    if (j.part_bytes < 0 || __builtin_mul_overflow(j.part_bytes, j.blocks, &bytes)) return -1;
    return bytes;
}

static int64_t part_step(const job *j) { return padded_width(j->a->d, j->lanes); }

/* The memory in which dq of a head is summed. */
static rows dq_of(const void *context, int64_t b, int64_t h)
{
    const job *j = context;
    const df_attention *a = j->a;
    if (!j->parts) return rows_of(a, a->dq, a->heads, a->queries, a->d, b, h);
    const int64_t row = (b * a->heads + h) * a->queries;
    return (rows){j->parts + j->part * j->part_bytes + row * part_step(j) * j->bytes, a->dtype,
                  part_step(j), a->d};
}

/* Starts with the first range of each head, which takes longest with a causal mask. */
static void backward_task(void *context, int64_t begin, int64_t end)
{
    job j = *(const job *)context;
    const df_attention *a = j.a;
    const int64_t n = a->batch * a->kv_heads;
    for (int64_t item = begin; item < end; item++) {
        const int64_t first = item / n * j.block, last = df_min(first + j.block, a->keys);
        j.part = item / n;
        const bool done = (j.bytes == 8 ? DF_HAS(F64, backward_f64) : backward_f32)(
            a, a->scale, item % n / a->kv_heads, item % a->kv_heads, first, last, dq_of, &j);
        if (!done) atomic_store(j.failed, true);
    }
}

static void sum_task(void *context, int64_t begin, int64_t end)
{
    const job *j = context;
    const df_attention *a = j->a;
    for (int64_t head = begin; head < end; head++) {
        const rows dq = rows_of(a, a->dq, a->heads, a->queries, a->d, head / a->heads,
                                head % a->heads);
        const void *part = j->parts + head * a->queries * part_step(j) * j->bytes;
        const int64_t distance = j->part_bytes / j->bytes;
        if (j->bytes == 4) sum_parts_f32(&dq, part, j->blocks, distance, 0, a->queries);
        DF_WHERE(F64, else sum_parts_f64(&dq, part, j->blocks, distance, 0, a->queries);)
    }
}

bool DF_SYM(df_attention_backward)(const df_attention *a, void *workspace)
{
    atomic_bool failed = false;
    job j = backward_job(a);
    j.failed = &failed;
    j.parts = j.part_bytes ? workspace : NULL;
    const double scores = (double)(a->heads / df_max(1, a->kv_heads)) * (double)a->queries *
                          (double)df_min(j.block, a->keys);
    df_parallel_for(a->batch * a->kv_heads * j.blocks, 1, scores * score_ns(&j, 3, 2),
                    backward_task, &j);
    if (j.parts)
        df_parallel_for(a->batch * a->heads, 1,
                        (double)(a->queries * a->d * j.blocks) * 0.05, sum_task, &j);
    return !atomic_load(&failed);
}
