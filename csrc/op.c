/* What every caller of an op does in the same order: arity, shape rule, kernel. */
#include "op.h"
#include "tile.h"

#include <string.h>

static df_status fail_no_tile(const df_call *call, df_error *err)
{
    char wanted[128] = "";
    for (int d = 0; d < DF_N_DTYPES; d++) {
        if (call->op->tile[d] == NULL) continue;
        if (wanted[0]) strcat(wanted, ", ");
        strcat(wanted, df_dtypes[d].name);
    }
    return df_fail_dtype(call, call->op->tile_key, wanted[0] ? wanted : "another dtype", err);
}

df_status df_op_infer(const df_call *call, df_error *err)
{
    const df_op *op = call->op;
    if (op->n_in == DF_VARIADIC ? call->n_in < 1 : call->n_in != op->n_in)
        return df_fail(err, DF_INVALID_ARGUMENT, "%s: got %d inputs, want %d", op->name,
                       call->n_in, op->n_in == DF_VARIADIC ? 1 : op->n_in);
    df_status st = op->infer(call, err);
    if (st == DF_OK && op->kind == DF_ELEMENTWISE && df_tile_select(call) == NULL)
        return fail_no_tile(call, err);
    return st;
}

df_status df_op_run(const df_call *call, df_error *err)
{
    return call->op->kind == DF_ELEMENTWISE ? df_tile_run(call, err) : call->op->run(call, err);
}
