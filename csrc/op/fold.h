/* Reductions of the middle of (outer, n, inner) whose elements come piece by piece, bit for bit
 * those of whole tensors. Knows no op by name.
 *
 * n is cut into chunks. Where inner is 1, a chunk of a row yields one number. Elsewhere a chunk's
 * rows of `inner` numbers are taken eight at a time, each eight as a balanced tree, and the rest
 * one by one; each of these parts is a row again. Parts may be made in any order, on any thread.
 * `finish` combines those of a chunk from the first to the last, and then the chunks. */
#ifndef DF_FOLD_H
#define DF_FOLD_H

#include "base/status.h"

#define DF_FOLD_ROWS 8 /* of a part */

typedef struct {
    int64_t outer, n, inner;
    int64_t chunk, n_chunks; /* length, number of those of each of `outer` */
    int64_t n_parts;         /* rows of `inner` numbers kept for each chunk */
} df_fold;

/* Sets what follows from outer, n and inner. */
typedef void (*df_fold_cut_fn)(df_fold *f);
/* inner > 1: out = one part, of DF_FOLD_ROWS rows or 1, which follow each other at distance
 * `stride`; or of some columns of it. */
typedef void (*df_fold_part_fn)(int64_t rows, int64_t cols, int64_t stride, void *out,
                                const void *x);
/* inner = 1: out = the part of a row of n numbers, for each of several rows. */
typedef void (*df_fold_row_fn)(int64_t rows, int64_t n, void *out, const void *x);
/* `workspace` has room for three times outer * n_chunks * inner numbers. */
typedef void (*df_fold_finish_fn)(const df_fold *f, const void *parts, void *out, void *workspace);

typedef struct {
    df_fold_cut_fn cut;
    df_fold_part_fn part;
    df_fold_row_fn row;
    df_fold_finish_fn finish;
} df_folder;

#endif
