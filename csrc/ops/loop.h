/* The op loop: where its operands are, and what holds before it runs. */
#ifndef DF_LOOP_H
#define DF_LOOP_H

#include "op/op.h"

enum { /* attributes */
    TIMES, N_CARRIED, N_SLICED, TESTED, REVERSE, PACKED
};

/* Where things are among the inputs of the op, the outputs of the body and those of the op. */
typedef struct {
    int limit, go_on, carried, sliced, captured; /* first input of each kind, -1: there is none */
    int n_carried, n_sliced, n_stacked;
    int first; /* output of the body that is carried */
    int rounds, stacked; /* outputs of the op */
    int n_out; /* of the body */
} df_loop;

/* Whether the numbers of operands fit the attributes. */
bool DF_SYM(df_loop_find)(const df_call *call, df_loop *l);
/* Bytes of a row; -1: not known. */
int64_t DF_SYM(df_loop_row_bytes)(const df_tensor *t);
df_status DF_SYM(df_loop_infer)(const df_call *call, df_error *err);

/* Whether rows are packed, given the size that the body expects of one. */
static inline bool df_loop_is_packed(const df_tensor *t, int64_t row)
{
    return row < 0 && t->dtype == DF_U8 && t->ndim == 1;
}

/* Whether the body makes what is carried at c in the place of what it is given. */
static inline bool df_loop_stays(const df_call *call, const df_loop *l, int c)
{
    return call->bodies->types[0].stays[l->first + c] == l->carried + c;
}

#endif
