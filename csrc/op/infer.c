/* Shape rules shared by several families of ops. Unknown dimensions (-1) propagate. */
#include "op/op.h"

#include <stdio.h>
#include <string.h>

df_status df_broadcast_shape(const df_tensor *a, const df_tensor *b, df_tensor *out,
                             const char *op, df_error *err)
{
    int64_t shape[DF_MAX_NDIM];
    int ndim = a->ndim > b->ndim ? a->ndim : b->ndim;
    for (int i = 0; i < ndim; i++) { /* from the last dimension to the first */
        int64_t da = i < a->ndim ? a->shape[a->ndim - 1 - i] : 1;
        int64_t db = i < b->ndim ? b->shape[b->ndim - 1 - i] : 1;
        int64_t d;
        if (da == 1 || da == db)
            d = db;
        else if (db == 1 || db == DF_UNKNOWN)
            d = da;
        else if (da == DF_UNKNOWN)
            d = db;
        else
            return df_fail(err, DF_BAD_SHAPE, "%s: shapes %s and %s do not broadcast: dimension %d "
                           "from the end is %lld and %lld, expected equal sizes or 1", op,
                           df_shape_text(a->ndim, a->shape).text,
                           df_shape_text(b->ndim, b->shape).text, i + 1, (long long)da,
                           (long long)db);
        shape[ndim - 1 - i] = d;
    }
    return df_tensor_set(out, out->dtype, ndim, shape, op, err);
}

static df_status infer_broadcast(const df_call *call, df_dtype dtype, df_error *err)
{
    const char *op = call->op->name;
    df_tensor *out = call->out[0];
    const df_tensor *first = call->in[0];
    df_status st = df_tensor_set(out, dtype, first->ndim, first->shape, op, err);
    for (int i = 1; i < call->n_in && st == DF_OK; i++) {
        if (df_same_shape(out, call->in[i])) continue;
        df_tensor so_far;
        df_tensor_init(&so_far);
        st = df_tensor_set(&so_far, dtype, out->ndim, out->shape, op, err);
        if (st == DF_OK) st = df_broadcast_shape(&so_far, call->in[i], out, op, err);
        df_tensor_clear(&so_far);
    }
    return st;
}

df_status df_infer_broadcast(const df_call *call, df_error *err)
{
    return infer_broadcast(call, call->in[call->op->tile_key]->dtype, err);
}

df_status df_infer_compare(const df_call *call, df_error *err)
{
    return infer_broadcast(call, DF_BOOL, err);
}

df_status df_infer_same(const df_call *call, df_error *err)
{
    const df_tensor *x = call->in[0];
    return df_tensor_set(call->out[0], x->dtype, x->ndim, x->shape, call->op->name, err);
}

df_status df_fail_dtype(const df_call *call, int input, const char *wanted, df_error *err)
{
    return df_fail(err, DF_BAD_DTYPE, "%s: input %d is %s, expected %s%s", call->op->name, input,
                   df_tensor_text(call->in[input]).text, wanted,
                   df_is_complex(call->in[input]->dtype) ? "; df.math.real returns real parts"
                                                         : "");
}
