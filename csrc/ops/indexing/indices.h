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

#include "base/status.h"
#include "op/op.h"
#include "simd/simd.h"
#include "base/thread.h"

#include <stdio.h>

enum { CHUNK = 256 };          /* indices resolved at a time, on the stack */
enum { CHECK_GRAIN = 16384 };  /* indices per block of the check */

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

/* Copies every step-th of n numbers; adjacent numbers, the usual case, have a vector loop. */
DF_INLINE void copy_numbers(const df_tensor *indices, int64_t at, int64_t step, int64_t n,
                            int64_t *out)
{
    const int32_t *narrow = (const int32_t *)indices->data + at;
    const int64_t *wide = (const int64_t *)indices->data + at;
    if (indices->dtype == DF_I32 && step == 1)
        for (int64_t j = 0; j < n; j++) out[j] = narrow[j];
    else if (indices->dtype == DF_I32)
        for (int64_t j = 0; j < n; j++) out[j] = narrow[j * step];
    else if (step == 1)
        for (int64_t j = 0; j < n; j++) out[j] = wide[j];
    else
        for (int64_t j = 0; j < n; j++) out[j] = wide[j * step];
}

/* Number k of `n` indices from index `first` on. Negative numbers count from the end; each result
 * is inside its dimension, or -1 if it selects no row. */
static inline void read_numbers(const layout *l, int64_t first, int64_t n, int64_t k, int64_t *out)
{
    const int64_t dim = l->table_shape[l->axis + k];
    const int64_t wrap = l->drop_negative ? 0 : dim, none = l->drop_negative ? -1 : 0;
    copy_numbers(l->indices, first * l->depth + k, l->depth, n, out);
    __asm__ volatile("" ::: "memory"); /* the code below must use the copy */
    for (int64_t j = 0; j < n; j++) {
        const int64_t i = out[j] + (out[j] < 0 ? wrap : 0);
        out[j] = (uint64_t)i < (uint64_t)dim ? i : none;
    }
}

/* Row numbers of `n` <= CHUNK indices from index `first` on (numbered over all batches); negative
 * if an index selects no row. */
static inline void resolve(const layout *l, int64_t first, int64_t n, int64_t *rows)
{
    int64_t numbers[CHUNK];
    if (l->depth == 0)
        for (int64_t j = 0; j < n; j++) rows[j] = 0;
    else read_numbers(l, first, n, 0, rows);
    for (int64_t k = 1; k < l->depth; k++) {
        const int64_t dim = l->table_shape[l->axis + k];
        read_numbers(l, first, n, k, numbers);
        for (int64_t j = 0; j < n; j++) rows[j] = rows[j] * dim + numbers[j];
    }
}

typedef struct {
    const layout *l;
    int bad; /* atomic */
} index_check;

static inline bool outside(const layout *l, int64_t i, int64_t dim)
{
    return (i >= dim) | (i < -dim && !l->drop_negative);
}

static inline void check_block(void *context, int64_t begin, int64_t end)
{
    index_check *c = context;
    const layout *l = c->l;
    int bad = 0;
    for (int64_t k = 0; k < l->depth; k++) {
        const int64_t dim = l->table_shape[l->axis + k];
        const int64_t low = l->drop_negative ? INT64_MIN : -dim;
        for (int64_t j = begin; j < end; j += CHUNK) {
            int64_t i[CHUNK], n = df_min(CHUNK, end - j);
            copy_numbers(l->indices, j * l->depth + k, l->depth, n, i);
            for (int64_t m = 0; m < n; m++) bad |= (i[m] >= dim) | (i[m] < low);
        }
    }
    if (bad) __atomic_store_n(&c->bad, 1, __ATOMIC_RELAXED);
}

/* Reports the first number of indices that is out of range; `table` is the operand indexed. */
static inline df_status fail_index(const df_call *call, const layout *l, const char *table,
                                   df_error *err)
{
    const df_tensor *ix = l->indices;
    char at[DF_TEXT_BYTES] = "";
    int64_t p = 0, i = 0, dim = 0, k = 0;
    for (; p < ix->size; p++) {
        k = p % l->depth;
        i = index_at(ix, p);
        dim = l->table_shape[l->axis + k];
        if (outside(l, i, dim)) break;
    }
    int used = 0;
    for (int d = 0; d < ix->ndim && used < DF_TEXT_BYTES - 32; d++) {
        const int64_t below = product(ix->shape, d + 1, ix->ndim);
        used += snprintf(at + used, sizeof at - (size_t)used, "%s%lld", d ? ", " : "[",
                         (long long)(p / below % ix->shape[d]));
    }
    char low[32] = "";
    if (!l->drop_negative) snprintf(low, sizeof low, "%lld <= ", (long long)-dim);
    return df_fail(err, DF_OUT_OF_RANGE,
                   "%s: indices%s%s is %lld, expected %sindex < %lld (axis %d of %s with shape %s)",
                   call->op->name, at, used ? "]" : "", (long long)i, low, (long long)dim,
                   l->axis + (int)k, table, df_shape_text(l->table_ndim, l->table_shape).text);
}

/* Checks every index before any is used. */
static inline df_status check_indices(const df_call *call, const layout *l, const char *table,
                                      df_error *err)
{
    index_check c = {l, 0};
    if (l->depth == 0) return DF_OK;
    df_parallel_for(l->indices->size / l->depth, CHECK_GRAIN, 0.2 * (double)l->depth, check_block,
                    &c);
    return c.bad ? fail_index(call, l, table, err) : DF_OK;
}

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
