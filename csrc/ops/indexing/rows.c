/* Merging rows with equal indices. rows.h has the code shared with other kernels. */
#include "ops/in_float.h"
#include "ops/indexing/rows.h"

enum { ROWS, SPREAD };

typedef struct {
    const df_row_index *picks;
    int64_t n, inner, bytes;
    bool spread;
    df_dtype dtype;
    char *out;
    const char *in;
} merge;

DF_ONCE(df_status, infer_merge_rows, (const df_call *call, df_error *err))
{
    const df_tensor *rows = call->in[0], *indices = call->in[1];
    df_status status = check_index_dtype(call, 1, err);
    if (status != DF_OK) return status;
    if (rows->dtype != DF_F32 && rows->dtype != DF_F64)
        return df_fail_dtype(call, 0, "a floating dtype", err);
    if (indices->ndim != 1 || rows->ndim < 1 || !may_equal(rows->shape[0], indices->shape[0]))
        return df_fail(err, DF_BAD_SHAPE,
                       "%s: rows are %s, their indices %s, expected one for each", call->op->name,
                       df_tensor_text(rows).text, df_tensor_text(indices).text);
    if (call->attrs[ROWS].i < 0)
        return df_fail(err, DF_INVALID_ARGUMENT, "%s: n is %lld, expected at least 0",
                       call->op->name, (long long)call->attrs[ROWS].i);
    return df_tensor_set(call->out[0], rows->dtype, rows->ndim, rows->shape, call->op->name, err);
}

/* Merges the runs that begin in picks[begin:end]: the sum of a run is stored in its first row,
 * zeros in the others; with `spread`, the first row is copied to all rows of the run. */
static void merge_block(void *context, int64_t begin, int64_t end)
{
    const merge *m = context;
    const int64_t row = m->inner * m->bytes;
    for (int64_t i = run_begin(m->picks, begin, end); i < end;) {
        const int64_t last = run_end(m->picks, m->n, i);
        const int64_t first = m->picks[i].at * row;
        if (!m->spread) memset(m->out + first, 0, (size_t)row);
        for (int64_t j = i; j < last; j++) {
            const int64_t at = m->picks[j].at * row;
            if (m->spread) {
                memcpy(m->out + at, m->in + first, (size_t)row);
                continue;
            }
            if (j > i) memset(m->out + at, 0, (size_t)row);
            add_row(m->dtype, m->inner, m->out + first, m->in + at);
        }
        i = last;
    }
}

static df_status run_merge_rows(const df_call *call, df_error *err)
{
    const df_tensor *rows = call->in[0];
    const int64_t table = call->attrs[ROWS].i;
    const layout l = lay_out(1, &table, call->in[1], 0, 0, false);
    df_status status = DF_SYM(df_check_indices)(call, &l, "the table", err);
    if (status != DF_OK || rows->size == 0) return status;
    merge m = {.picks = DF_SYM(df_sort_row_indices)(&l, call->workspace), .n = l.picks,
               .inner = product(rows->shape, 1, rows->ndim), .bytes = df_dtypes[rows->dtype].bytes,
               .spread = call->attrs[SPREAD].i != 0,
               .dtype = rows->dtype,
               .out = call->out[0]->data, .in = rows->data};
    df_parallel_for(l.picks, df_max(16384 / m.inner, 1), 10 + 0.2 * (double)m.inner, merge_block,
                    &m);
    return DF_OK;
}

static int64_t merge_rows_workspace(const df_call *call)
{
    return row_indices_bytes(call->in[1]->size);
}

/* Inputs: rows, indices. Rows with equal indices are added, from +0 and in order, at the position
 * of the first of them; the others become zero. `spread` is the transpose. */
DF_OP(merge_rows) = {.name = "merge_rows", .kind = DF_GENERAL, .n_in = 2, .n_out = 1, .n_attrs = 2,
                     .attrs = {{"n", DF_ATTR_INT}, {"spread", DF_ATTR_BOOL}},
                     .infer = infer_merge_rows, .workspace = merge_rows_workspace, RUN_IN_FLOAT,
                     .run = run_merge_rows};
