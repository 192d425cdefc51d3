/* Column reductions: reductions of the middle dimension of (outer, n, inner) whose rows arrive
 * piecewise, bit-identical to reducing the whole tensor. Called by clusters (fuse/fold.c),
 * implemented in ops/reduce.c.
 *
 * n is divided into chunks. If inner is 1, a chunk of a row yields one number. Otherwise the rows
 * of a chunk, `inner` numbers each, are combined in groups of eight by a balanced tree, and the
 * remaining rows stay single; each of these parts is again a row. Parts may be computed in any
 * order, on any thread. `finish` combines the parts of a chunk from first to last, then the
 * chunks. */
#ifndef DF_FOLD_H
#define DF_FOLD_H

#include "base/status.h"

#define DF_FOLD_ROWS 8 /* rows of a full part */

typedef struct {
    int64_t outer, n, inner;
    int64_t chunk, n_chunks; /* rows per chunk, chunks per index of `outer` */
    int64_t n_parts;         /* rows of `inner` numbers stored per chunk */
} df_fold;

/* Sets chunk, n_chunks and n_parts from outer, n and inner. */
typedef void (*df_fold_cut_fn)(df_fold *f);
/* inner > 1: computes one part, or some of its columns, from DF_FOLD_ROWS rows or 1 row, `stride`
 * apart. */
typedef void (*df_fold_part_fn)(int64_t rows, int64_t cols, int64_t stride, void *out,
                                const void *x);
/* inner = 1: computes the part of n numbers, for each of several rows. */
typedef void (*df_fold_row_fn)(int64_t rows, int64_t n, void *out, const void *x);
/* `workspace` has room for 3 * outer * n_chunks * inner numbers. */
typedef void (*df_fold_finish_fn)(const df_fold *f, const void *parts, void *out, void *workspace);

typedef struct {
    df_fold_cut_fn cut;
    df_fold_part_fn part;
    df_fold_row_fn row;
    df_fold_finish_fn finish;
} df_folder;

#endif
