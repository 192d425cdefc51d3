/* Parts of a tensor, and a tensor as part of a larger one: strided slices and their gradient,
 * padding, rolling, bands of matrices. They move elements by size, independent of the dtype. */
#include "ops/array/slices.h"
#include "base/thread.h"

#include <string.h>

/* --- strided_slice and its gradient --- */

enum { SLICE_KEYS = 0, GRAD_SHAPE = 0, GRAD_KEYS = 1 };

static df_status infer_strided_slice(const df_call *call, df_error *err)
{
    const df_tensor *x = call->in[0];
    df_slices s;
    df_status status = df_slices_resolve(&s, call->attrs + SLICE_KEYS, x->ndim, x->shape,
                                         call->op->name, err);
    if (status != DF_OK) return status;
    return df_tensor_set(call->out[0], x->dtype, s.out_ndim, s.out_shape, call->op->name, err);
}

/* The elements of the slice in the tensor, as a strided box whose other side is dense. Never fails
 * on keys that infer has accepted. Returns the byte offset of the first element. */
static int64_t slice_box(const df_attr *keys, const df_tensor *x, bool to_slice, df_strided *box)
{
    df_slices s;
    df_error err;
    int64_t steps[DF_MAX_NDIM], dense[DF_MAX_NDIM], offset = 0;
    const int bytes = df_dtypes[x->dtype].bytes;
    df_strided_begin(box, NULL, NULL, bytes);
    if (df_slices_resolve(&s, keys, x->ndim, x->shape, "slice", &err) != DF_OK) return -1;
    df_row_strides(x->ndim, x->shape, bytes, steps);
    df_row_strides(x->ndim, s.size, bytes, dense);
    for (int d = 0; d < x->ndim; d++) {
        const int64_t step = steps[d] * s.stride[d];
        offset += steps[d] * s.begin[d];
        DF_SYM(df_strided_add)(box, s.size[d], to_slice ? step : dense[d],
                               to_slice ? dense[d] : step);
    }
    return offset;
}

/* The slice may share the memory of its input if its elements are adjacent: every dimension outside
 * one that is not taken whole must have one element. */
static int64_t view_strided_slice(const df_call *call)
{
    const df_tensor *x = call->in[0];
    df_slices s;
    df_error never; /* infer has accepted the keys */
    int64_t offset = 0, step = df_dtypes[x->dtype].bytes;
    bool whole = true;
    if (call->out[0]->size == 0) return 0;
    if (df_slices_resolve(&s, call->attrs + SLICE_KEYS, x->ndim, x->shape, "slice", &never))
        return -1;
    for (int d = x->ndim - 1; d >= 0; d--) {
        if (s.size[d] > 1 && (!whole || s.stride[d] != 1)) return -1;
        whole = whole && s.size[d] == x->shape[d];
        offset += s.begin[d] * step;
        step *= x->shape[d];
    }
    return offset;
}

static df_status run_strided_slice(const df_call *call, df_error *err)
{
    (void)err;
    const df_tensor *x = call->in[0];
    df_strided box;
    if (call->out[0]->size == 0) return DF_OK;
    const int64_t offset = slice_box(call->attrs + SLICE_KEYS, x, true, &box);
    box.from = (const char *)x->data + offset;
    box.to = call->out[0]->data;
    DF_SYM(df_strided_copy)(&box);
    return DF_OK;
}

static df_status infer_strided_slice_grad(const df_call *call, df_error *err)
{
    const df_tensor *g = call->in[0];
    const df_ints shape = call->attrs[GRAD_SHAPE].list;
    df_tensor *out = call->out[0];
    df_slices s;
    df_status status = DF_OK;
    if (shape.n > DF_MAX_NDIM)
        return df_fail(err, DF_BAD_SHAPE, "%s: %lld dimensions, expected 0 to %d", call->op->name,
                       (long long)shape.n, DF_MAX_NDIM);
    status = df_tensor_set(out, g->dtype, (int)shape.n, shape.v, call->op->name, err);
    if (status == DF_OK)
        status = df_slices_resolve(&s, call->attrs + GRAD_KEYS, (int)shape.n, shape.v,
                                   call->op->name, err);
    if (status != DF_OK) return status;
    bool fits = g->ndim == s.out_ndim;
    for (int d = 0; d < g->ndim && fits; d++)
        fits = g->shape[d] == s.out_shape[d] || g->shape[d] == DF_UNKNOWN ||
               s.out_shape[d] == DF_UNKNOWN;
    if (fits) return DF_OK;
    return df_fail(err, DF_BAD_SHAPE, "%s: gradient of shape %s, expected the slice's %s",
                   call->op->name, df_shape_text(g->ndim, g->shape).text,
                   df_shape_text(s.out_ndim, s.out_shape).text);
}

static df_status run_strided_slice_grad(const df_call *call, df_error *err)
{
    (void)err;
    const df_tensor *g = call->in[0], *out = call->out[0];
    df_strided box;
    const char zero[DF_MAX_BYTES] = {0};
    if (g->size < out->size) DF_SYM(df_fill)(out->data, out->size, zero,
                                             df_dtypes[out->dtype].bytes);
    if (g->size == 0) return DF_OK;
    const int64_t offset = slice_box(call->attrs + GRAD_KEYS, out, false, &box);
    box.from = g->data;
    box.to = (char *)out->data + offset;
    DF_SYM(df_strided_copy)(&box);
    return DF_OK;
}

/* --- pad --- */

enum { PADDINGS = 0 }; /* before and after, per dimension */

static df_status infer_pad(const df_call *call, df_error *err)
{
    const df_tensor *x = call->in[0], *value = call->in[1];
    const df_ints pads = call->attrs[PADDINGS].list;
    int64_t shape[DF_MAX_NDIM];
    if (value->ndim != 0 || value->dtype != x->dtype)
        return df_fail(err, DF_BAD_SHAPE, "%s: the value is %s, expected %s ()", call->op->name,
                       df_tensor_text(value).text, df_dtypes[x->dtype].name);
    if (pads.n != 2 * (int64_t)x->ndim)
        return df_fail(err, DF_BAD_SHAPE, "%s: %lld paddings of %s, expected 2 per dimension",
                       call->op->name, (long long)pads.n, df_tensor_text(x).text);
    for (int d = 0; d < x->ndim; d++) {
        const int64_t before = pads.v[2 * d], after = pads.v[2 * d + 1];
        int64_t added;
        shape[d] = DF_UNKNOWN;
        if (before == DF_OPEN || after == DF_OPEN) continue;
        if (before < 0 || after < 0)
            return df_fail(err, DF_INVALID_ARGUMENT,
                           "%s: paddings of dimension %d are %lld and %lld, expected 0 or more",
                           call->op->name, d, (long long)before, (long long)after);
        shape[d] = x->shape[d];
        if (shape[d] == DF_UNKNOWN) continue;
        if (!df_add_size(before, after, &added) || !df_add_size(shape[d], added, &shape[d]))
            return df_fail(err, DF_OVERFLOW, "%s: dimension %d of %s overflows 64 bits",
                           call->op->name, d, df_tensor_text(x).text);
    }
    return df_tensor_set(call->out[0], x->dtype, x->ndim, shape, call->op->name, err);
}

static df_status run_pad(const df_call *call, df_error *err)
{
    (void)err;
    const df_tensor *x = call->in[0], *y = call->out[0];
    const df_ints pads = call->attrs[PADDINGS].list;
    const int bytes = df_dtypes[x->dtype].bytes;
    int64_t from[DF_MAX_NDIM], to[DF_MAX_NDIM];
    df_strided box;
    df_strided_begin(&box, x->data, y->data, bytes);
    if (x->size < y->size) DF_SYM(df_fill)(y->data, y->size, call->in[1]->data, bytes);
    df_row_strides(x->ndim, x->shape, bytes, from);
    df_row_strides(y->ndim, y->shape, bytes, to);
    for (int d = 0; d < x->ndim; d++) {
        DF_SYM(df_strided_add)(&box, x->shape[d], from[d], to[d]);
        if (x->size) box.to += pads.v[2 * d] * to[d];
    }
    DF_SYM(df_strided_copy)(&box);
    return DF_OK;
}

/* --- roll --- */

enum { SHIFT, AXIS };

static df_status infer_roll(const df_call *call, df_error *err)
{
    int axis;
    df_status status =
        df_normalize_axis(call->attrs[AXIS].i, call->in[0]->ndim, call->op->name, &axis, err);
    return status == DF_OK ? df_infer_same(call, err) : status;
}

static df_status run_roll(const df_call *call, df_error *err)
{
    (void)err;
    const df_tensor *x = call->in[0];
    const int bytes = df_dtypes[x->dtype].bytes;
    const int64_t given = call->attrs[AXIS].i;
    const int axis = (int)(given < 0 ? given + x->ndim : given);
    int64_t outer = 1, inner = bytes;
    if (x->size == 0) return DF_OK;
    for (int d = 0; d < axis; d++) outer *= x->shape[d];
    for (int d = axis + 1; d < x->ndim; d++) inner *= x->shape[d];
    const int64_t n = x->shape[axis], rest = call->attrs[SHIFT].i % n;
    const int64_t shift = rest < 0 ? rest + n : rest;
    /* The first n - shift elements move by shift; the others wrap around to the front. */
    const int64_t sizes[] = {n - shift, shift}, from[] = {0, n - shift}, to[] = {shift, 0};
    for (int part = 0; part < 2; part++) {
        df_strided box;
        df_strided_begin(&box, (const char *)x->data + from[part] * inner,
                         (char *)call->out[0]->data + to[part] * inner, bytes);
        DF_SYM(df_strided_add)(&box, outer, n * inner, n * inner);
        DF_SYM(df_strided_add)(&box, sizes[part] * (inner / bytes), bytes, bytes);
        DF_SYM(df_strided_copy)(&box);
    }
    return DF_OK;
}

/* --- band_part --- */

enum { LOWER, UPPER, ROWS_PER_TASK = 64 };

static df_status infer_band_part(const df_call *call, df_error *err)
{
    const df_tensor *x = call->in[0];
    if (x->ndim < 2)
        return df_fail(err, DF_BAD_SHAPE, "%s: %s, expected 2 dimensions or more", call->op->name,
                       df_tensor_text(x).text);
    return df_infer_same(call, err);
}

/* Element (r, c) is kept if r - lower <= c <= r + upper; a negative limit means unlimited. The
 * limits may exceed the matrix: `lower` below -columns does not occur. */
static void band_rows(void *context, int64_t begin, int64_t end)
{
    const df_call *call = context;
    const df_tensor *x = call->in[0];
    const int64_t bytes = df_dtypes[x->dtype].bytes;
    const int64_t rows = x->shape[x->ndim - 2], cols = x->shape[x->ndim - 1];
    const int64_t lower = call->attrs[LOWER].i, upper = call->attrs[UPPER].i;
    for (int64_t i = begin; i < end; i++) {
        const int64_t r = i % rows;
        const int64_t first = lower < 0 ? 0 : df_min(cols, df_max(0, r - lower));
        const int64_t last = upper < 0 || upper >= cols ? cols : df_min(cols, r + upper + 1);
        const int64_t n = df_max(0, last - first);
        const char *from = (const char *)x->data + i * cols * bytes;
        char *to = (char *)call->out[0]->data + i * cols * bytes;
        memset(to, 0, (size_t)(first * bytes));
        memcpy(to + first * bytes, from + first * bytes, (size_t)(n * bytes));
        memset(to + (first + n) * bytes, 0, (size_t)((cols - first - n) * bytes));
    }
}

static df_status run_band_part(const df_call *call, df_error *err)
{
    (void)err;
    const df_tensor *x = call->in[0];
    const int64_t cols = x->shape[x->ndim - 1];
    if (x->size)
        df_parallel_for(x->size / cols, ROWS_PER_TASK,
                        10 + 0.1 * (double)(cols * df_dtypes[x->dtype].bytes), band_rows,
                        (void *)call);
    return DF_OK;
}

DF_OP(strided_slice) = {.name = "strided_slice", .kind = DF_VIEW, .n_in = 1, .n_out = 1,
                        .n_attrs = 4, .attrs = {DF_SLICE_ATTRS}, .infer = infer_strided_slice,
                        .view = view_strided_slice, .run = run_strided_slice};
DF_OP(strided_slice_grad) = {.name = "strided_slice_grad", .kind = DF_GENERAL, .cannot_fail = true,
                             .n_in = 1,
                             .n_out = 1, .n_attrs = 5,
                             .attrs = {{"shape", DF_ATTR_INTS}, DF_SLICE_ATTRS},
                             .infer = infer_strided_slice_grad, .run = run_strided_slice_grad};
DF_OP(pad) = {.name = "pad", .kind = DF_GENERAL, .cannot_fail = true, .n_in = 2, .n_out = 1,
              .n_attrs = 1,
              .attrs = {{"paddings", DF_ATTR_INTS, .open = true}}, .promote = 3, .infer = infer_pad,
              .run = run_pad};
DF_OP(roll) = {.name = "roll", .kind = DF_GENERAL, .cannot_fail = true,
               .n_in = 1, .n_out = 1, .n_attrs = 2,
               .attrs = {{"shift", DF_ATTR_INT, .open = true}, {"axis", DF_ATTR_INT, .open = true}},
               .infer = infer_roll,
               .run = run_roll};
DF_OP(band_part) = {.name = "band_part", .kind = DF_GENERAL, .cannot_fail = true,
                    .n_in = 1, .n_out = 1, .n_attrs = 2,
                    .attrs = {{"num_lower", DF_ATTR_INT, .open = true},
                              {"num_upper", DF_ATTR_INT, .open = true}},
                    .infer = infer_band_part, .run = run_band_part};
