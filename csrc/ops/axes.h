/* Shapes along axes: the dimensions along which an op works, and the dense block around them.
 * Independent of data. */
#ifndef DF_AXES_H
#define DF_AXES_H

#include "op/op.h"

/* A dense block (outer, n, inner): the sizes before an axis, along it and after it. */
typedef struct {
    int64_t outer, n, inner;
} df_span;

/* The span of dimensions [first, last] of a shape. */
static inline df_span df_span_of(const df_tensor *x, int first, int last)
{
    df_span s = {1, 1, 1};
    for (int d = 0; d < x->ndim; d++)
        *(d < first ? &s.outer : d <= last ? &s.n : &s.inner) *= x->shape[d];
    return s;
}

/* Marks the dimensions in the attribute `axes` of an op. */
static inline df_status df_mark_axes(const df_call *call, df_ints axes, bool marked[DF_MAX_NDIM],
                                     df_error *err)
{
    const df_tensor *x = call->in[0];
    for (int d = 0; d < x->ndim; d++) marked[d] = false;
    for (int64_t i = 0; i < axes.n; i++) {
        int axis;
        df_status status = df_normalize_axis(axes.v[i], x->ndim, call->op->name, &axis, err);
        if (status != DF_OK) return status;
        if (marked[axis])
            return df_fail(err, DF_INVALID_ARGUMENT,
                           "%s: axis %lld of shape %s is given twice, expected each axis once",
                           call->op->name, (long long)axes.v[i],
                           df_shape_text(x->ndim, x->shape).text);
        marked[axis] = true;
    }
    return DF_OK;
}

#endif
