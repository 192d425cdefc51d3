/* Ops on one tensor that do not compute: reshapes of the same memory, broadcasting, transposing.
 * They move elements by size, independent of the dtype. */
#include "ops/array/strided.h"

#include <string.h>

/* Each op in this file has one list or one axis as attribute. */
enum { SHAPE = 0, AXIS = 0, AXES = 0, PERM = 0 };

static df_status copy_all(const df_call *call, df_error *err)
{
    (void)err;
    if (call->in[0]->size)
        memcpy(call->out[0]->data, call->in[0]->data, (size_t)df_tensor_bytes(call->in[0]));
    return DF_OK;
}

static int64_t whole_view(const df_call *call)
{
    (void)call;
    return 0;
}

static df_status set_like(const df_call *call, int ndim, const int64_t *shape, df_error *err)
{
    return df_tensor_set(call->out[0], call->in[0]->dtype, ndim, shape, call->op->name, err);
}

/* --- reshape --- */

static df_status fail_reshape(const df_call *call, df_error *err)
{
    const df_tensor *x = call->in[0];
    const df_ints want = call->attrs[SHAPE].list;
    return df_fail(err, DF_BAD_SHAPE, "%s: %s has %lld elements, which do not fit shape %s",
                   call->op->name, df_tensor_text(x).text, (long long)x->size,
                   df_shape_text((int)want.n, want.v).text);
}

DF_ONCE(df_status, infer_reshape, (const df_call *call, df_error *err))
{
    const df_tensor *x = call->in[0];
    const df_ints want = call->attrs[SHAPE].list;
    int64_t shape[DF_MAX_NDIM], known = 1;
    int open = -1; /* the dimension given as -1 */
    if (want.n > DF_MAX_NDIM)
        return df_fail(err, DF_BAD_SHAPE, "%s: %lld dimensions, expected 0 to %d", call->op->name,
                       (long long)want.n, DF_MAX_NDIM);
    for (int i = 0; i < want.n; i++) {
        shape[i] = want.v[i];
        if (shape[i] < -1)
            return df_fail(err, DF_BAD_SHAPE, "%s: dimension %d is %lld, expected 0 or more, or -1",
                           call->op->name, i, (long long)shape[i]);
        if (shape[i] == -1 && open >= 0)
            return df_fail(err, DF_BAD_SHAPE, "%s: shape %s has more than one -1", call->op->name,
                           df_shape_text((int)want.n, want.v).text);
        if (shape[i] == -1) open = i;
        else if (!df_mul_size(known, shape[i], &known)) return fail_reshape(call, err);
    }
    if (x->size != DF_UNKNOWN) {
        if (open >= 0 && known > 0 && x->size % known == 0) shape[open] = x->size / known;
        else if (open >= 0 || known != x->size) return fail_reshape(call, err);
    }
    return set_like(call, (int)want.n, shape, err);
}

/* --- expand_dims, squeeze --- */

DF_ONCE(df_status, infer_expand_dims, (const df_call *call, df_error *err))
{
    const df_tensor *x = call->in[0];
    int64_t shape[DF_MAX_NDIM + 1];
    int axis;
    df_status status =
        df_normalize_axis(call->attrs[AXIS].i, x->ndim + 1, call->op->name, &axis, err);
    if (status != DF_OK) return status;
    for (int d = 0; d < axis; d++) shape[d] = x->shape[d];
    shape[axis] = 1;
    for (int d = axis; d < x->ndim; d++) shape[d + 1] = x->shape[d];
    return set_like(call, x->ndim + 1, shape, err);
}

DF_ONCE(df_status, infer_squeeze, (const df_call *call, df_error *err))
{
    const df_tensor *x = call->in[0];
    const df_ints axes = call->attrs[AXES].list;
    bool drop[DF_MAX_NDIM] = {false};
    int64_t shape[DF_MAX_NDIM];
    int ndim = 0, axis;
    for (int i = 0; i < axes.n; i++) {
        df_status status = df_normalize_axis(axes.v[i], x->ndim, call->op->name, &axis, err);
        if (status != DF_OK) return status;
        if (x->shape[axis] != 1 && x->shape[axis] != DF_UNKNOWN)
            return df_fail(err, DF_BAD_SHAPE, "%s: dimension %d of %s is %lld, expected 1",
                           call->op->name, axis, df_tensor_text(x).text,
                           (long long)x->shape[axis]);
        drop[axis] = true;
    }
    for (int d = 0; d < x->ndim; d++)
        if (axes.n ? !drop[d] : x->shape[d] != 1) shape[ndim++] = x->shape[d];
    return set_like(call, ndim, shape, err);
}

/* --- broadcast_to --- */

DF_ONCE(df_status, infer_broadcast_to, (const df_call *call, df_error *err))
{
    const df_tensor *x = call->in[0];
    const df_ints want = call->attrs[SHAPE].list;
    int64_t shape[DF_MAX_NDIM];
    bool fits = want.n >= x->ndim;
    if (want.n > DF_MAX_NDIM)
        return df_fail(err, DF_BAD_SHAPE, "%s: %lld dimensions, expected 0 to %d", call->op->name,
                       (long long)want.n, DF_MAX_NDIM);
    const int added = (int)want.n - x->ndim;
    for (int i = 0; i < want.n && fits; i++) {
        const int64_t have = i < added ? 1 : x->shape[i - added];
        shape[i] = want.v[i] == -1 && i >= added ? have : want.v[i];
        fits = shape[i] >= 0 ? have == shape[i] || have == 1 || have == DF_UNKNOWN
                             : have == DF_UNKNOWN;
    }
    if (!fits)
        return df_fail(err, DF_BAD_SHAPE, "%s: %s does not broadcast to shape %s: expected each "
                       "dimension, counted from the last, to be equal or 1", call->op->name,
                       df_tensor_text(x).text, df_shape_text((int)want.n, want.v).text);
    return set_like(call, (int)want.n, shape, err);
}

static int64_t view_same_size(const df_call *call)
{
    return call->in[0]->size == call->out[0]->size ? 0 : -1;
}

static df_status run_broadcast_to(const df_call *call, df_error *err)
{
    (void)err;
    const df_tensor *x = call->in[0], *y = call->out[0];
    const int added = y->ndim - x->ndim, bytes = df_dtypes[x->dtype].bytes;
    int64_t from[DF_MAX_NDIM], to[DF_MAX_NDIM];
    df_strided s;
    df_strided_begin(&s, x->data, y->data, bytes);
    df_row_strides(x->ndim, x->shape, bytes, from);
    df_row_strides(y->ndim, y->shape, bytes, to);
    for (int d = 0; d < y->ndim; d++) {
        const bool repeated = d < added || x->shape[d - added] == 1;
        DF_SYM(df_strided_add)(&s, y->shape[d], repeated ? 0 : from[d - added], to[d]);
    }
    DF_SYM(df_strided_copy)(&s);
    return DF_OK;
}

/* --- transpose --- */

DF_ONCE(df_status, infer_transpose, (const df_call *call, df_error *err))
{
    const df_tensor *x = call->in[0];
    const df_ints perm = call->attrs[PERM].list;
    int64_t shape[DF_MAX_NDIM];
    bool seen[DF_MAX_NDIM] = {false}, good = perm.n == x->ndim;
    for (int d = 0; d < x->ndim && good; d++) {
        const int64_t p = perm.v[d];
        good = p >= 0 && p < x->ndim && !seen[p];
        if (!good) break;
        seen[p] = true;
        shape[d] = x->shape[p];
    }
    if (!good)
        return df_fail(err, DF_INVALID_ARGUMENT,
                       "%s: perm is %s for %s, expected each of its %d dimensions once",
                       call->op->name, df_shape_text((int)df_min(perm.n, DF_MAX_NDIM), perm.v).text,
                       df_tensor_text(x).text, x->ndim);
    return set_like(call, x->ndim, shape, err);
}

/* Dimensions of size 1 do not matter: only the order of the others moves elements. */
DF_ONCE(int64_t, view_transpose, (const df_call *call))
{
    const df_tensor *x = call->in[0];
    const df_ints perm = call->attrs[PERM].list;
    int64_t last = -1;
    for (int d = 0; d < x->ndim; d++) {
        if (x->shape[perm.v[d]] == 1) continue;
        if (perm.v[d] < last) return x->size == 0 ? 0 : -1;
        last = perm.v[d];
    }
    return 0;
}

static df_status run_transpose(const df_call *call, df_error *err)
{
    (void)err;
    const df_tensor *x = call->in[0], *y = call->out[0];
    const df_ints perm = call->attrs[PERM].list;
    const int bytes = df_dtypes[x->dtype].bytes;
    int64_t from[DF_MAX_NDIM], to[DF_MAX_NDIM];
    df_strided s;
    df_strided_begin(&s, x->data, y->data, bytes);
    df_row_strides(x->ndim, x->shape, bytes, from);
    df_row_strides(y->ndim, y->shape, bytes, to);
    for (int d = 0; d < y->ndim; d++)
        DF_SYM(df_strided_add)(&s, y->shape[d], from[perm.v[d]], to[d]);
    DF_SYM(df_strided_copy)(&s);
    return DF_OK;
}

/* --- shape, size --- */

static df_status infer_shape(const df_call *call, df_error *err)
{
    const int64_t ndim = call->in[0]->ndim;
    return df_tensor_set(call->out[0], DF_I32, 1, &ndim, call->op->name, err);
}

static df_status infer_size(const df_call *call, df_error *err)
{
    return df_tensor_set(call->out[0], DF_I32, 0, NULL, call->op->name, err);
}

static df_status store_count(const df_call *call, int at, int64_t n, df_error *err)
{
    if (n > INT32_MAX)
        return df_fail(err, DF_OVERFLOW, "%s: %lld of %s does not fit int32", call->op->name,
                       (long long)n, df_tensor_text(call->in[0]).text);
    ((int32_t *)call->out[0]->data)[at] = (int32_t)n;
    return DF_OK;
}

DF_ONCE(df_status, run_shape, (const df_call *call, df_error *err))
{
    df_status status = DF_OK;
    for (int d = 0; d < call->in[0]->ndim && status == DF_OK; d++)
        status = store_count(call, d, call->in[0]->shape[d], err);
    return status;
}

DF_ONCE(df_status, run_size, (const df_call *call, df_error *err))
{
    return store_count(call, 0, call->in[0]->size, err);
}

#define VIEW_OP(op, infer_fn, view_fn, run_fn) \
    .name = op, .kind = DF_VIEW, .n_in = 1, .n_out = 1, .infer = infer_fn, .view = view_fn, \
    .run = run_fn

DF_OP(reshape) = {VIEW_OP("reshape", infer_reshape, whole_view, copy_all),
                  .n_attrs = 1, .attrs = {{"shape", DF_ATTR_INTS}}};
DF_OP(expand_dims) = {VIEW_OP("expand_dims", infer_expand_dims, whole_view, copy_all),
                      .n_attrs = 1, .attrs = {{"axis", DF_ATTR_INT, .axis = true}}};
DF_OP(squeeze) = {VIEW_OP("squeeze", infer_squeeze, whole_view, copy_all),
                  .n_attrs = 1, .attrs = {{"axis", DF_ATTR_INTS, .axis = true}}};
DF_OP(identity) = {VIEW_OP("identity", df_infer_same, whole_view, copy_all)};
DF_OP(stop_gradient) = {VIEW_OP("stop_gradient", df_infer_same, whole_view, copy_all)};
DF_OP(broadcast_to) = {VIEW_OP("broadcast_to", infer_broadcast_to, view_same_size,
                               run_broadcast_to),
                       .n_attrs = 1, .attrs = {{"shape", DF_ATTR_INTS}}};
DF_OP(transpose) = {VIEW_OP("transpose", infer_transpose, view_transpose, run_transpose),
                    .n_attrs = 1, .attrs = {{"perm", DF_ATTR_INTS, .axis = true}}};
DF_OP(shape) = {.name = "shape", .kind = DF_GENERAL, .cannot_fail = true,
                .n_in = 1, .n_out = 1, .shape_only = 1,
                .infer = infer_shape,
                .run = run_shape};
DF_OP(size) = {.name = "size", .kind = DF_GENERAL, .cannot_fail = true,
               .n_in = 1, .n_out = 1, .shape_only = 1,
                .infer = infer_size,
               .run = run_size};
