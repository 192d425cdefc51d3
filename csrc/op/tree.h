/* Combines many arrays to one by an elementwise op of two operands, along a tree that depends only
 * on the number of leaves. The result is bit-identical whichever nodes are combined first, on any
 * number of machines. */
#ifndef DF_TREE_H
#define DF_TREE_H

#include "op/op.h"

/* A node of the tree: leaves `first` to `end` - 1. The left child of [a, b) has as many leaves as
 * the largest power of two below b - a. */
typedef struct {
    int64_t first, end;
} df_span;

/* True if two nodes are siblings in a tree of n leaves. */
bool df_are_siblings(df_span left, df_span right, int64_t n);

/* out = the root, an array of `n` elements that overlaps no input. `in` are `count` arrays: the
 * nodes in `spans`, which are consecutive and cover the whole tree. */
df_status df_tree_combine(const df_op *op, df_dtype dtype, int64_t n, int count,
                          const void *const *in, const df_span *spans, void *out, df_error *err);

#endif
