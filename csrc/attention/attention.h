/* Tiled attention, forward and backward: softmax(scale q k^T + mask) v, where the matrix of scores
 * is never stored, only tiles of it. Called by ops/nn/attention.c. Works on memory, without tensors
 * or ops. Compiled once per SIMD level.
 *
 * Shape letters: B batch, H heads, G heads share one head of k and v, I queries, J keys, D width of
 * q and k, E width of v. The method is Dao, "FlashAttention-2" (2023). */
#ifndef DF_ATTENTION_H
#define DF_ATTENTION_H

#include "base/dtype.h"
#include "op/op.h"

/* Mask: added to the scores, or bool (true: the key takes part). Element (b, h, i, j) is at data[b
 * * steps[0] + h * steps[1] + i * steps[2] + j * steps[3]]; step 0 repeats. */
typedef struct {
    const void *data; /* NULL: no mask */
    df_dtype dtype;   /* bool or any floating dtype */
    int64_t steps[4];
} df_attention_mask;

/* q, out, g and dq are B x H x I x D (or E); k, v, dk and dv are B x H/G x J x D (or E). All are
 * dense, in this order or, with heads_inner, with the heads after the queries or keys.
 *
 * 16-bit floats are widened tile by tile, computed in float32, and rounded once. The forward
 * pass also writes the rounding error of out, rounded, to `rest`: the gradient subtracts the sum of
 * g * out from numbers close to it, and the rounded out alone would cost most of its digits.
 *
 * A query whose keys are all masked has the output 0. Dropout drops each weight whose uniform
 * random number is below `rate`: the float32 numbers that the stream of `key` from `counter` on
 * assigns to an array B x H x I x (J rounded up to 32). */
typedef struct {
    df_dtype dtype;
    bool heads_inner;
    int64_t batch, heads, kv_heads, queries, keys, d, e;
    double scale;
    bool causal; /* query i attends to keys 0 to i */
    df_attention_mask mask;
    double rate; /* 0: no dropout */
    uint64_t key, counter;
    const void *q, *k, *v;
    void *rest; /* like out; 16-bit floats only */
    void *out, *lse; /* lse: B x H x I, log of the sum of exponentials; 0 if all keys are masked */
    const void *g;   /* backward: the gradient of out */
    void *dq, *dk, *dv;
} df_attention;

bool DF_SYM(df_attention_has)(df_dtype dtype);
/* The dtype of the computation and of lse. */
df_dtype DF_SYM(df_attention_sums)(df_dtype dtype);

/* Writes out, rest and lse. Returns false if out of memory. */
bool DF_SYM(df_attention_forward)(const df_attention *a);

/* Writes dq, dk and dv from q, k, v, out, rest, lse and g. The order of every sum depends only on
 * the shapes. The workspace (size -1: more than 64 bits can count) is aligned to 64 bytes. */
int64_t DF_SYM(df_attention_workspace)(const df_attention *a);
bool DF_SYM(df_attention_backward)(const df_attention *a, void *workspace);

#endif
