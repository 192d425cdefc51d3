/* The strided copy: dimensions are sorted by the order of the output; then rows of adjacent
 * elements are copied by memcpy, matrices transposed by tiles in registers, and anything else
 * copied element by element. */
#include "ops/array/strided.h"
#include "simd/simd.h"
#include "base/thread.h"

#include <string.h>
#if defined(__x86_64__)
#include "simd/intrinsics.h"
#endif

/* An element; several small ones can be copied as a larger one, which is then not aligned. */
typedef uint8_t t_b1 __attribute__((aligned(1), may_alias));
typedef uint16_t t_b2 __attribute__((aligned(1), may_alias));
typedef uint32_t t_b4 __attribute__((aligned(1), may_alias));
typedef uint64_t t_b8 __attribute__((aligned(1), may_alias));
typedef struct {
    t_b8 low, high;
} t_b16;

/* A streaming store. The lines of a tile are complete, and reading them first, as a plain store
 * does, costs more than the rest: 1048 us instead of 1799 for 2048^2 float32 on one thread (Xeon,
 * AVX-512). */
static inline void store_past_caches(char *to, v_i64 x)
{
#if defined(__AVX512F__)
    _mm512_stream_si512((__m512i *)to, (__m512i)x);
#elif defined(__AVX2__)
    _mm256_stream_si256((__m256i *)to, (__m256i)x);
#elif defined(__x86_64__)
    _mm_stream_si128((__m128i *)to, (__m128i)x);
#else
    memcpy(to, &x, sizeof x);
#endif
}

/* Orders streaming stores before the store that publishes the end of the work. */
static inline void drain_stores(void)
{
#if defined(__x86_64__)
    _mm_sfence();
#endif
}

#define LOW DF_CAT(DF_LOW, TILE)
#define HIGH DF_CAT(DF_HIGH, TILE)

/* A row of a tile is one register, or 16 bytes for small elements: more rows than registers would
 * spill. */
#define DTYPE b1
#define TILE 16
#define TILE_BYTES 16
#include "ops/array/strided_formulas.h"
#undef TILE_BYTES
#undef TILE
#undef DTYPE
#define DTYPE b2
#define TILE 8
#define TILE_BYTES 16
#include "ops/array/strided_formulas.h"
#undef TILE_BYTES
#undef TILE
#undef DTYPE
#define DTYPE b4
#if DF_VEC_BYTES == 64
#define TILE 16
#elif DF_VEC_BYTES == 32
#define TILE 8
#else
#define TILE 4
#endif
#define TILE_BYTES DF_VEC_BYTES
#include "ops/array/strided_formulas.h"
#undef TILE_BYTES
#undef TILE
#undef DTYPE
#define DTYPE b8
#if DF_VEC_BYTES == 64
#define TILE 8
#elif DF_VEC_BYTES == 32
#define TILE 4
#else
#define TILE 2
#endif
#define TILE_BYTES DF_VEC_BYTES
#include "ops/array/strided_formulas.h"
#undef TILE_BYTES
#undef TILE
#undef DTYPE
#define DTYPE b16 /* no vector has such elements: without tiles */
#include "ops/array/strided_formulas.h"
#undef DTYPE

enum {
    LINE = 64,              /* bytes of a cache line */
    BLOCK_EDGE = 128,       /* elements: side of a block of a matrix that is transposed */
    BLOCK_BYTES = 64 * 1024, /* moved per task, about */
    STREAM_BYTES = 4 << 20,  /* from this size on transposed matrices are written by streaming
                              * stores */
    SHORT = 8,               /* elements: a row this short costs less than finding the next one */
    SHORT_BYTES = 16 * 1024  /* of short rows per block: stays in the L1 cache */
};

typedef void (*row_fn)(char *to, const char *from, int64_t n, int64_t from_step, int64_t to_step);
typedef void (*transpose_fn)(char *to, int64_t to_step, const char *from, int64_t from_step,
                             int64_t rows, int64_t cols, bool stream);

static const row_fn row_fns[] = {[1] = move_row_b1, [2] = move_row_b2, [4] = move_row_b4,
                                 [8] = move_row_b8, [16] = move_row_b16};
static const transpose_fn transpose_fns[] = {
    [1] = transpose_matrix_b1, [2] = transpose_matrix_b2, [4] = transpose_matrix_b4,
    [8] = transpose_matrix_b8, [16] = transpose_matrix_b16};

/* A dimension removed from the box, divided into blocks of `block` elements. */
typedef struct {
    int64_t n, from_step, to_step, block, n_blocks;
} inner_dim;

typedef enum {
    ROWS,       /* of adjacent or strided elements */
    TRANSPOSED, /* matrices: elements along `row` are adjacent in `to`, along `col` in `from` */
    REPEATED,   /* rows of adjacent elements, each written `col` times in sequence */
    SHORT_ROWS  /* copied element by element along `col`: all first elements, all second ... */
} inner_kind;

/* The box as tasks process it: at each position of the remaining dimensions of `box`, a row
 * (`row`), or the combination of `row` and `col` that `inner` specifies. */
typedef struct {
    df_strided *box;
    inner_dim row, col;
    inner_kind inner;
    bool stream; /* write with streaming stores */
} copy_plan;

void DF_SYM(df_strided_add)(df_strided *s, int64_t n, int64_t from_stride, int64_t to_stride)
{
    const int last = s->ndim - 1;
    if (n == 1) return;
    if (last >= 0 && s->from_strides[last] == n * from_stride &&
        s->to_strides[last] == n * to_stride) {
        s->shape[last] *= n;
        s->from_strides[last] = from_stride;
        s->to_strides[last] = to_stride;
        return;
    }
    s->shape[s->ndim] = n;
    s->from_strides[s->ndim] = from_stride;
    s->to_strides[s->ndim++] = to_stride;
}

static inner_dim remove_dim(df_strided *s, int dim)
{
    inner_dim removed = {1, 0, 0, 1, 1};
    if (dim < 0) return removed;
    removed.n = s->shape[dim];
    removed.from_step = s->from_strides[dim];
    removed.to_step = s->to_strides[dim];
    s->ndim--;
    for (int d = dim; d < s->ndim; d++) {
        s->shape[d] = s->shape[d + 1];
        s->from_strides[d] = s->from_strides[d + 1];
        s->to_strides[d] = s->to_strides[d + 1];
    }
    return removed;
}

static void split(inner_dim *s, int64_t block)
{
    s->block = df_max(1, df_min(block, s->n));
    s->n_blocks = df_ceil_div(s->n, s->block);
}

/* Writes a row `times` times by copying the written part, which doubles every time. */
static void repeat_row(char *to, const char *from, int64_t row_bytes, int64_t times)
{
    const int64_t total = row_bytes * times;
    memcpy(to, from, (size_t)row_bytes);
    for (int64_t done = row_bytes; done < total; done *= 2)
        memcpy(to + done, to, (size_t)df_min(done, total - done));
}

static void copy_block(const copy_plan *w, const char *from, char *to, int64_t row_block,
                       int64_t col_block)
{
    const int bytes = w->box->bytes;
    const int64_t r = row_block * w->row.block, c = col_block * w->col.block;
    const int64_t rows = df_min(w->row.block, w->row.n - r);
    const int64_t cols = df_min(w->col.block, w->col.n - c);
    from += r * w->row.from_step + c * w->col.from_step;
    to += r * w->row.to_step + c * w->col.to_step;
    if (w->inner == REPEATED)
        repeat_row(to, from, rows * bytes, cols);
    else if (w->inner == TRANSPOSED)
        transpose_fns[bytes](to, w->col.to_step, from, w->row.from_step, rows, cols, w->stream);
    else if (w->inner == SHORT_ROWS)
        for (int64_t i = 0; i < rows; i++)
            row_fns[bytes](to + i * w->row.to_step, from + i * w->row.from_step, cols,
                           w->col.from_step, w->col.to_step);
    else if (w->row.from_step == bytes && w->row.to_step == bytes)
        memcpy(to, from, (size_t)(rows * bytes));
    else
        row_fns[bytes](to, from, rows, w->row.from_step, w->row.to_step);
}

/* Items: blocks of the inner row or matrix, for each position of the outer dimensions. */
static void copy_items(void *context, int64_t begin, int64_t end)
{
    const copy_plan *w = context;
    const df_strided *box = w->box;
    const int64_t blocks = w->row.n_blocks * w->col.n_blocks;
    int64_t at[DF_MAX_NDIM], rest = begin / blocks, block = begin % blocks;
    const char *from = box->from;
    char *to = box->to;
    for (int d = box->ndim - 1; d >= 0; d--) {
        at[d] = rest % box->shape[d];
        rest /= box->shape[d];
        from += at[d] * box->from_strides[d];
        to += at[d] * box->to_strides[d];
    }
    for (int64_t item = begin; item < end; item++) {
        copy_block(w, from, to, block / w->col.n_blocks, block % w->col.n_blocks);
        if (++block < blocks) continue;
        block = 0;
        for (int d = box->ndim - 1; d >= 0; d--) { /* the next position */
            from += box->from_strides[d];
            to += box->to_strides[d];
            if (++at[d] < box->shape[d]) break;
            from -= box->shape[d] * box->from_strides[d];
            to -= box->shape[d] * box->to_strides[d];
            at[d] = 0;
        }
    }
    if (w->stream) drain_stores();
}

/* Returns the dimension whose elements are adjacent in `from`, if the elements of the last
 * dimension are adjacent in `to` only; otherwise -1. */
static int find_transposed(const df_strided *s)
{
    const int last = s->ndim - 1;
    if (last < 1 || s->to_strides[last] != s->bytes || s->from_strides[last] == s->bytes ||
        s->from_strides[last] == 0)
        return -1;
    for (int d = last - 1; d >= 0; d--)
        if (s->from_strides[d] == s->bytes) return d;
    return -1;
}

/* Returns the dimension that repeats rows of adjacent elements, one copy after another, or -1. */
static int find_repeated(const df_strided *s)
{
    const int last = s->ndim - 1;
    return last >= 1 && s->from_strides[last] == s->bytes && s->to_strides[last] == s->bytes &&
                   s->from_strides[last - 1] == 0 &&
                   s->to_strides[last - 1] == s->shape[last] * s->bytes
               ? last - 1
               : -1;
}

/* Returns the last dimension but one if the rows are short and it is longer, or -1. */
static int find_short(const df_strided *s)
{
    const int last = s->ndim - 1;
    return last >= 1 && s->shape[last] <= SHORT && s->shape[last - 1] > s->shape[last] ? last - 1
                                                                                       : -1;
}

/* Regards neighbours in rows of adjacent elements as one element, as far as it has a size. */
static void widen_elements(copy_plan *w)
{
    int bytes = w->box->bytes;
    if (w->row.from_step != bytes || w->row.to_step != bytes) return;
    for (; bytes < 8 && w->row.n % 2 == 0; bytes *= 2) w->row.n /= 2;
    w->box->bytes = bytes;
    w->row.from_step = w->row.to_step = bytes;
}

/* Divides the inner part into blocks for tasks; returns the estimated ns per element. */
static double split_inner(copy_plan *w, int64_t n)
{
    const int bytes = w->box->bytes;
    const int64_t per_task = BLOCK_BYTES / bytes;
    if (w->inner == TRANSPOSED) {
        split(&w->col, BLOCK_EDGE);
        split(&w->row, df_max(BLOCK_EDGE, per_task / w->col.block / LINE * LINE));
        w->stream = n * bytes >= STREAM_BYTES;
        return bytes * 0.15;
    }
    if (w->inner == SHORT_ROWS) {
        split(&w->row, w->row.n);
        split(&w->col, SHORT_BYTES / bytes / w->row.n);
        return 0.5;
    }
    split(&w->row, w->inner == REPEATED ? w->row.n : per_task);
    split(&w->col, w->inner == REPEATED ? df_max(1, per_task / w->row.n) : 1);
    const bool adjacent = w->row.from_step == bytes && w->row.to_step == bytes;
    return adjacent ? bytes * 0.1 : 0.6;
}

void DF_SYM(df_strided_copy)(df_strided *s)
{
    copy_plan w = {.box = s, .inner = ROWS};
    int64_t n = 1;
    for (int d = 0; d < s->ndim; d++) n *= s->shape[d];
    if (n == 0) return;
    int col_dim = find_transposed(s);
    if (col_dim >= 0) w.inner = TRANSPOSED;
    else if ((col_dim = find_repeated(s)) >= 0) w.inner = REPEATED;
    else if ((col_dim = find_short(s)) >= 0) w.inner = SHORT_ROWS;
    w.row = remove_dim(s, s->ndim - 1);
    w.col = remove_dim(s, col_dim);
    const int64_t positions = n / (w.row.n * w.col.n);
    if (w.inner == SHORT_ROWS) widen_elements(&w);
    const double cost = split_inner(&w, n);
    const int64_t per_item = w.row.block * w.col.block;
    const int64_t items = positions * w.row.n_blocks * w.col.n_blocks;
    const int64_t grain = df_max(1, BLOCK_BYTES / s->bytes / per_item);
    df_parallel_for(items, grain, 4 + cost * (double)per_item, copy_items, &w);
}

void DF_SYM(df_fill)(void *to, int64_t n, const void *value, int bytes)
{
    df_strided s;
    df_strided_begin(&s, value, to, bytes);
    DF_SYM(df_strided_add)(&s, n, 0, bytes);
    DF_SYM(df_strided_copy)(&s);
}
