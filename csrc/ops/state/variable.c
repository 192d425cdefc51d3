/* Ops that write a variable: input 0 is its memory. The core ensures exclusive access. */
#include "op/op.h"
#include "base/thread.h"

#include <string.h>

DF_ONCE(df_status, infer_assign, (const df_call *call, df_error *err))
{
    const df_tensor *var = call->in[0], *value = call->in[1];
    if (var->dtype != value->dtype || !df_may_be_same_shape(var, value))
        return df_fail(err, var->dtype != value->dtype ? DF_BAD_DTYPE : DF_BAD_SHAPE,
                       "%s: the variable is %s, the value %s, expected the same%s", call->op->name,
                       df_tensor_text(var).text, df_tensor_text(value).text,
                       df_is_complex(value->dtype) > df_is_complex(var->dtype)
                           ? "; df.math.real(x) is the real part" : "");
    return DF_OK;
}

DF_ONCE(df_status, run_assign, (const df_call *call, df_error *err))
{
    (void)err;
    if (call->in[0]->size && call->in[0]->data != call->in[1]->data)
        memcpy(call->in[0]->data, call->in[1]->data, (size_t)df_tensor_bytes(call->in[0]));
    return DF_OK;
}

DF_OP(assign) = {.name = "assign", .kind = DF_GENERAL, .cannot_fail = true, .n_in = 2, .writes = 1,
                 .infer = infer_assign, .run = run_assign};

/* var = var + delta with the tile function of add (or subtract). */
typedef struct {
    df_tile_fn tile;
    char *var;
    const char *delta;
    int bytes;
} update;

extern DF_OP(add);
extern DF_OP(subtract);

static void update_block(void *context, int64_t begin, int64_t end)
{
    const update *u = context;
    char *var = u->var + begin * u->bytes;
    const void *in[2] = {var, u->delta + begin * u->bytes};
    u->tile(end - begin, var, in, NULL);
}

static df_status run_update(const df_call *call, const df_op *op, df_error *err)
{
    const df_tensor *var = call->in[0];
    update u = {op->tile[var->dtype], var->data, call->in[1]->data, df_dtypes[var->dtype].bytes};
    if (!u.tile) return df_fail_dtype(call, 0, "a dtype with arithmetic", err);
    df_parallel_for(var->size, 16384, 0.2, update_block, &u);
    return DF_OK;
}

static df_status run_assign_add(const df_call *call, df_error *err)
{
    return run_update(call, &DF_SYM(df_op_add), err);
}

static df_status run_assign_sub(const df_call *call, df_error *err)
{
    return run_update(call, &DF_SYM(df_op_subtract), err);
}

DF_OP(assign_add) = {.name = "assign_add", .kind = DF_GENERAL, .cannot_fail = true,
                     .n_in = 2, .writes = 1,
                     .infer = infer_assign, .run = run_assign_add};
DF_OP(assign_sub) = {.name = "assign_sub", .kind = DF_GENERAL, .cannot_fail = true,
                     .n_in = 2, .writes = 1,
                     .infer = infer_assign, .run = run_assign_sub};
