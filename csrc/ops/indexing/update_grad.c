/* scatter_update_grad, the gradient of rows written by index: the last write of a row gets the
 * gradient.
 *
 * Inputs: g of the result, indices. Outputs: g with the written rows set to zero; per update its
 * row of g, or zeros if a later update wrote the same row. */
#include "ops/indexing/indices.h"

#include <string.h>

DF_ONCE(df_status, infer_update_grad, (const df_call *call, df_error *err))
{
    const df_tensor *g = call->in[0];
    int64_t shape[DF_MAX_NDIM];
    int n = 0;
    df_status status = check_index_dtype(call, 1, err);
    if (status == DF_OK) status = check_depth(call, g->ndim, g->shape, call->in[1], 0, err);
    if (status == DF_OK)
        status = picked_shape(call, g->ndim, g->shape, call->in[1], 0, 0, true, shape, &n, err);
    if (status == DF_OK) status = df_infer_same(call, err);
    if (status != DF_OK) return status;
    return df_tensor_set(call->out[1], g->dtype, n, shape, call->op->name, err);
}

DF_ONCE(int64_t, update_grad_workspace, (const df_call *call))
{
    const df_tensor *g = call->in[0];
    int64_t bytes;
    const layout l = lay_out(g->ndim, g->shape, call->in[1], 0, 0, true);
    return df_mul_size(l.rows, (int64_t)sizeof(int64_t), &bytes) ? bytes : -1;
}

static df_status run_update_grad(const df_call *call, df_error *err)
{
    const df_tensor *g = call->in[0];
    const layout l = lay_out(g->ndim, g->shape, call->in[1], 0, 0, true);
    const size_t row_bytes = (size_t)(l.inner * df_dtypes[g->dtype].bytes);
    char *g_tensor = call->out[0]->data, *updates = call->out[1]->data;
    int64_t rows[CHUNK], *last = call->workspace; /* per row: the last update that wrote it */
    df_status status = DF_SYM(df_check_indices)(call, &l, "tensor", err);
    if (status != DF_OK || g->size == 0) return status;
    if (g_tensor != g->data) memcpy(g_tensor, g->data, (size_t)df_tensor_bytes(g));
    for (int64_t j = 0; j < l.picks; j += CHUNK) {
        const int64_t n = df_min(l.picks - j, CHUNK);
        DF_SYM(df_resolve_indices)(&l, j, n, rows);
        for (int64_t i = 0; i < n; i++) last[rows[i]] = j + i;
    }
    for (int64_t j = 0; j < l.picks; j += CHUNK) {
        const int64_t n = df_min(l.picks - j, CHUNK);
        DF_SYM(df_resolve_indices)(&l, j, n, rows);
        for (int64_t i = 0; i < n; i++, updates += row_bytes) {
            if (last[rows[i]] == j + i)
                memcpy(updates, g_tensor + rows[i] * (int64_t)row_bytes, row_bytes);
            else memset(updates, 0, row_bytes);
        }
    }
    for (int64_t j = 0; j < l.picks; j += CHUNK) {
        const int64_t n = df_min(l.picks - j, CHUNK);
        DF_SYM(df_resolve_indices)(&l, j, n, rows);
        for (int64_t i = 0; i < n; i++)
            memset(g_tensor + rows[i] * (int64_t)row_bytes, 0, row_bytes);
    }
    return DF_OK;
}

DF_OP(scatter_update_grad) = {.name = "scatter_update_grad", .kind = DF_GENERAL, .n_in = 2,
                              .n_out = 2, .may_alias = 1, .infer = infer_update_grad,
                              .workspace = update_grad_workspace, .run = run_update_grad};
