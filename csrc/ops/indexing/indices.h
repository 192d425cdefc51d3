/* Common to selecting rows by index (gather.c) and writing rows by index (scatter.c): the layout of
 * the operands, and the conversion of checked indices to row numbers. Moves no data.
 *
 * Another thread may write shared memory (DLPack) between check and use, so a row number is checked
 * again when it is used. In that case an arbitrary row is accessed, but never memory outside the
 * table.
 *
 *   table   [batches, outer, rows, inner]     params of gather, the output of scatter
 *   indices [batches, picks, depth]           depth numbers select one of `rows`
 *   picked  [batches, outer, picks, inner]    the output of gather, updates of scatter */
#ifndef DF_INDICES_H
#define DF_INDICES_H

#include "op/op.h"
#include "simd/simd.h"
#include "base/thread.h"

enum { CHUNK = 256 }; /* indices resolved at a time, on the stack */

typedef struct {
    int64_t batches, outer, rows, inner, picks;
    int axis, batch_dims;
    int64_t depth;             /* numbers per index */
    bool nested;               /* the last dimension of indices has `depth` numbers */
    bool drop_negative;        /* a negative index selects no row; otherwise it counts from the
                                * end */
    const df_tensor *indices;
    const int64_t *table_shape;
    int table_ndim;
} layout;

static inline int64_t product(const int64_t *shape, int begin, int end)
{
    int64_t n = 1;
    for (int i = begin; i < end; i++) n *= shape[i];
    return n;
}

/* Describes a table of `shape` whose rows are selected by `indices` from `axis` on. */
static inline layout lay_out(int ndim, const int64_t *shape, const df_tensor *indices, int axis,
                             int batch_dims, bool nested)
{
    layout l = {.axis = axis, .batch_dims = batch_dims, .nested = nested, .indices = indices,
                .table_shape = shape, .table_ndim = ndim};
    const int last = indices->ndim - (nested ? 1 : 0);
    l.depth = nested ? indices->shape[last] : 1;
    l.batches = product(shape, 0, batch_dims);
    l.outer = product(shape, batch_dims, axis);
    l.rows = product(shape, axis, axis + (int)l.depth);
    l.inner = product(shape, axis + (int)l.depth, ndim);
    l.picks = product(indices->shape, batch_dims, last);
    return l;
}

DF_INLINE int64_t index_at(const df_tensor *indices, int64_t i)
{
    return indices->dtype == DF_I32 ? ((const int32_t *)indices->data)[i]
                                    : ((const int64_t *)indices->data)[i];
}

/* Row numbers of `n` <= CHUNK indices from index `first` on (numbered over all batches); negative
 * if an index selects no row. */
void DF_SYM(df_resolve_indices)(const layout *l, int64_t first, int64_t n, int64_t *rows);

/* Checks every index before any is used. Messages name the operand indexed, `table`. */
df_status DF_SYM(df_check_indices)(const df_call *call, const layout *l, const char *table,
                                   df_error *err);

/* --- checks of shapes and attributes, for infer ------------------------------------------------*/

static inline bool may_equal(int64_t a, int64_t b)
{
    return a == b || a == DF_UNKNOWN || b == DF_UNKNOWN;
}

static inline df_status check_index_dtype(const df_call *call, int input, df_error *err)
{
    const df_dtype d = call->in[input]->dtype;
    return d == DF_I32 || d == DF_I64 ? DF_OK
                                      : df_fail_dtype(call, input, "int32 or int64 indices", err);
}

/* Checks the batch dimensions of `indices` and of a table of `shape`: inside both, and equal. */
static inline df_status check_batch(const df_call *call, int ndim, const int64_t *shape,
                                    const df_tensor *indices, int64_t batch_dims, int axis,
                                    bool nested, df_error *err)
{
    const int limit = indices->ndim - (nested ? 1 : 0);
    if (batch_dims < 0 || batch_dims > limit || batch_dims > axis)
        return df_fail(err, DF_INVALID_ARGUMENT, "%s: batch_dims is %lld with indices of shape %s "
                       "and axis %d, expected 0 to %d", call->op->name, (long long)batch_dims,
                       df_shape_text(indices->ndim, indices->shape).text, axis,
                       limit < axis ? limit : axis);
    for (int i = 0; i < batch_dims; i++)
        if (!may_equal(shape[i], indices->shape[i]))
            return df_fail(err, DF_BAD_SHAPE, "%s: shapes %s and, of indices, %s differ in batch "
                           "dimension %d, expected the first %lld equal", call->op->name,
                           df_shape_text(ndim, shape).text,
                           df_shape_text(indices->ndim, indices->shape).text, i,
                           (long long)batch_dims);
    return DF_OK;
}

/* Checks that the last dimension of indices has one number per dimension of the table from `axis`
 * on. */
static inline df_status check_depth(const df_call *call, int ndim, const int64_t *shape,
                                    const df_tensor *indices, int axis, df_error *err)
{
    if (indices->ndim < 1)
        return df_fail(err, DF_BAD_SHAPE, "%s: indices is a scalar, expected at least 1 dimension",
                       call->op->name);
    const int64_t depth = indices->shape[indices->ndim - 1];
    if (depth == DF_UNKNOWN)
        return df_fail(err, DF_BAD_SHAPE, "%s: the last dimension of indices, shape %s, is unknown",
                       call->op->name, df_shape_text(indices->ndim, indices->shape).text);
    if (depth > ndim - axis)
        return df_fail(err, DF_BAD_SHAPE, "%s: indices has shape %s, %lld numbers per index, "
                       "expected at most %d for a tensor of shape %s", call->op->name,
                       df_shape_text(indices->ndim, indices->shape).text, (long long)depth,
                       ndim - axis, df_shape_text(ndim, shape).text);
    return DF_OK;
}

/* The shape of `picked`: table[:axis] + indices[batch_dims:] + table[axis + depth:]. */
static inline df_status picked_shape(const df_call *call, int ndim, const int64_t *shape,
                                     const df_tensor *indices, int axis, int batch_dims,
                                     bool nested, int64_t *picked, int *n_picked, df_error *err)
{
    const int last = indices->ndim - (nested ? 1 : 0);
    const int depth = nested ? (int)indices->shape[last] : 1;
    int n = 0;
    if (axis + last - batch_dims + ndim - axis - depth > DF_MAX_NDIM)
        return df_fail(err, DF_BAD_SHAPE, "%s: the result has %d dimensions, expected at most %d",
                       call->op->name, last - batch_dims + ndim - depth, DF_MAX_NDIM);
    for (int i = 0; i < axis; i++) picked[n++] = shape[i];
    for (int i = batch_dims; i < last; i++) picked[n++] = indices->shape[i];
    for (int i = axis + depth; i < ndim; i++) picked[n++] = shape[i];
    *n_picked = n;
    return DF_OK;
}

#endif
