/* pack_matrix: packs the right operand of a product for the kernel of the product. matmul_packed: a
 * op(b) with a packed b, for the same number of rows. matmul_packed_cluster: matmul_packed followed
 * by elementwise steps. The results are bit-identical to those of matmul, for int8 and uint8 to
 * those of matmul_int32; the packed matrix may then have the other dtype of the two. */
#include "gemm/gemm.h"
#include "ops/epilogue.h"

#include <stdlib.h>

enum { TRANSPOSE, ROWS }; /* of pack_matrix */
enum { COLUMNS, CODE };

/* The dtype of a product of the first input. */
static df_dtype result_dtype(const df_call *call)
{
    const df_dtype dtype = call->in[0]->dtype;
    return df_dtypes[dtype].bytes == 1 ? DF_I32 : dtype;
}

static df_status check_dtype(const df_call *call, df_error *err)
{
    return DF_SYM(df_gemm_has)(call->in[0]->dtype, result_dtype(call))
               ? DF_OK
               : df_fail_dtype(call, 0,
                               "a float or complex type, or integers of 8, 32 or 64 bits", err);
}

/* --- packing ---------------------------------------------------------------------------------- */

static df_gemm packing_of(const df_call *call)
{
    const df_tensor *x = call->in[0];
    const bool transpose = call->attrs[TRANSPOSE].i;
    return (df_gemm){.dtype = x->dtype, .transpose_b = transpose, .m = call->attrs[ROWS].i,
                     .k = x->shape[transpose], .n = x->shape[!transpose], .b = x->data,
                     .lda = x->shape[transpose], .ldb = x->shape[1], .ldc = x->shape[!transpose]};
}

static df_status infer_pack(const df_call *call, df_error *err)
{
    const df_tensor *x = call->in[0];
    df_status status = check_dtype(call, err);
    if (status != DF_OK) return status;
    if (x->ndim != 2 || call->attrs[ROWS].i < 2)
        return df_fail(err, DF_BAD_SHAPE,
                       "%s: got %s for %lld rows, expected a matrix and 2 or more", call->op->name,
                       df_tensor_text(x).text, (long long)call->attrs[ROWS].i);
    int64_t bytes = DF_UNKNOWN;
    if (x->size >= 0) {
        const df_gemm g = packing_of(call);
        bytes = DF_SYM(df_gemm_packed_bytes)(&g);
        if (bytes <= 0)
            return df_fail(err, DF_BAD_SHAPE, "%s: a product of %lld rows cannot use a packed %s",
                           call->op->name, (long long)g.m, df_tensor_text(x).text);
    }
    return df_tensor_set(call->out[0], DF_U8, 1, &bytes, call->op->name, err);
}

static df_status run_pack(const df_call *call, df_error *err)
{
    (void)err;
    const df_gemm g = packing_of(call);
    DF_SYM(df_gemm_pack)(&g, call->out[0]->data);
    return DF_OK;
}

DF_OP(pack_matrix) = {.name = "pack_matrix", .kind = DF_GENERAL, .cannot_fail = true,
                      .internal = true,
                      .n_in = 1, .n_out = 1, .n_attrs = 2,
                      .attrs = {{"transpose", DF_ATTR_BOOL}, {"rows", DF_ATTR_INT}},
                      .infer = infer_pack, .run = run_pack};

/* --- products --------------------------------------------------------------------------------- */

static df_gemm product_of(const df_call *call)
{
    const df_tensor *a = call->in[0], *b = call->in[1];
    const int64_t k = a->shape[a->ndim - 1], n = call->attrs[COLUMNS].i;
    df_gemm g = {.dtype = a->dtype, .packed_b = true, .m = 1, .n = n, .k = k, .a = a->data,
                 .b = b->data, .c = call->out[0]->data, .lda = k, .ldb = n, .ldc = n};
    for (int d = 0; d < a->ndim - 1; d++) g.m *= a->shape[d];
    return g;
}

static df_status check_packed(const df_call *call, df_error *err)
{
    const df_tensor *a = call->in[0], *b = call->in[1];
    df_gemm g = product_of(call);
    g.packed_b = false;
    const int64_t want = DF_SYM(df_gemm_packed_bytes)(&g);
    return want > 0 && b->size == want
               ? DF_OK
               : df_fail(err, DF_BAD_SHAPE,
                         "%s: a is %s and b %s, expected a b packed for this a, %lld bytes",
                         call->op->name, df_tensor_text(a).text, df_tensor_text(b).text,
                         (long long)want);
}

static df_status infer(const df_call *call, df_error *err)
{
    const df_tensor *a = call->in[0], *b = call->in[1];
    const int64_t n = call->attrs[COLUMNS].i;
    df_status status = check_dtype(call, err);
    if (status != DF_OK) return status;
    if (a->ndim < 2 || b->ndim != 1 || b->dtype != DF_U8 || n < 1)
        return df_fail(err, DF_BAD_SHAPE, "%s: a is %s and b %s, expected a matrix and a packed "
                       "one of 1 column or more, got %lld", call->op->name, df_tensor_text(a).text,
                       df_tensor_text(b).text, (long long)n);
    if (a->size >= 0 && b->size >= 0) status = check_packed(call, err);
    if (status != DF_OK) return status;
    int64_t shape[DF_MAX_NDIM];
    for (int d = 0; d < a->ndim - 1; d++) shape[d] = a->shape[d];
    shape[a->ndim - 1] = n;
    return df_tensor_set(call->out[0], result_dtype(call), a->ndim, shape, call->op->name, err);
}

static int64_t workspace(const df_call *call)
{
    const df_gemm g = product_of(call);
    return DF_SYM(df_gemm_workspace)(&g);
}

static double flops(const df_call *call)
{
    const df_gemm g = product_of(call);
    return (df_is_complex(g.dtype) ? 8.0 : 2.0) * (double)g.m * (double)g.k * (double)g.n;
}

static df_status make_plan(df_gemm *g, const df_call *call, void **prepared, df_error *err)
{
    *prepared = DF_SYM(df_gemm_plan_new)(g);
    return *prepared ? DF_OK
                     : df_fail(err, DF_OUT_OF_MEMORY, "%s: no memory to prepare it",
                               call->op->name);
}

static df_status prepare(const df_call *call, void **prepared, df_error *err)
{
    df_gemm g = product_of(call);
    return make_plan(&g, call, prepared, err);
}

static df_status run(const df_call *call, df_error *err)
{
    (void)err;
    const df_gemm g = product_of(call);
    if (call->prepared) {
        const df_gemm_data data = {g.a, g.b, g.c, NULL};
        DF_SYM(df_gemm_run)(call->prepared, &data, call->workspace);
    } else {
        DF_SYM(df_gemm)(&g, call->workspace);
    }
    return DF_OK;
}

DF_OP(matmul_packed) = {.name = "matmul_packed", .kind = DF_GENERAL, .cannot_fail = true,
                        .internal = true, .n_in = 2, .n_out = 1, .n_attrs = 1,
                        .attrs = {{"columns", DF_ATTR_INT}}, .infer = infer,
                        .workspace = workspace, .run = run, .prepare = prepare, .release = free,
                        .flops = flops};

/* --- with an epilogue ------------------------------------------------------------------------- */

static df_status prepare_product(const df_call *call, void **prepared, df_error *err)
{
    df_gemm g = product_of(call);
    g.epilogue = DF_SYM(df_epilogue_piece);
    return make_plan(&g, call, prepared, err);
}

static void run_product(const df_call *call, const void *prepared, void *to,
                        df_product_epilogue epilogue, void *workspace)
{
    const df_gemm_data data = {call->in[0]->data, call->in[1]->data, to, epilogue.context};
    DF_SYM(df_gemm_run)(prepared, &data, workspace);
}

EPILOGUE(packed, 2, CODE, infer, workspace, prepare_product, run_product)

DF_OP(matmul_packed_cluster) = {
    EPILOGUE_OP(packed), .name = "matmul_packed_cluster", .n_attrs = 2,
    .attrs = {{"columns", DF_ATTR_INT}, {"code", DF_ATTR_INTS}}, .flops = flops};
