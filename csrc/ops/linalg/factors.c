/* cholesky: the lower triangular L such that L L^T is the input. lu: the LU factors of matrices
 * with permuted rows. */
#include "factor/factor.h"
#include "ops/linalg/matrices.h"

/* --- cholesky --------------------------------------------------------------------------------- */

static df_status infer_cholesky(const df_call *call, df_error *err)
{
    df_status status = DF_SYM(df_check_matrices)(call, 0, true, err);
    return status == DF_OK ? df_infer_same(call, err) : status;
}

static int64_t cholesky_one(const df_call *call, int64_t index, void *workspace)
{
    const df_tensor *x = call->in[0];
    return DF_SYM(df_cholesky)(x->dtype, matrix_rows(x), matrix_at(call->out[0], index),
                               matrix_at(x, index), workspace);
}

static matrix_batch cholesky_batch(const df_call *call)
{
    const df_tensor *x = call->in[0];
    const int64_t n = matrix_rows(x);
    return (matrix_batch){.call = call, .count = matrix_count(x), .rows = n,
                          .bytes = DF_SYM(df_cholesky_workspace)(x->dtype, n),
                          .flops = (double)n * (double)n * (double)n / 3, .run = cholesky_one,
                          .fault = "not positive definite", .pivot = "not positive"};
}
MATRIX_OP_FUNCTIONS(cholesky)

DF_OP(cholesky) = {MATRIX_OP(cholesky), .n_in = 1, .n_out = 1};

/* --- lu --------------------------------------------------------------------------------------- */

static df_status infer_lu(const df_call *call, df_error *err)
{
    const df_tensor *x = call->in[0];
    df_status status = DF_SYM(df_check_matrices)(call, 0, false, err);
    if (status == DF_OK && matrix_rows(x) > INT32_MAX)
        status = df_fail(err, DF_OVERFLOW, "%s: shape %s, expected at most 2^31 - 1 rows",
                         call->op->name, df_shape_text(x->ndim, x->shape).text);
    if (status == DF_OK)
        status = df_tensor_set(call->out[0], x->dtype, x->ndim, x->shape, call->op->name, err);
    if (status != DF_OK) return status;
    return df_tensor_set(call->out[1], DF_I32, x->ndim - 1, x->shape, call->op->name, err);
}

static int64_t lu_one(const df_call *call, int64_t index, void *workspace)
{
    const df_tensor *x = call->in[0];
    const int64_t m = matrix_rows(x), n = matrix_columns(x);
    char *out = matrix_at(call->out[0], index);
    DF_SYM(df_negate)(x->dtype, out, matrix_at(x, index), m * n);
    DF_SYM(df_lu)(x->dtype, m, n, out, (int32_t *)call->out[1]->data + index * m, workspace);
    return -1;
}

static matrix_batch lu_batch(const df_call *call)
{
    const df_tensor *x = call->in[0];
    const int64_t m = matrix_rows(x), n = matrix_columns(x), k = df_min(m, n);
    return (matrix_batch){.call = call, .count = matrix_count(x), .rows = k, .run = lu_one,
                          .bytes = DF_SYM(df_lu_workspace)(x->dtype, m, n),
                          .flops = (double)m * (double)n * (double)k * 2 / 3};
}
MATRIX_OP_FUNCTIONS(lu)

DF_OP(lu) = {MATRIX_OP(lu), .n_in = 1, .n_out = 2, .cannot_fail = true};
