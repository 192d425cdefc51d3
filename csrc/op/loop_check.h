/* The op loop: the positions of its operands, and its checks. */
#ifndef DF_LOOP_CHECK_H
#define DF_LOOP_CHECK_H

#include "op/op.h"

enum { /* attributes */
    MAX_TRIP_COUNT, N_CARRIED, N_SLICED, HAS_CONDITION, REVERSE, PACKED
};

/* Positions among the inputs of the op, the outputs of the body and the outputs of the op. */
typedef struct {
    int limit, keep_going, carried, sliced, captured; /* first input of each kind; -1: none */
    int n_carried, n_sliced, n_stacked;
    int first; /* first carried output of the body */
    int rounds, stacked; /* positions among the outputs of the op */
    int n_out; /* of the body */
} df_loop;

/* Computes the positions; returns false if the numbers of operands do not match the attributes. */
bool df_loop_find(const df_call *call, df_loop *l);
/* Bytes of a row; -1 if unknown. */
int64_t df_loop_row_bytes(const df_tensor *t);
df_status df_loop_infer(const df_call *call, df_error *err);

/* True if rows are packed, given the row size that the body expects. */
static inline bool df_loop_is_packed(const df_tensor *t, int64_t row)
{
    return row < 0 && t->dtype == DF_U8 && t->ndim == 1;
}

/* True if the rows of a stacked output are packed, given the row that the body makes. */
static inline bool df_loop_packs(const df_tensor *t, const df_tensor *row)
{
    return t->dtype == DF_U8 && t->ndim == 1 && (row->dtype != DF_U8 || row->ndim > 0);
}

/* True if the body updates carried value c in place. */
static inline bool df_loop_is_aliased(const df_call *call, const df_loop *l, int c)
{
    return call->bodies->types[0].aliased_input[l->first + c] == l->carried + c;
}

#endif
