/* A tensor: a dense row-major block with data, shape and dtype, without strides. */
#ifndef DF_TENSOR_H
#define DF_TENSOR_H

#include "base/dtype.h"
#include "base/memory.h"

#define DF_MAX_NDIM 254
#define DF_INLINE_NDIM 8 /* shapes up to this rank are stored inside the tensor */
#define DF_UNKNOWN (-1)  /* a dimension whose size is not known yet */
#define DF_OPEN (INT64_MIN + 1) /* any other integer that is not known yet: a bound, an axis */
#define DF_TOO_MANY INT64_MAX /* number of elements of a tensor that is too large to allocate */

typedef struct df_tensor {
    void *data; /* NULL: only dtype and shape are known (infer) */
    int64_t size; /* elements; -1 if a dimension is unknown */
    int64_t *shape; /* `dims`, or heap memory for ranks above DF_INLINE_NDIM */
    df_buffer *buffer; /* NULL if the memory is owned elsewhere (arena, stack) */
    df_dtype dtype;
    int ndim;
    int64_t dims[DF_INLINE_NDIM];
} df_tensor;

/* Initialises `t`: no data, no buffer, rank 0. */
void df_tensor_init(df_tensor *t);
/* Sets dtype and shape (dimensions may be DF_UNKNOWN) and computes size (DF_TOO_MANY if too large).
 * `op` names the caller in messages. `shape` may not point into `t`. */
df_status df_tensor_set(df_tensor *t, df_dtype dtype, int ndim, const int64_t *shape,
                        const char *op, df_error *err);
/* Allocates a new buffer for `t`, whose dtype and shape must be known. */
df_status df_tensor_alloc(df_tensor *t, const char *op, df_error *err);
/* Releases buffer and heap shape. */
void df_tensor_clear(df_tensor *t);

/* Size in bytes; INT64_MAX if too large, which no allocation grants. */
static inline int64_t df_tensor_bytes(const df_tensor *t)
{
    if (t->size > INT64_MAX / DF_MAX_BYTES) return INT64_MAX;
    return t->size * df_dtypes[t->dtype].bytes;
}
static inline bool df_same_dims(int ndim, const int64_t *a, const int64_t *b)
{
    for (int d = 0; d < ndim; d++)
        if (a[d] != b[d]) return false;
    return true;
}
static inline bool df_same_shape(const df_tensor *a, const df_tensor *b)
{
    return a->ndim == b->ndim && df_same_dims(a->ndim, a->shape, b->shape);
}
/* True if the shapes agree in all dimensions that are known in both. */
bool df_may_be_same_shape(const df_tensor *a, const df_tensor *b);

/* Text for messages: "(2, 3)", "(?, 3)" for an unknown dimension, "(1, 2, ...)" if long. */
#define DF_TEXT_BYTES 160
typedef struct {
    char text[DF_TEXT_BYTES];
} df_text;
df_text df_shape_text(int ndim, const int64_t *shape);
df_text df_tensor_text(const df_tensor *t); /* "float32 (2, 3)" */

/* axis in [-ndim, ndim) -> [0, ndim), or an error that names `op`. */
df_status df_normalize_axis(int64_t axis, int ndim, const char *op, int *out, df_error *err);

#endif
