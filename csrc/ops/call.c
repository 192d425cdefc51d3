/* The op of nodes that own the graph they compute. The graph says what they make, and takes their
 * place before anything runs, so there is no kernel. */
#include "op/op.h"

static df_status refuse(const df_call *call, df_error *err)
{
    return df_fail(err, DF_UNIMPLEMENTED, "%s: a graph that a node owns is no op to be applied",
                   call->op->name);
}

static int count_none(const df_call *call)
{
    (void)call;
    return 0;
}

DF_OP(call) = {.name = "call", .kind = DF_GENERAL, .total = true, .n_in = DF_VARIADIC,
               .n_out = DF_VARIADIC, .n_bodies = 1, .internal = true, .count_out = count_none,
               .infer = refuse, .run = refuse};
