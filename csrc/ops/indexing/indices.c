/* Indices of rows: checked, converted to row numbers, sorted. */
#include "ops/indexing/rows.h"

#include <stdio.h>

enum { CHECK_GRAIN = 16384 }; /* indices per block of the check */

/* Copies every step-th of n numbers; adjacent numbers, the usual case, have a vector loop. */
DF_INLINE void copy_numbers(const df_tensor *indices, int64_t at, int64_t step, int64_t n,
                            int64_t *out)
{
    const int32_t *narrow = (const int32_t *)indices->data + at;
    const int64_t *wide = (const int64_t *)indices->data + at;
    if (indices->dtype == DF_I32 && step == 1)
        for (int64_t j = 0; j < n; j++) out[j] = narrow[j];
    else if (indices->dtype == DF_I32)
        for (int64_t j = 0; j < n; j++) out[j] = narrow[j * step];
    else if (step == 1)
        for (int64_t j = 0; j < n; j++) out[j] = wide[j];
    else
        for (int64_t j = 0; j < n; j++) out[j] = wide[j * step];
}

/* Number k of `n` indices from index `first` on. Negative numbers count from the end; each result
 * is inside its dimension, or -1 if it selects no row. */
static void read_numbers(const layout *l, int64_t first, int64_t n, int64_t k, int64_t *out)
{
    const int64_t dim = l->table_shape[l->axis + k];
    const int64_t wrap = l->drop_negative ? 0 : dim, none = l->drop_negative ? -1 : 0;
    copy_numbers(l->indices, first * l->depth + k, l->depth, n, out);
    __asm__ volatile("" ::: "memory"); /* the code below must use the copy */
    for (int64_t j = 0; j < n; j++) {
        const int64_t i = out[j] + (out[j] < 0 ? wrap : 0);
        out[j] = (uint64_t)i < (uint64_t)dim ? i : none;
    }
}

void DF_SYM(df_resolve_indices)(const layout *l, int64_t first, int64_t n, int64_t *rows)
{
    int64_t numbers[CHUNK];
    if (l->depth == 0)
        for (int64_t j = 0; j < n; j++) rows[j] = 0;
    else read_numbers(l, first, n, 0, rows);
    for (int64_t k = 1; k < l->depth; k++) {
        const int64_t dim = l->table_shape[l->axis + k];
        read_numbers(l, first, n, k, numbers);
        for (int64_t j = 0; j < n; j++) rows[j] = rows[j] * dim + numbers[j];
    }
}

typedef struct {
    const layout *l;
    int bad; /* atomic */
} index_check;

static bool outside(const layout *l, int64_t i, int64_t dim)
{
    return (i >= dim) | (i < -dim && !l->drop_negative);
}

static void check_block(void *context, int64_t begin, int64_t end)
{
    index_check *c = context;
    const layout *l = c->l;
    int bad = 0;
    for (int64_t k = 0; k < l->depth; k++) {
        const int64_t dim = l->table_shape[l->axis + k];
        const int64_t low = l->drop_negative ? INT64_MIN : -dim;
        for (int64_t j = begin; j < end; j += CHUNK) {
            int64_t i[CHUNK], n = df_min(CHUNK, end - j);
            copy_numbers(l->indices, j * l->depth + k, l->depth, n, i);
            for (int64_t m = 0; m < n; m++) bad |= (i[m] >= dim) | (i[m] < low);
        }
    }
    if (bad) __atomic_store_n(&c->bad, 1, __ATOMIC_RELAXED);
}

/* Reports the first number of indices that is out of range; `table` is the operand indexed. */
DF_ONCE(df_status, fail_index, (const df_call *call, const layout *l, const char *table,
                                df_error *err))
{
    const df_tensor *ix = l->indices;
    char at[DF_TEXT_BYTES] = "";
    int64_t p = 0, i = 0, dim = 0, k = 0;
    for (; p < ix->size; p++) {
        k = p % l->depth;
        i = index_at(ix, p);
        dim = l->table_shape[l->axis + k];
        if (outside(l, i, dim)) break;
    }
    int used = 0;
    for (int d = 0; d < ix->ndim && used < DF_TEXT_BYTES - 32; d++) {
        const int64_t below = product(ix->shape, d + 1, ix->ndim);
        used += snprintf(at + used, sizeof at - (size_t)used, "%s%lld", d ? ", " : "[",
                         (long long)(p / below % ix->shape[d]));
    }
    char low[32] = "";
    if (!l->drop_negative) snprintf(low, sizeof low, "%lld <= ", (long long)-dim);
    return df_fail(err, DF_OUT_OF_RANGE,
                   "%s: indices%s%s is %lld, expected %sindex < %lld (axis %d of %s with shape %s)",
                   call->op->name, at, used ? "]" : "", (long long)i, low, (long long)dim,
                   l->axis + (int)k, table, df_shape_text(l->table_ndim, l->table_shape).text);
}

df_status DF_SYM(df_check_indices)(const df_call *call, const layout *l, const char *table,
                                   df_error *err)
{
    index_check c = {l, 0};
    if (l->depth == 0) return DF_OK;
    df_parallel_for(l->indices->size / l->depth, CHECK_GRAIN, 0.2 * (double)l->depth, check_block,
                    &c);
    return c.bad ? fail_index(call, l, table, err) : DF_OK;
}

/* A radix sort from the lowest byte up. */
const df_row_index *DF_SYM(df_sort_row_indices)(const layout *l, void *workspace)
{
    const int64_t n = l->picks;
    df_row_index *from = workspace, *to = from + n;
    int64_t rows[CHUNK];
    for (int64_t j = 0; j < n; j += CHUNK) {
        const int64_t some = df_min(n - j, CHUNK);
        DF_SYM(df_resolve_indices)(l, j, some, rows);
        for (int64_t i = 0; i < some; i++) from[j + i] = (df_row_index){rows[i], j + i};
    }
    for (int shift = 0; shift < 64 && (l->rows - 1) >> shift > 0; shift += 8) {
        int64_t start[257] = {0};
        for (int64_t j = 0; j < n; j++) start[((from[j].row >> shift) & 255) + 1]++;
        for (int b = 0; b < 256; b++) start[b + 1] += start[b];
        for (int64_t j = 0; j < n; j++) to[start[(from[j].row >> shift) & 255]++] = from[j];
        df_row_index *other = from;
        from = to;
        to = other;
    }
    return from;
}
