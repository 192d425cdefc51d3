/* Column reductions: reductions of the middle dimension of (outer, n, inner) whose rows arrive
 * piecewise, bit-identical to reducing the whole tensor. Called by clusters
 * (fuse/column_reduction.c), implemented in ops/reduction/reduce.c.
 *
 * n is divided into chunks. If inner is 1, a chunk of a row yields one number. Otherwise the rows
 * of a chunk, `inner` numbers each, are combined in groups of eight by a balanced tree, and the
 * remaining rows stay single; each of these parts is again a row. Parts may be computed in any
 * order, on any thread. `finish` combines the parts of a chunk from first to last, then the
 * chunks. */
#ifndef DF_COLUMN_REDUCTION_H
#define DF_COLUMN_REDUCTION_H

#include "base/status.h"

#define DF_COLUMN_ROWS 8 /* rows of a full part */

typedef struct {
    int64_t outer, n, inner;
    int64_t chunk, n_chunks; /* rows per chunk, chunks per index of `outer` */
    int64_t n_parts;         /* rows of `inner` numbers stored per chunk */
} df_column_reduction;

/* Sets chunk, n_chunks and n_parts from outer, n and inner. */
typedef void (*df_column_cut_fn)(df_column_reduction *f);
/* inner > 1: computes one part, or some of its columns, from DF_COLUMN_ROWS rows or 1 row, `stride`
 * apart. */
typedef void (*df_column_part_fn)(int64_t rows, int64_t cols, int64_t stride, void *out,
                                  const void *x);
/* inner = 1: computes the part of n numbers, for each of several rows. */
typedef void (*df_column_row_fn)(int64_t rows, int64_t n, void *out, const void *x);
/* `workspace` has room for 3 * outer * n_chunks * inner numbers. */
typedef void (*df_column_finish_fn)(const df_column_reduction *f, const void *parts, void *out,
                                    void *workspace);

typedef struct {
    df_column_cut_fn cut;
    df_column_part_fn part;
    df_column_row_fn row;
    df_column_finish_fn finish;
} df_column_reducer;

#endif
