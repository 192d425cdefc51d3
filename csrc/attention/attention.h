/* Attention by tiles, forward and backward: softmax(scale q k^T + mask) v, where the square of
 * scores only ever exists as a tile of it. Knows blocks of memory, no tensors and no ops. Compiled
 * once per SIMD level.
 *
 * Shape letters: B batch, H heads, G of them share a head of k and v, I queries, J keys, D width of
 * q and k, E width of v. The method is that of Dao, "FlashAttention-2" (2023). */
#ifndef DF_ATTENTION_H
#define DF_ATTENTION_H

#include "base/dtype.h"
#include "op/op.h"

/* Added to the scores, or bool: whether a key takes part. Element (b, h, i, j) is at
 * data[b * steps[0] + h * steps[1] + i * steps[2] + j * steps[3]]; step 0 repeats. */
typedef struct {
    const void *data; /* NULL: no mask */
    df_dtype dtype;   /* bool or any floating one */
    int64_t steps[4];
} df_attention_mask;

/* q, out, g and dq are B x H x I x D (or E), k, v, dk and dv B x H/G x J x D (or E), all dense:
 * in this order, or with the heads after the queries or keys.
 *
 * float16 and bfloat16 are widened tile by tile, computed as float32, and rounded once. Forwards,
 * what that took from out is written, rounded, to `rest`: the gradient subtracts the sum of g out
 * from numbers next to it, and with the rounded out alone would lose most of its digits.
 *
 * A query that sees no key has the output 0. With a rate, each weight is dropped whose number,
 * evenly distributed, is below it: the float32 numbers that the stream of `key` from `counter` on
 * gives to an array B x H x I x (J rounded up to 32). */
typedef struct {
    df_dtype dtype;
    bool heads_inner;
    int64_t batch, heads, kv_heads, queries, keys, d, e;
    double scale;
    bool causal; /* query i sees the keys 0 to i */
    df_attention_mask mask;
    double rate; /* 0: no dropout */
    uint64_t key, counter;
    const void *q, *k, *v;
    void *rest; /* like out, of halves only */
    void *out, *lse; /* lse: B x H x I, log of the sum of exponentials; 0 where no key is seen */
    const void *g;   /* backward: the gradient of out */
    void *dq, *dk, *dv;
} df_attention;

bool DF_SYM(df_attention_has)(df_dtype dtype);
/* The dtype it computes in, which is that of lse. */
df_dtype DF_SYM(df_attention_sums)(df_dtype dtype);

/* Writes out, rest and lse. False: no memory. */
bool DF_SYM(df_attention_forward)(const df_attention *a);

/* Writes dq, dk and dv from q, k, v, out, rest, lse and g. Each element is a sum in an order that
 * depends on nothing but the shapes. The workspace (its bytes: -1 where they do not fit) is aligned
 * to 64 bytes. */
int64_t DF_SYM(df_attention_workspace)(const df_attention *a);
bool DF_SYM(df_attention_backward)(const df_attention *a, void *workspace);

#endif
