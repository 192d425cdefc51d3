/* The check of the key, input 0 of all random ops. */
#ifndef DF_RANDOM_KEY_H
#define DF_RANDOM_KEY_H

#include "op/op.h"

static inline df_status df_infer_key(const df_call *call, df_error *err)
{
    const df_tensor *key = call->in[0];
    if (key->dtype != DF_I64 || key->ndim != 1 || (key->size != 2 && key->size >= 0))
        return df_fail(err, DF_BAD_SHAPE, "%s: the key is %s, expected int64 (2,)", call->op->name,
                       df_tensor_text(key).text);
    return DF_OK;
}

#endif
