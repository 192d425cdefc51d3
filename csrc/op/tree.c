/* Tree combination, one piece at a time: a node that waits for its sibling stays in L1, in the
 * register of its depth. */
#include "op/tree.h"
#include "base/thread.h"

#include <string.h>

#define MAX_DEPTH 32 /* for fewer than 2^31 leaves */
#define PIECE 512    /* elements of a register */
#define BLOCK (32 * PIECE)

typedef struct {
    df_tile_fn fn;
    int bytes, count;
    int64_t leaves;
    const void *const *in;
    const df_span *spans;
    char *out;
} job;

bool df_are_siblings(df_span left, df_span right, int64_t n)
{
    const int64_t size = left.end - left.first;
    return left.end == right.first && (size & (size - 1)) == 0 && left.first % (2 * size) == 0 &&
           right.end == df_min(left.first + 2 * size, n);
}

static void combine_piece(const job *j, int64_t at, int64_t n)
{
    char registers[MAX_DEPTH][PIECE * DF_MAX_BYTES] __attribute__((aligned(DF_ALIGNMENT)));
    const void *value[MAX_DEPTH + 1];
    df_span span[MAX_DEPTH + 1];
    int depth = 0;
    for (int k = 0; k < j->count; k++, depth++) {
        value[depth] = (const char *)j->in[k] + at * j->bytes;
        span[depth] = j->spans[k];
        for (; depth && df_are_siblings(span[depth - 1], span[depth], j->leaves); depth--) {
            const void *in[2] = {value[depth - 1], value[depth]};
            const bool last = depth == 1 && k + 1 == j->count && span[1].end == j->leaves;
            void *to = last ? j->out + at * j->bytes : registers[depth - 1];
            j->fn(n, to, in, NULL);
            value[depth - 1] = to;
            span[depth - 1].end = span[depth].end;
        }
    }
    if (j->count == 1) memcpy(j->out + at * j->bytes, value[0], (size_t)(n * j->bytes));
}

static void combine_block(void *context, int64_t begin, int64_t end)
{
    const job *j = context;
    for (int64_t at = begin; at < end; at += PIECE) combine_piece(j, at, df_min(PIECE, end - at));
}

/* True if the nodes are consecutive and combine to one root. */
static bool is_whole(int count, const df_span *spans)
{
    df_span stack[MAX_DEPTH + 1];
    int depth = 0;
    for (int k = 0; k < count; k++) {
        if (spans[k].end <= spans[k].first || depth > MAX_DEPTH) return false;
        stack[depth++] = spans[k];
        for (; depth > 1 && df_are_siblings(stack[depth - 2], stack[depth - 1],
                                            spans[count - 1].end); depth--)
            stack[depth - 2].end = stack[depth - 1].end;
    }
    return depth == 1 && stack[0].first == 0;
}

df_status df_tree_combine(const df_op *op, df_dtype dtype, int64_t n, int count,
                          const void *const *in, const df_span *spans, void *out, df_error *err)
{
    job j = {.bytes = df_dtypes[dtype].bytes, .count = count, .in = in, .spans = spans,
             .out = out};
    if (op->kind != DF_ELEMENTWISE || op->n_in != 2 || op->select || !(j.fn = op->tile[dtype]))
        return df_fail(err, DF_BAD_DTYPE, "%s: no kernel combines arrays of %s", op->name,
                       df_dtypes[dtype].name);
    if (count < 1 || spans[count - 1].end > INT32_MAX || !is_whole(count, spans))
        return df_fail(err, DF_INVALID_ARGUMENT, "%s: %d arrays are not the nodes of one tree",
                       op->name, count);
    j.leaves = spans[count - 1].end;
    df_parallel_for(n, BLOCK, 0.1 * count, combine_block, &j);
    return DF_OK;
}
