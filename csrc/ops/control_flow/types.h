/* Types of outputs as an attribute: for each output dtype, rank and dimensions, with DF_UNKNOWN for
 * dimensions that are known only at run time. For ops that cannot infer their outputs. */
#ifndef DF_OPS_TYPES_H
#define DF_OPS_TYPES_H

#include "op/op.h"

/* The number of words of the output that begins at word `at`; -1 if there is none. */
static inline int64_t df_types_words(df_ints types, int64_t at)
{
    if (at + 2 > types.n) return -1;
    const int64_t dtype = types.v[at], ndim = types.v[at + 1];
    const bool good = dtype >= 0 && dtype < DF_N_DTYPES && ndim >= 0 && ndim <= DF_MAX_NDIM &&
                      ndim <= types.n - at - 2;
    return good ? ndim + 2 : -1;
}

/* The number of outputs. */
static inline int df_types_count(df_ints types)
{
    int n = 0;
    for (int64_t at = 0, words; (words = df_types_words(types, at)) > 0; at += words) n++;
    return n;
}

/* Sets the outputs from index `first` on. */
static inline df_status df_types_infer(const df_call *call, df_ints types, int first,
                                       df_error *err)
{
    df_status status = DF_OK;
    int64_t at = 0;
    for (int k = first; k < call->n_out && status == DF_OK; k++) {
        const int64_t words = df_types_words(types, at);
        if (words < 0) {
            at = -1;
            break;
        }
        status = df_tensor_set(call->out[k], (df_dtype)types.v[at], (int)types.v[at + 1],
                               &types.v[at + 2], call->op->name, err);
        at += words;
    }
    if (status == DF_OK && at != types.n)
        return df_fail(err, DF_INVALID_ARGUMENT,
                       "%s: types must be dtype, rank and sizes of each of %d outputs",
                       call->op->name, call->n_out);
    return status;
}

#endif
