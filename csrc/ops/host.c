/* The ops by which a program calls the host: printing, assertions, callbacks, and kernels written
 * in its language. */
#include "base/host.h"
#include "op/op.h"

enum { ID, TYPES };

static df_status run_host(const df_call *call, df_error *err)
{
    return df_host_call(call->attrs[ID].i, call->n_in, call->in, call->n_out, call->out, err);
}

static df_status infer_host_call(const df_call *call, df_error *err)
{
    (void)call;
    (void)err;
    return DF_OK;
}

DF_OP(host_call) = {.name = "host_call", .kind = DF_GENERAL, .n_in = DF_VARIADIC, .n_attrs = 1,
                    .attrs = {{"id", DF_ATTR_INT}}, .internal = true, .effect = true, .host = true,
                    .infer = infer_host_call, .run = run_host};

/* `types`: for each output dtype, rank and dimensions, unknown ones for the host to decide. */

/* The words of the output that begins at word `at`; -1 where there is none. */
static int64_t words_at(df_ints types, int64_t at)
{
    if (at + 2 > types.n) return -1;
    const int64_t dtype = types.v[at], ndim = types.v[at + 1];
    const bool good = dtype >= 0 && dtype < DF_N_DTYPES && ndim >= 0 && ndim <= DF_MAX_NDIM &&
                      ndim <= types.n - at - 2;
    return good ? ndim + 2 : -1;
}

static int count_host_compute(const df_call *call)
{
    const df_ints types = call->attrs[TYPES].list;
    int n = 0;
    for (int64_t at = 0, words; (words = words_at(types, at)) > 0; at += words) n++;
    return n;
}

static df_status infer_host_compute(const df_call *call, df_error *err)
{
    const df_ints types = call->attrs[TYPES].list;
    df_status status = DF_OK;
    int64_t at = 0;
    for (int k = 0; k < call->n_out && status == DF_OK; k++) {
        const int64_t words = words_at(types, at);
        if (words < 0) break;
        status = df_tensor_set(call->out[k], (df_dtype)types.v[at], (int)types.v[at + 1],
                               &types.v[at + 2], call->op->name, err);
        at += words;
    }
    if (status == DF_OK && at != types.n)
        return df_fail(err, DF_INVALID_ARGUMENT, "%s: types are no dtype, rank and sizes of each "
                       "of %d outputs", call->op->name, call->n_out);
    return status;
}

DF_OP(host_compute) = {.name = "host_compute", .kind = DF_GENERAL, .n_in = DF_VARIADIC,
                       .n_out = DF_VARIADIC, .n_attrs = 2,
                       .attrs = {{"id", DF_ATTR_INT}, {"types", DF_ATTR_INTS}}, .internal = true,
                       .effect = true, .host = true, .sized_by_data = true,
                       .count_out = count_host_compute, .infer = infer_host_compute,
                       .run = run_host};
