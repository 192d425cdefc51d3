/* The op of nodes with a body that computes them. The body determines the outputs and replaces the
 * node before execution, so there is no kernel. */
#include "op/op.h"

static df_status refuse(const df_call *call, df_error *err)
{
    return df_fail(err, DF_UNIMPLEMENTED, "%s: this op exists only as a graph node with a body",
                   call->op->name);
}

static int count_none(const df_call *call)
{
    (void)call;
    return 0;
}

DF_OP(call) = {.name = "call", .kind = DF_GENERAL, .cannot_fail = true, .n_in = DF_VARIADIC,
               .n_out = DF_VARIADIC, .n_bodies = 1, .internal = true, .count_out = count_none,
               .infer = refuse, .run = refuse};
