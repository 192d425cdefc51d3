/* Rows of a table selected by indices that may repeat, sorted by row, so that all picks of a row
 * are consecutive and in order of their indices. */
#ifndef DF_ROWS_H
#define DF_ROWS_H

#include "ops/indexing/indices.h"

#include <string.h>

typedef struct {
    int64_t row; /* of the table */
    int64_t at;  /* position of the index that selected it */
} df_row_index;

/* Bytes that `df_sort_row_indices` needs for n indices; -1 if they overflow. */
static inline int64_t row_indices_bytes(int64_t n)
{
    int64_t bytes;
    return df_mul_size(n, 2 * (int64_t)sizeof(df_row_index), &bytes) ? bytes : -1;
}

/* The picks of checked indices (depth 1, no batches), sorted by row; equal ones stay in order. */
const df_row_index *DF_SYM(df_sort_row_indices)(const layout *l, void *workspace);

/* sum += x, for n elements of a floating dtype. */
static inline void add_row(df_dtype dtype, int64_t n, void *sum, const void *x)
{
    if (dtype == DF_F32)
        for (int64_t i = 0; i < n; i++) ((float *)sum)[i] += ((const float *)x)[i];
    else
        for (int64_t i = 0; i < n; i++) ((double *)sum)[i] += ((const double *)x)[i];
}

/* The end of the run of picks with the row of pick i. */
static inline int64_t run_end(const df_row_index *picks, int64_t n, int64_t i)
{
    const int64_t row = picks[i].row;
    while (i < n && picks[i].row == row) i++;
    return i;
}

/* The start of the first run that begins in picks[begin:end], or `end`. */
static inline int64_t run_begin(const df_row_index *picks, int64_t begin, int64_t end)
{
    int64_t i = begin;
    if (i > 0)
        while (i < end && picks[i].row == picks[i - 1].row) i++;
    return i;
}

/* The first pick of a row >= `row`. */
static inline int64_t row_indices_before(const df_row_index *picks, int64_t n, int64_t row)
{
    int64_t low = 0, high = n;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (picks[middle].row < row) low = middle + 1;
        else high = middle;
    }
    return low;
}

#endif
