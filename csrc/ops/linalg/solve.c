/* triangular_solve: op(A) X = B for triangular matrices A. solve: the same for any matrices A,
 * given their LU factors. */
#include "factor/factor.h"
#include "ops/linalg/matrices.h"

#include <string.h>

/* --- triangular_solve ------------------------------------------------------------------------- */

enum { LOWER, TRIANGLE_ADJOINT };

static df_status infer_triangular_solve(const df_call *call, df_error *err)
{
    const df_tensor *b = call->in[1];
    df_status status = DF_SYM(df_check_equations)(call, 0, 1, err);
    if (status != DF_OK) return status;
    return df_tensor_set(call->out[0], b->dtype, b->ndim, b->shape, call->op->name, err);
}

static df_triangle triangle_of(const df_call *call)
{
    const df_tensor *a = call->in[0];
    return (df_triangle){.dtype = a->dtype, .lower = call->attrs[LOWER].i,
                         .transpose = call->attrs[TRIANGLE_ADJOINT].i, .n = matrix_rows(a),
                         .ld = matrix_rows(a)};
}

static int64_t solve_triangle(const df_call *call, int64_t index, void *workspace)
{
    const int64_t k = matrix_columns(call->in[1]);
    df_triangle t = triangle_of(call);
    t.a = matrix_at(call->in[0], index);
    const int64_t zero = DF_SYM(df_zero_on_diagonal)(t.dtype, t.n, t.a);
    if (zero >= 0) return zero;
    char *out = matrix_at(call->out[0], index);
    DF_SYM(df_negate)(t.dtype, out, matrix_at(call->in[1], index), t.n * k);
    if (t.transpose) DF_SYM(df_conjugate)(t.dtype, out, t.n * k); /* A^H X = B, A^T X* = B* */
    DF_SYM(df_triangle_solve)(&t, k, out, k, false, workspace);
    if (t.transpose) DF_SYM(df_conjugate)(t.dtype, out, t.n * k);
    return -1;
}

static matrix_batch triangular_solve_batch(const df_call *call)
{
    const df_triangle t = triangle_of(call);
    const int64_t k = matrix_columns(call->in[1]);
    return (matrix_batch){.call = call, .count = matrix_count(call->in[0]), .rows = t.n,
                          .bytes = DF_SYM(df_triangle_workspace)(&t, k, false),
                          .flops = (double)t.n * (double)t.n * (double)k, .run = solve_triangle,
                          .fault = "singular", .pivot = "0"};
}
MATRIX_OP_FUNCTIONS(triangular_solve)

DF_OP(triangular_solve) = {MATRIX_OP(triangular_solve), .n_in = 2, .n_out = 1,
                           .n_attrs = 2, .attrs = {{"lower", DF_ATTR_BOOL},
                                                   {"adjoint", DF_ATTR_BOOL}}};

/* --- solve --------------------------------------------------------------------------------- */

enum { ADJOINT };
enum { MATRIX, FACTORS, ROWS, RHS };

/* The matrix itself is an input for its gradient only. */
static df_status infer_solve(const df_call *call, df_error *err)
{
    const df_tensor *factors = call->in[FACTORS], *rows = call->in[ROWS], *b = call->in[RHS];
    df_status status = DF_SYM(df_check_equations)(call, MATRIX, RHS, err);
    if (status == DF_OK) status = DF_SYM(df_check_equations)(call, FACTORS, RHS, err);
    if (status != DF_OK) return status;
    if (rows->dtype != DF_I32) return df_fail_dtype(call, ROWS, "int32", err);
    bool equal = rows->ndim == factors->ndim - 1;
    for (int d = 0; equal && d < rows->ndim; d++)
        equal = rows->shape[d] == factors->shape[d] || rows->shape[d] == DF_UNKNOWN ||
                factors->shape[d] == DF_UNKNOWN;
    if (!equal)
        return df_fail(err, DF_BAD_SHAPE, "%s: p has shape %s, expected that of the matrix, %s, "
                       "without the last dimension", call->op->name,
                       df_shape_text(rows->ndim, rows->shape).text,
                       df_shape_text(factors->ndim, factors->shape).text);
    return df_tensor_set(call->out[0], b->dtype, b->ndim, b->shape, call->op->name, err);
}

static int64_t solve_one(const df_call *call, int64_t index, void *workspace)
{
    const df_tensor *b = call->in[RHS];
    const bool adjoint = call->attrs[ADJOINT].i;
    const int64_t n = matrix_rows(b), k = matrix_columns(b), bytes = df_dtypes[b->dtype].bytes;
    const int32_t *rows = (const int32_t *)call->in[ROWS]->data + index * n;
    const char *from = matrix_at(b, index);
    char *out = matrix_at(call->out[0], index), *x = adjoint ? workspace : out;
    df_triangle lower = {.dtype = b->dtype, .lower = true, .unit = true, .transpose = adjoint,
                         .n = n, .ld = n, .a = matrix_at(call->in[FACTORS], index)};
    df_triangle upper = lower;
    upper.lower = upper.unit = false;
    const int64_t zero = DF_SYM(df_zero_on_diagonal)(b->dtype, n, upper.a);
    if (zero >= 0 || k == 0) return zero;
    for (int64_t i = 0; i < n; i++)
        DF_SYM(df_negate)(b->dtype, x + i * k * bytes, from + (adjoint ? i : rows[i]) * k * bytes,
                          k);
    workspace = (char *)workspace + (adjoint ? matrix_bytes(n, k, bytes) : 0);
    if (adjoint) DF_SYM(df_conjugate)(b->dtype, x, n * k); /* A^H X = B, A^T X* = B* */
    DF_SYM(df_triangle_solve)(adjoint ? &upper : &lower, k, x, k, false, workspace);
    DF_SYM(df_negate)(b->dtype, x, x, n * k);
    DF_SYM(df_triangle_solve)(adjoint ? &lower : &upper, k, x, k, false, workspace);
    if (adjoint) DF_SYM(df_conjugate)(b->dtype, x, n * k);
    for (int64_t i = 0; i < n && adjoint; i++)
        memcpy(out + rows[i] * k * bytes, x + i * k * bytes, (size_t)(k * bytes));
    return -1;
}

static matrix_batch solve_batch(const df_call *call)
{
    const df_tensor *b = call->in[RHS];
    const int64_t n = matrix_rows(b), k = matrix_columns(b), adjoint = call->attrs[ADJOINT].i;
    const df_triangle lower = {.dtype = b->dtype, .lower = true, .transpose = adjoint, .n = n,
                               .ld = n};
    const df_triangle upper = {.dtype = b->dtype, .transpose = adjoint, .n = n, .ld = n};
    int64_t bytes = adjoint ? matrix_bytes(n, k, df_dtypes[b->dtype].bytes) : 0;
    const int64_t products = df_max(DF_SYM(df_triangle_workspace)(&lower, k, false),
                                    DF_SYM(df_triangle_workspace)(&upper, k, false));
    if (bytes >= 0 && !df_add_size(bytes, products, &bytes)) bytes = -1;
    return (matrix_batch){.call = call, .count = matrix_count(b), .rows = n, .bytes = bytes,
                          .flops = 2 * (double)n * (double)n * (double)k, .run = solve_one,
                          .fault = "singular", .pivot = "0"};
}

static int64_t solve_workspace(const df_call *call)
{
    const matrix_batch batch = solve_batch(call);
    return DF_SYM(df_matrices_workspace)(&batch);
}

static double solve_flops(const df_call *call)
{
    const matrix_batch batch = solve_batch(call);
    return batch.flops * (double)batch.count;
}

static df_status run_solve(const df_call *call, df_error *err)
{
    const df_tensor *rows = call->in[ROWS];
    const int64_t n = matrix_rows(call->in[RHS]);
    for (int64_t i = 0; i < rows->size; i++) {
        /* Read once: another thread may write shared memory at the same time. */
        const int32_t row = ((const volatile int32_t *)rows->data)[i];
        if (row < 0 || row >= n)
            return df_fail(err, DF_OUT_OF_RANGE, "%s: element %lld of p is %d, expected 0 to %lld",
                           call->op->name, (long long)i, row, (long long)n - 1);
    }
    const matrix_batch batch = solve_batch(call);
    return DF_SYM(df_matrices_run)(&batch, err);
}

DF_OP(solve) = {MATRIX_OP(solve), .n_in = 4, .n_out = 1, .n_attrs = 1,
                .attrs = {{"adjoint", DF_ATTR_BOOL}}};
