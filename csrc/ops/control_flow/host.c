/* Ops that call the host: printing, assertions, callbacks, kernels written in its language, and
 * asynchronous operations. */
#include "base/host.h"
#include "op/op.h"
#include "ops/control_flow/types.h"

enum { ID, TYPES, RESULTS = 1 };

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

static int count_types(const df_call *call) { return df_types_count(call->attrs[TYPES].list); }

static df_status infer_types(const df_call *call, int first, df_error *err)
{
    return df_types_infer(call, call->attrs[TYPES].list, first, err);
}

DF_ONCE(df_status, infer_host_compute, (const df_call *call, df_error *err))
{
    return infer_types(call, 0, err);
}

DF_OP(host_compute) = {.name = "host_compute", .kind = DF_GENERAL, .n_in = DF_VARIADIC,
                       .n_out = DF_VARIADIC, .n_attrs = 2,
                       .attrs = {{"id", DF_ATTR_INT}, {"types", DF_ATTR_INTS}}, .internal = true,
                       .effect = true, .host = true, .data_dependent_shape = true,
                       .count_out = count_types, .infer = infer_host_compute, .run = run_host};

/* --- asynchronous operations ---
 *
 * handle, y... = host_start(x...), where y... are undefined until y...         = host_wait(handle,
 * y..., x...). */

DF_ONCE(int, count_host_start, (const df_call *call)) { return 1 + count_types(call); }

DF_ONCE(df_status, infer_host_start, (const df_call *call, df_error *err))
{
    df_status status = df_tensor_set(call->out[0], DF_I64, 0, NULL, call->op->name, err);
    return status == DF_OK ? infer_types(call, 1, err) : status;
}

static df_status run_host_start(const df_call *call, df_error *err)
{
    return df_host_start(call->attrs[ID].i, call->n_in, call->in, call->n_out - 1, call->out + 1,
                         call->out[0]->data, err);
}

DF_OP(host_start) = {.name = "host_start", .kind = DF_GENERAL, .n_in = DF_VARIADIC,
                     .n_out = DF_VARIADIC, .n_attrs = 2,
                     .attrs = {{"id", DF_ATTR_INT}, {"types", DF_ATTR_INTS}}, .internal = true,
                     .effect = true, .host = true, .async_role = DF_ASYNC_START,
                     .count_out = count_host_start, .infer = infer_host_start,
                     .run = run_host_start};

static int count_host_wait(const df_call *call)
{
    const int64_t n = call->attrs[RESULTS].i;
    return n < 0 || n >= call->n_in ? call->n_in : (int)n;
}

DF_ONCE(df_status, infer_host_wait, (const df_call *call, df_error *err))
{
    const df_tensor *handle = call->in[0];
    df_status status = DF_OK;
    if (call->attrs[RESULTS].i != call->n_out || call->n_out >= call->n_in ||
        handle->dtype != DF_I64 || handle->ndim)
        return df_fail(err, DF_INVALID_ARGUMENT, "%s: %lld results of %d inputs, the first of them "
                       "%s, expected a handle and these results", call->op->name,
                       (long long)call->attrs[RESULTS].i, call->n_in, df_tensor_text(handle).text);
    for (int k = 0; k < call->n_out && status == DF_OK; k++) {
        const df_tensor *y = call->in[1 + k];
        status = df_tensor_set(call->out[k], y->dtype, y->ndim, y->shape, call->op->name, err);
    }
    return status;
}

DF_ONCE(df_status, run_host_wait, (const df_call *call, df_error *err))
{
    for (int k = 0; k < call->n_out; k++)
        if (call->out[k]->data != call->in[1 + k]->data && call->out[k]->size)
            return df_fail(err, DF_INVALID_ARGUMENT,
                           "%s: result %d is not in the memory of its start", call->op->name, k);
    return df_host_wait(*(const int64_t *)call->in[0]->data, err);
}

DF_OP(host_wait) = {.name = "host_wait", .kind = DF_GENERAL, .n_in = DF_VARIADIC,
                    .n_out = DF_VARIADIC, .n_attrs = 2,
                    .attrs = {{"id", DF_ATTR_INT}, {"results", DF_ATTR_INT}}, .internal = true,
                    .effect = true, .host = true, .async_role = DF_ASYNC_WAIT, .may_alias = ~1u,
                    .count_out = count_host_wait, .infer = infer_host_wait, .run = run_host_wait};
