/* bitcast: reinterprets the bytes of a tensor as another dtype. */
#include "op/op.h"

#include <string.h>

enum { DTYPE_ATTR };

DF_ONCE(df_status, infer_bitcast, (const df_call *call, df_error *err))
{
    const df_tensor *x = call->in[0];
    const df_dtype to = (df_dtype)call->attrs[DTYPE_ATTR].i;
    const int from_bytes = df_dtypes[x->dtype].bytes, to_bytes = df_dtypes[to].bytes;
    int64_t shape[DF_MAX_NDIM];
    int ndim = x->ndim;
    if (x->dtype == DF_BOOL || to == DF_BOOL)
        return df_fail(err, DF_BAD_DTYPE, "%s: from %s to %s, expected number dtypes",
                       call->op->name, df_dtypes[x->dtype].name, df_dtypes[to].name);
    for (int i = 0; i < ndim; i++) shape[i] = x->shape[i];
    if (from_bytes > to_bytes) {
        if (ndim == DF_MAX_NDIM)
            return df_fail(err, DF_BAD_SHAPE, "%s: x has %d dimensions, and %s adds one more",
                           call->op->name, ndim, df_dtypes[to].name);
        shape[ndim++] = from_bytes / to_bytes;
    } else if (from_bytes < to_bytes) {
        const int64_t n = to_bytes / from_bytes;
        if (ndim == 0 || (shape[ndim - 1] != n && shape[ndim - 1] != DF_UNKNOWN))
            return df_fail(err, DF_BAD_SHAPE,
                           "%s: x is %s, expected a last dimension of %lld for %s",
                           call->op->name, df_tensor_text(x).text, (long long)n,
                           df_dtypes[to].name);
        ndim--;
    }
    return df_tensor_set(call->out[0], to, ndim, shape, call->op->name, err);
}

DF_ONCE(df_status, run_bitcast, (const df_call *call, df_error *err))
{
    (void)err;
    memcpy(call->out[0]->data, call->in[0]->data, (size_t)df_tensor_bytes(call->out[0]));
    return DF_OK;
}

DF_OP(bitcast) = {.name = "bitcast", .kind = DF_GENERAL, .cannot_fail = true, .serial = true,
                  .n_in = 1, .n_out = 1, .n_attrs = 1,
                  .attrs = {{"dtype", DF_ATTR_DTYPE}},
                  .infer = infer_bitcast, .run = run_bitcast};
