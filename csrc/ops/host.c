/* The op by which a program calls the host: printing, assertions, callbacks. */
#include "base/host.h"
#include "op/op.h"

static df_status infer_host_call(const df_call *call, df_error *err)
{
    (void)call;
    (void)err;
    return DF_OK;
}

static df_status run_host_call(const df_call *call, df_error *err)
{
    return df_host_call(call->attrs[0].i, call->n_in, call->in, err);
}

DF_OP(host_call) = {.name = "host_call", .kind = DF_GENERAL, .n_in = DF_VARIADIC, .n_attrs = 1,
                    .attrs = {{"id", DF_ATTR_INT}}, .internal = true, .effect = true,
                    .infer = infer_host_call, .run = run_host_call};
