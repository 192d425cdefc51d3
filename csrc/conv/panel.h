/* The inner product of convolutions: a column panel of C = A B. The rows of A may be anywhere in
 * memory; each is a sequence of segments at fixed distances from its start. For outputs, a row is
 * the window of a pixel and a segment one line of it. For the gradient of weights, a row is the set
 * of pixels under one weight and a segment a line of the image. */
#ifndef DF_CONV_PANEL_H
#define DF_CONV_PANEL_H

#include "gemm/epilogue.h"
#include "op/op.h"
#include "simd/simd.h"

/* Registers for C, B and one element of A: 8 x 3 or 6 x 4 of 32, or 4 x 3 of 16. */
#if defined(__AVX512F__) || defined(__aarch64__)
#define DF_CONV_COLS 4 /* vectors of the widest panel */
#else
#define DF_CONV_COLS 3
#endif
#define DF_CONV_HEIGHT 24 /* a multiple of the height of every kernel */

/* `skip`: the number of rows of B between the previous segment and this one that are not read. */
typedef struct {
    int64_t offset, length, skip;
} df_conv_segment;

/* All distances are in elements. */
typedef struct {
    int64_t n_rows, cols;
    const void *a;
    const int64_t *rows; /* start offset of each row */
    const df_conv_segment *segments;
    int64_t n_segments, step; /* number of segments; distance of elements in a segment */
    const void *b;
    int64_t b_row;
    const void *fetch; /* memory that is read next, to be prefetched while this panel is computed */
    int64_t fetch_bytes; /* 0: none */
    void *c;
    const int64_t *c_rows; /* offset of each row of C; NULL: c_row apart */
    int64_t c_row;
    bool accumulate; /* C += A B */
    const df_finish *finish; /* steps on C, or NULL */
    int64_t at, column;      /* of the element at c, for the steps */
} df_conv_panel;

void DF_SYM(df_conv_panel_run)(df_dtype dtype, const df_conv_panel *panel);

/* 1 if a partial vector is loaded by one instruction. Otherwise rows of B must be padded. */
#if defined(__AVX512BW__)
#define DF_CONV_LOADS_PARTS 1
#else
#define DF_CONV_LOADS_PARTS 0
#endif

/* Columns divided into panels of about equal width. */
typedef struct {
    int64_t n, lanes, vectors, n_panels;
} df_conv_columns;

static inline df_conv_columns df_conv_cut_columns(int64_t n, int64_t bytes)
{
    df_conv_columns c = {.n = n, .lanes = DF_VEC_BYTES / bytes};
    c.vectors = df_ceil_div(n, c.lanes);
    c.n_panels = df_ceil_div(c.vectors, DF_CONV_COLS);
    return c;
}

/* First column of a panel, rounded up to vectors; may exceed n at the end. */
static inline int64_t df_conv_panel_start(const df_conv_columns *c, int64_t panel)
{
    const int64_t each = c->vectors / c->n_panels, rest = c->vectors % c->n_panels;
    return (panel * each + df_min(panel, rest)) * c->lanes;
}

/* Packs rows x cols elements of B, row_step and col_step apart, padded with zeros to `width`
 * columns. One of the steps is 1. 16-bit floats are widened. */
void DF_SYM(df_conv_pack)(df_dtype dtype, void *to, int64_t width, const void *from, int64_t rows,
                          int64_t row_step, int64_t cols, int64_t col_step);

/* Packs the elements of A for `runs` of adjacent rows, segment by segment: the elements of a run
 * are adjacent at a + run.offset + segment.offset + k * step, and stored `width` apart per
 * element. 16-bit floats are widened. */
void DF_SYM(df_conv_pack_runs)(df_dtype dtype, void *to, int64_t width, const void *a,
                               const df_conv_segment *runs, int64_t n_runs,
                               const df_conv_segment *segments, int64_t n_segments, int64_t step);

/* to[rows[i] + run.offset + j] += from[i * from_row + j] for j < run.length, for each run in order;
 * the runs are consecutive in `from`. */
void DF_SYM(df_conv_scatter)(df_dtype dtype, void *to, const int64_t *rows, int64_t n_rows,
                             const df_conv_segment *runs, int64_t n_runs, const void *from,
                             int64_t from_row);

#endif
