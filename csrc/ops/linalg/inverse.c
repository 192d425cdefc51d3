/* inv, det and slogdet of square matrices, from LU factors in scratch memory. */
#include "factor/factor.h"
#include "ops/linalg/matrices.h"

#define TEMPLATE "ops/linalg/inverse_formulas.h"
#include "simd/simd.h"
#include <math.h>
#include "ops/each_float.h"
#undef TEMPLATE

/* Scratch memory: the factors, the row numbers, and the scratch memory of the functions. */
static int64_t scratch_bytes(const df_tensor *x, bool solves)
{
    const int64_t n = matrix_rows(x), bytes = df_dtypes[x->dtype].bytes;
    int64_t all = matrix_bytes(n, n, bytes);
    if (all < 0) return -1;
    int64_t more = DF_SYM(df_lu_workspace)(x->dtype, n, n);
    if (solves) {
        const df_triangle lower = {.dtype = x->dtype, .lower = true, .n = n, .ld = n};
        const df_triangle upper = {.dtype = x->dtype, .n = n, .ld = n};
        more = df_max(more, matrix_bytes(1, n, bytes));
        more = df_max(more, DF_SYM(df_triangle_workspace)(&lower, n, true));
        more = df_max(more, DF_SYM(df_triangle_workspace)(&upper, n, false));
    }
    return df_add_size(all, matrix_bytes(1, n, sizeof(int32_t)), &all) &&
                   df_add_size(all, more, &all) ? all : -1;
}

/* The factors of a matrix in scratch memory. */
typedef struct {
    df_dtype dtype;
    bool is_f32; /* the parts */
    int64_t n, parts;
    char *factors, *rest;
    int32_t *rows;
    int sign;
} factored;

static factored factor(const df_tensor *x, int64_t index, void *workspace)
{
    const int64_t n = matrix_rows(x), bytes = df_dtypes[x->dtype].bytes;
    factored f = {.dtype = x->dtype, .is_f32 = df_real_dtype(x->dtype) == DF_F32, .n = n,
                  .parts = df_is_complex(x->dtype) ? 2 : 1, .factors = workspace};
    f.rows = (int32_t *)(f.factors + matrix_bytes(n, n, bytes));
    f.rest = (char *)f.rows + matrix_bytes(1, n, sizeof(int32_t));
    DF_SYM(df_negate)(x->dtype, f.factors, matrix_at(x, index), n * n);
    f.sign = DF_SYM(df_lu)(x->dtype, n, n, f.factors, f.rows, f.rest);
    return f;
}

static double n_cubed(const df_tensor *x)
{
    const double n = (double)matrix_rows(x);
    return n * n * n;
}

static matrix_batch batch_of(const df_call *call, bool solves)
{
    const df_tensor *x = call->in[0];
    return (matrix_batch){.call = call, .count = matrix_count(x), .rows = matrix_rows(x),
                          .bytes = scratch_bytes(x, solves),
                          .flops = n_cubed(x) * (solves ? 2 : 2.0 / 3),
                          .fault = "singular", .pivot = "0"};
}

/* --- inv -------------------------------------------------------------------------------------- */

static df_status infer_inv(const df_call *call, df_error *err)
{
    df_status status = DF_SYM(df_check_matrices)(call, 0, true, err);
    return status == DF_OK ? df_infer_same(call, err) : status;
}

static int64_t invert(const df_call *call, int64_t index, void *workspace)
{
    const factored f = factor(call->in[0], index, workspace);
    const int64_t n = f.n;
    char *out = matrix_at(call->out[0], index);
    const int64_t zero = DF_SYM(df_zero_on_diagonal)(f.dtype, n, f.factors);
    if (zero >= 0) return zero;
    const df_triangle lower = {.dtype = f.dtype, .lower = true, .unit = true, .n = n, .ld = n,
                               .a = f.factors};
    df_triangle upper = lower;
    upper.lower = upper.unit = false;
    (f.is_f32 ? negative_identity_f32 : DF_HAS(F64, negative_identity_f64))(n, f.parts, out);
    DF_SYM(df_triangle_solve)(&lower, n, out, n, true, f.rest);
    DF_SYM(df_negate)(f.dtype, out, out, n * n);
    DF_SYM(df_triangle_solve)(&upper, n, out, n, false, f.rest);
    (f.is_f32 ? permute_columns_f32
              : DF_HAS(F64, permute_columns_f64))(n, f.parts, out, f.rows, f.rest);
    return -1;
}

static matrix_batch inv_batch(const df_call *call)
{
    matrix_batch batch = batch_of(call, true);
    batch.run = invert;
    return batch;
}
MATRIX_OP_FUNCTIONS(inv)

DF_OP(inv) = {MATRIX_OP(inv), .n_in = 1, .n_out = 1};

/* --- determinants ----------------------------------------------------------------------------- */

static df_status infer_det(const df_call *call, df_error *err)
{
    const df_tensor *x = call->in[0];
    df_status status = DF_SYM(df_check_matrices)(call, 0, true, err);
    for (int i = 0; status == DF_OK && i < call->n_out; i++) /* the logarithm is real */
        status = df_tensor_set(call->out[i], i ? df_real_dtype(x->dtype) : x->dtype,
                               x->ndim - 2, x->shape, call->op->name, err);
    return status;
}

static int64_t det_one(const df_call *call, int64_t index, void *workspace)
{
    const factored f = factor(call->in[0], index, workspace);
    (f.is_f32 ? det_f32 : DF_HAS(F64, det_f64))(f.n, f.parts, f.factors, f.sign,
                                                call->out[0]->data, index);
    return -1;
}

static matrix_batch det_batch(const df_call *call)
{
    matrix_batch batch = batch_of(call, false);
    batch.run = det_one;
    return batch;
}
MATRIX_OP_FUNCTIONS(det)

DF_OP(det) = {MATRIX_OP(det), .n_in = 1, .n_out = 1, .cannot_fail = true};

static int64_t slogdet_one(const df_call *call, int64_t index, void *workspace)
{
    const factored f = factor(call->in[0], index, workspace);
    (f.is_f32 ? slogdet_f32 : DF_HAS(F64, slogdet_f64))(
        f.n, f.parts, f.factors, f.sign, call->out[0]->data, call->out[1]->data, index);
    return -1;
}

static matrix_batch slogdet_batch(const df_call *call)
{
    matrix_batch batch = batch_of(call, false);
    batch.run = slogdet_one;
    return batch;
}
MATRIX_OP_FUNCTIONS(slogdet)

#define infer_slogdet infer_det
DF_OP(slogdet) = {MATRIX_OP(slogdet), .n_in = 1, .n_out = 2, .cannot_fail = true};
