/* Basic indexing: keys resolved against a shape. */
#include "op/slices.h"

void df_slice_indices(int64_t begin, int64_t end, int64_t stride, int64_t n, int64_t *first,
                      int64_t *count)
{
    const int64_t low = stride < 0 ? -1 : 0, high = stride < 0 ? n - 1 : n;
    if (begin == DF_SLICE_MISSING) begin = stride < 0 ? high : low;
    else begin = df_max(low, df_min(high, begin < 0 ? begin + n : begin));
    if (end == DF_SLICE_MISSING) end = stride < 0 ? low : high;
    else end = df_max(low, df_min(high, end < 0 ? end + n : end));
    const uint64_t step = stride < 0 ? -(uint64_t)stride : (uint64_t)stride;
    const int64_t span = stride < 0 ? begin - end : end - begin;
    *count = span > 0 ? (int64_t)(((uint64_t)span - 1) / step) + 1 : 0;
    *first = *count ? begin : 0;
}

static df_status resolve_key(df_slices *s, int64_t begin, int64_t end, int64_t stride,
                             df_key_kind kind, int dim, const int64_t *shape, const char *op,
                             df_error *err)
{
    const int64_t n = shape[dim];
    s->stride[dim] = 1;
    if (kind == DF_KEY_INDEX) {
        if (begin != DF_OPEN && n != DF_UNKNOWN && (begin < -n || begin >= n))
            return df_fail(err, DF_OUT_OF_RANGE,
                           "%s: index %lld of dimension %d, which has size %lld", op,
                           (long long)begin, dim, (long long)n);
        s->begin[dim] = begin < 0 && n != DF_UNKNOWN ? begin + n : begin;
        s->size[dim] = 1;
        return DF_OK;
    }
    if (kind == DF_KEY_BLOCK) {
        const bool known = begin != DF_OPEN && n != DF_UNKNOWN;
        const int64_t left = known ? n - begin : INT64_MAX;
        if (begin != DF_OPEN && (begin < 0 || left < 0 || (end != DF_OPEN && end > left)))
            return df_fail(err, DF_OUT_OF_RANGE,
                           "%s: %lld elements from %lld on of dimension %d, which has size %lld",
                           op, (long long)end, (long long)begin, dim, (long long)n);
        if (end < -1 && end != DF_OPEN)
            return df_fail(err, DF_INVALID_ARGUMENT, "%s: %lld elements of dimension %d", op,
                           (long long)end, dim);
        s->begin[dim] = begin == DF_OPEN ? 0 : begin;
        s->size[dim] = end >= 0 ? end : end == -1 && known ? left : DF_UNKNOWN;
        s->out_shape[s->out_ndim++] = s->size[dim];
        return DF_OK;
    }
    if (stride == 0)
        return df_fail(err, DF_INVALID_ARGUMENT, "%s: step of dimension %d is 0", op, dim);
    s->begin[dim] = 0;
    s->size[dim] = DF_UNKNOWN;
    if (n != DF_UNKNOWN && begin != DF_OPEN && end != DF_OPEN && stride != DF_OPEN)
        df_slice_indices(begin, end, stride, n, &s->begin[dim], &s->size[dim]);
    if (s->size[dim] > 1) s->stride[dim] = stride; /* the stride of a single element is
                                                    * irrelevant */
    s->out_shape[s->out_ndim++] = s->size[dim];
    return DF_OK;
}

df_status df_slices_resolve(df_slices *s, const df_attr *keys, int ndim, const int64_t *shape,
                            const char *op, df_error *err)
{
    const int64_t n = keys[0].list.n;
    int64_t added = 0, dropped = 0;
    int dim = 0;
    s->out_ndim = 0;
    if (keys[1].list.n != n || keys[2].list.n != n || keys[3].list.n != n)
        return df_fail(err, DF_INVALID_ARGUMENT,
                       "%s: begin, end, strides and kind have %lld, %lld, %lld and %lld items, "
                       "expected equal numbers", op, (long long)n, (long long)keys[1].list.n,
                       (long long)keys[2].list.n, (long long)keys[3].list.n);
    for (int64_t i = 0; i < n; i++) {
        if (keys[3].list.v[i] == DF_KEY_NEW) added++;
        if (keys[3].list.v[i] == DF_KEY_INDEX) dropped++;
    }
    if (n - added > ndim || ndim - dropped + added > DF_MAX_NDIM)
        return df_fail(err, DF_OUT_OF_RANGE,
                       "%s: too many indices for shape %s of %d dimensions (and the result may "
                       "have %d)",
                       op, df_shape_text(ndim, shape).text, ndim, DF_MAX_NDIM);
    for (int64_t i = 0; i < n; i++) {
        const df_key_kind kind = (df_key_kind)keys[3].list.v[i];
        if (kind == DF_KEY_NEW) {
            s->out_shape[s->out_ndim++] = 1;
            continue;
        }
        df_status status = resolve_key(s, keys[0].list.v[i], keys[1].list.v[i],
                                       keys[2].list.v[i], kind, dim++, shape, op, err);
        if (status != DF_OK) return status;
    }
    for (; dim < ndim; dim++) {
        s->begin[dim] = 0;
        s->stride[dim] = 1;
        s->size[dim] = s->out_shape[s->out_ndim++] = shape[dim];
    }
    return DF_OK;
}
