/* Basic indexing: keys, one per dimension or new dimension, resolved against a shape like Python
 * slices. Keys are four lists of equal length: begin, end, strides, kind. */
#ifndef DF_SLICES_H
#define DF_SLICES_H

#include "op/op.h"

#define DF_SLICE_MISSING INT64_MIN /* an omitted begin or end, as in x[::2] */

typedef enum {
    DF_KEY_SLICE, /* begin:end:stride of the next dimension */
    DF_KEY_INDEX, /* element `begin` of the next dimension, which is dropped */
    DF_KEY_NEW,   /* a new dimension of size 1 */
    DF_KEY_BLOCK  /* `end` elements of the next dimension from `begin` on, all inside it; -1: the
                   * rest */
} df_key_kind;

#define DF_SLICE_ATTRS \
    {"begin", DF_ATTR_INTS, .open = true}, {"end", DF_ATTR_INTS, .open = true}, \
        {"strides", DF_ATTR_INTS, .open = true}, {"kind", DF_ATTR_INTS}

/* Per dimension of the tensor: first element, step and number of elements; and the shape of the
 * result. Sizes in unknown dimensions are unknown. */
typedef struct {
    int64_t begin[DF_MAX_NDIM], stride[DF_MAX_NDIM], size[DF_MAX_NDIM];
    int out_ndim;
    int64_t out_shape[DF_MAX_NDIM];
} df_slices;

/* Python's slice(begin, end, stride).indices(n), except that begin of an empty slice is 0, so that
 * every offset is inside the tensor. */
void df_slice_indices(int64_t begin, int64_t end, int64_t stride, int64_t n, int64_t *first,
                      int64_t *count);
/* keys: the four lists. Dimensions without a key are taken whole. */
df_status df_slices_resolve(df_slices *s, const df_attr *keys, int ndim, const int64_t *shape,
                            const char *op, df_error *err);

#endif
