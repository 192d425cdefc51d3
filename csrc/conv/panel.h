/* The inner product of convolutions: a column panel of C = A B, where the rows of A are anywhere in
 * memory and each is a sequence of segments at the same distances from its start. For outputs a row
 * is the window under a pixel and a segment one line of it; for the gradient of weights a row is
 * the pixels under one weight and a segment a line of the image. */
#ifndef DF_CONV_PANEL_H
#define DF_CONV_PANEL_H

#include "op/op.h"
#include "simd/simd.h"

/* Registers for C, B and one element of A: 8 x 3 or 6 x 4 of 32, 4 x 3 of 16. */
#if defined(__AVX512F__) || defined(__aarch64__)
#define DF_CONV_COLS 4 /* vectors of the widest panel */
#else
#define DF_CONV_COLS 3
#endif
#define DF_CONV_HEIGHT 24 /* a multiple of all kernels' heights */

typedef struct {
    int64_t offset, length;
} df_conv_segment;

/* Elements, not bytes, everywhere. */
typedef struct {
    int64_t n_rows, cols;
    const void *a;
    const int64_t *rows; /* where each row starts */
    const df_conv_segment *segments;
    int64_t n_segments, step; /* from one element of a segment to the next */
    const void *b;
    int64_t b_row;
    void *c;
    int64_t c_row;
    bool accumulate; /* C += A B */
} df_conv_panel;

void DF_SYM(df_conv_panel_run)(df_dtype dtype, const df_conv_panel *panel);

/* Is a part of a vector loaded by one instruction? Else rows of B must be padded. */
#if defined(__AVX512BW__)
#define DF_CONV_LOADS_PARTS 1
#else
#define DF_CONV_LOADS_PARTS 0
#endif

/* Columns cut into panels of about equal width. */
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

/* First column of a panel, rounded to vectors: at the end it may be beyond n. */
static inline int64_t df_conv_panel_start(const df_conv_columns *c, int64_t panel)
{
    const int64_t each = c->vectors / c->n_panels, rest = c->vectors % c->n_panels;
    return (panel * each + df_min(panel, rest)) * c->lanes;
}

/* Packs rows x cols elements of B, at row_step and col_step from each other, padded with zeros to
 * `width` columns. One of the steps is 1. */
void DF_SYM(df_conv_pack)(df_dtype dtype, void *to, int64_t width, const void *from, int64_t rows,
                          int64_t row_step, int64_t cols, int64_t col_step);

/* Packs the elements of A that `runs` of rows have in common, segment by segment: they are
 * neighbours at a + run.offset + segment.offset + k * step, and `width` from the next ones in
 * `to`. */
void DF_SYM(df_conv_pack_runs)(df_dtype dtype, void *to, int64_t width, const void *a,
                               const df_conv_segment *runs, int64_t n_runs,
                               const df_conv_segment *segments, int64_t n_segments, int64_t step);

/* to[rows[i] + run.offset + j] += from[i * from_row + j] for j < run.length, for each run in turn;
 * the runs follow each other in `from`. */
void DF_SYM(df_conv_scatter)(df_dtype dtype, void *to, const int64_t *rows, int64_t n_rows,
                             const df_conv_segment *runs, int64_t n_runs, const void *from,
                             int64_t from_row);

#endif
