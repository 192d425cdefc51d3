/* sum_of_slices: the sum of tensors that are zero outside a slice, given by their slices: the
 * gradient of a tensor that is read in parts, without a tensor of zeros per part. */
#include "ops/array/strided.h"
#include "op/slices.h"
#include "base/thread.h"
#include "op/op.h"

#include <string.h>

enum { SHAPE, COUNTS, KEYS }; /* COUNTS: the number of keys of each part, in the lists of KEYS */
#define BLOCK 4096            /* elements of a task, at least */
#define MOST_TASKS 16         /* each task resolves the keys of all parts */

extern DF_OP(add);

/* Resolves the slice of a part, whose keys begin at `first_key`; then moves it to the keys of the
 * next part. */
static df_status resolve(const df_call *call, int part, int64_t *first_key, df_slices *s,
                         df_error *err)
{
    const df_ints shape = call->attrs[SHAPE].list;
    const int64_t n = call->attrs[COUNTS].list.v[part];
    df_attr keys[4];
    for (int k = 0; k < 4; k++) {
        const df_ints all = call->attrs[KEYS + k].list;
        if (n < 0 || n > all.n - *first_key)
            return df_fail(err, DF_INVALID_ARGUMENT, "%s: %lld keys of input %d, but %lld are left",
                           call->op->name, (long long)n, part, (long long)(all.n - *first_key));
        keys[k].list = (df_ints){.n = n, .v = all.v + *first_key};
    }
    *first_key += n;
    return df_slices_resolve(s, keys, (int)shape.n, shape.v, call->op->name, err);
}

static df_status infer_sum_of_slices(const df_call *call, df_error *err)
{
    const df_ints shape = call->attrs[SHAPE].list;
    const df_dtype dtype = call->in[0]->dtype;
    df_tensor *out = call->out[0];
    int64_t first_key = 0;
    if (!DF_SYM(df_op_add).tile[dtype]) return df_fail_dtype(call, 0, "a number dtype", err);
    if (shape.n < 1 || shape.n > DF_MAX_NDIM || call->attrs[COUNTS].list.n != call->n_in)
        return df_fail(err, DF_BAD_SHAPE, "%s: %lld dimensions and %lld numbers of keys, expected "
                       "1 to %d and %d", call->op->name, (long long)shape.n,
                       (long long)call->attrs[COUNTS].list.n, DF_MAX_NDIM, call->n_in);
    const df_status status = df_tensor_set(out, dtype, (int)shape.n, shape.v, call->op->name, err);
    if (status != DF_OK) return status;
    for (int i = 0; i < call->n_in; i++) {
        const df_tensor *x = call->in[i];
        df_slices s;
        const df_status resolved = resolve(call, i, &first_key, &s, err);
        if (resolved != DF_OK) return resolved;
        bool fits = x->dtype == dtype && x->ndim == s.out_ndim;
        for (int d = 0; d < x->ndim && fits; d++)
            fits = x->shape[d] == s.out_shape[d] || x->shape[d] == DF_UNKNOWN ||
                   s.out_shape[d] == DF_UNKNOWN;
        if (!fits)
            return df_fail(err, DF_BAD_SHAPE, "%s: input %d is %s, its slice %s of %s",
                           call->op->name, i, df_tensor_text(x).text,
                           df_shape_text(s.out_ndim, s.out_shape).text, df_dtypes[dtype].name);
    }
    return DF_OK;
}

/* Limits a slice to the positions begin <= p < end of dimension 0. Returns the index of the first
 * remaining element in that dimension. */
static int64_t limit(df_slices *s, int64_t begin, int64_t end)
{
    const int64_t step = s->stride[0], from = s->begin[0], size = s->size[0];
    int64_t first, last; /* of the range of indices, without the last */
    if (step > 0) {
        first = begin > from ? (begin - from - 1) / step + 1 : 0;
        last = end > from ? (end - from - 1) / step + 1 : 0;
    } else {
        const uint64_t back = -(uint64_t)step;
        first = from >= end ? (int64_t)((uint64_t)(from - end) / back) + 1 : 0;
        last = from >= begin ? (int64_t)((uint64_t)(from - begin) / back) + 1 : 0;
    }
    first = df_min(first, size);
    last = df_min(last, size);
    s->size[0] = df_max(0, last - first);
    s->begin[0] = s->size[0] ? from + first * step : 0;
    return first;
}

/* out[slice] += g, for the rows of `out` from begin on, before end. */
static void add_part(const df_tensor *g, df_slices *s, const df_tensor *out, int64_t begin,
                     int64_t end)
{
    const df_dtype dtype = out->dtype;
    const int bytes = df_dtypes[dtype].bytes, ndim = out->ndim;
    int64_t steps[DF_MAX_NDIM], index[DF_MAX_NDIM] = {0}, run = 1, runs = 1, row = bytes;
    int outer = ndim; /* the dimensions outside a run of adjacent elements */
    for (int d = 1; d < ndim; d++) row *= s->size[d];
    const char *from = (const char *)g->data + limit(s, begin, end) * row;
    char *to = out->data;
    df_row_strides(ndim, out->shape, bytes, steps);
    while (outer > 0 && (s->stride[outer - 1] == 1 || s->size[outer - 1] == 1)) {
        outer--;
        run *= s->size[outer];
        if (s->size[outer] != out->shape[outer]) break;
    }
    for (int d = 0; d < outer; d++) runs *= s->size[d];
    for (int d = 0; d < ndim; d++) to += s->begin[d] * steps[d];
    if (run == 0) return;
    for (int64_t r = 0; r < runs; r++) {
        const void *in[2] = {to, from};
        DF_SYM(df_op_add).tile[dtype](run, to, in, NULL);
        from += run * bytes;
        for (int d = outer - 1; d >= 0; d--) {
            to += steps[d] * s->stride[d];
            if (++index[d] < s->size[d]) break;
            to -= steps[d] * s->stride[d] * s->size[d];
            index[d] = 0;
        }
    }
}

static void sum_rows(void *context, int64_t begin, int64_t end)
{
    const df_call *call = context;
    const df_tensor *out = call->out[0];
    const int64_t row = out->size / out->shape[0] * df_dtypes[out->dtype].bytes;
    int64_t first_key = 0;
    memset((char *)out->data + begin * row, 0, (size_t)((end - begin) * row));
    for (int i = 0; i < call->n_in; i++) {
        df_slices s;
        df_error never; /* infer has accepted the keys */
        if (resolve(call, i, &first_key, &s, &never) != DF_OK) return;
        add_part(call->in[i], &s, out, begin, end);
    }
}

static df_status run_sum_of_slices(const df_call *call, df_error *err)
{
    (void)err;
    const df_tensor *out = call->out[0];
    if (out->size == 0) return DF_OK;
    const int64_t row = out->size / out->shape[0];
    int64_t added = out->size;
    for (int i = 0; i < call->n_in; i++) added += call->in[i]->size;
    df_parallel_for(out->shape[0],
                    df_max(df_ceil_div(out->shape[0], MOST_TASKS), BLOCK / row),
                    0.1 * (double)added / (double)out->shape[0], sum_rows, (void *)call);
    return DF_OK;
}

DF_OP(sum_of_slices) = {.name = "sum_of_slices", .kind = DF_GENERAL, .cannot_fail = true,
                        .internal = true, .n_in = DF_VARIADIC, .n_out = 1, .n_attrs = 6,
                        .attrs = {{"shape", DF_ATTR_INTS}, {"counts", DF_ATTR_INTS},
                                  DF_SLICE_ATTRS},
                        .infer = infer_sum_of_slices, .run = run_sum_of_slices};
