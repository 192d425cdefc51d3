/* Many arrays made one by an elementwise op of two operands, along a tree that depends on nothing
 * but their numbers. Who combines which of them first, on however many machines, changes no bit. */
#ifndef DF_TREE_H
#define DF_TREE_H

#include "op/op.h"

/* A node of the tree: leaves `first` to `end` - 1. Of n leaves, the left child of [a, b) is as many
 * leaves as the largest power of two below b - a. */
typedef struct {
    int64_t first, end;
} df_span;

/* Whether two nodes are the children of one, in a tree of n leaves. */
bool df_are_siblings(df_span left, df_span right, int64_t n);

/* out = the root, of `n` elements; it overlaps no input. `in` are `count` arrays, the nodes that
 * `spans` names, which follow each other and make up the whole tree. */
df_status df_tree_combine(const df_op *op, df_dtype dtype, int64_t n, int count,
                          const void *const *in, const df_span *spans, void *out, df_error *err);

#endif
