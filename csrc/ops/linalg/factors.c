/* cholesky: the lower triangular L such that L L^H is the input. lu: the LU factors of matrices
 * with permuted rows. qr: orthogonal and upper triangular factors. */
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

/* --- qr --------------------------------------------------------------------------------------- */

enum { FULL };

/* Columns of q; unknown if they depend on a size that is. */
static int64_t q_columns(const df_call *call)
{
    const int64_t m = matrix_rows(call->in[0]), n = matrix_columns(call->in[0]);
    if (call->attrs[FULL].i) return m;
    return m == DF_UNKNOWN || n == DF_UNKNOWN ? DF_UNKNOWN : df_min(m, n);
}

static df_status infer_qr(const df_call *call, df_error *err)
{
    const df_tensor *x = call->in[0];
    df_status status = DF_SYM(df_check_matrices)(call, 0, false, err);
    if (status != DF_OK) return status;
    if (df_is_complex(x->dtype)) return df_fail_dtype(call, 0, "float32 or float64", err);
    int64_t shape[DF_MAX_NDIM];
    for (int d = 0; d < x->ndim; d++) shape[d] = x->shape[d];
    shape[x->ndim - 1] = q_columns(call);
    status = df_tensor_set(call->out[0], x->dtype, x->ndim, shape, call->op->name, err);
    shape[x->ndim - 2] = q_columns(call);
    shape[x->ndim - 1] = matrix_columns(x);
    if (status != DF_OK) return status;
    return df_tensor_set(call->out[1], x->dtype, x->ndim, shape, call->op->name, err);
}

static int64_t qr_one(const df_call *call, int64_t index, void *workspace)
{
    const df_tensor *x = call->in[0];
    DF_SYM(df_qr)(x->dtype, matrix_rows(x), matrix_columns(x), q_columns(call),
                  matrix_at(x, index), matrix_at(call->out[0], index),
                  matrix_at(call->out[1], index), workspace);
    return -1;
}

static matrix_batch qr_batch(const df_call *call)
{
    const df_tensor *x = call->in[0];
    const int64_t m = matrix_rows(x), n = matrix_columns(x), columns = q_columns(call);
    const double k = (double)df_min(m, n);
    return (matrix_batch){.call = call, .count = matrix_count(x), .rows = df_max(m, n),
                          .run = qr_one,
                          .bytes = DF_SYM(df_qr_workspace)(x->dtype, m, n, columns),
                          .flops = 2 * k * (double)m * (double)(n + columns)};
}
MATRIX_OP_FUNCTIONS(qr)

DF_OP(qr) = {MATRIX_OP(qr), .n_in = 1, .n_out = 2, .cannot_fail = true, .n_attrs = 1,
             .attrs = {{"full", DF_ATTR_BOOL}}};
