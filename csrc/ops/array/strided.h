/* Copies a box of elements between two strided layouts; transpose, slices, padding, tiling and
 * broadcasting use it. Tensors have no strides: the ops compute them. Independent of the dtype
 * except for its size. */
#ifndef DF_STRIDED_H
#define DF_STRIDED_H

#include "op/op.h"

/* Element i0, i1, ... of the box is read at from + sum(i * from_strides) and written at
 * to + sum(i * to_strides). Strides are in bytes and may be negative; those of `from` may be 0. */
typedef struct {
    int ndim;
    int bytes; /* of an element: 1, 2, 4 or 8 */
    const char *from;
    char *to;
    int64_t shape[DF_MAX_NDIM], from_strides[DF_MAX_NDIM], to_strides[DF_MAX_NDIM];
} df_strided;

/* Initialises a box without dimensions. An initializer would clear the 6 KB of all dimensions. */
static inline void df_strided_begin(df_strided *s, const void *from, void *to, int bytes)
{
    s->ndim = 0;
    s->bytes = bytes;
    s->from = from;
    s->to = to;
}

/* Appends an innermost dimension; it is merged with the previous one if one stride covers both. */
void DF_SYM(df_strided_add)(df_strided *s, int64_t n, int64_t from_stride, int64_t to_stride);
/* Copies the box, with threads if it is large. An empty box copies nothing. */
void DF_SYM(df_strided_copy)(df_strided *s);

/* Stores n copies of the element at `value`. */
void DF_SYM(df_fill)(void *to, int64_t n, const void *value, int bytes);

/* Row-major strides in bytes of a shape. */
static inline void df_row_strides(int ndim, const int64_t *shape, int64_t bytes, int64_t *strides)
{
    for (int d = ndim - 1; d >= 0; d--) {
        strides[d] = bytes;
        bytes *= shape[d] > 0 ? shape[d] : 1;
    }
}

#endif
