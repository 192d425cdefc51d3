/* matmul: op(a) op(b) over the last two dimensions; the dimensions before them broadcast (batches).
 * matmul_int32: the same for int8 and uint8 with int32 sums. matmul_cluster and
 * matmul_int32_cluster: products followed by elementwise steps, with one or more outputs. Converts
 * tensors to a df_gemm; gemm/ computes it. */
#include "gemm/gemm.h"
#include "ops/epilogue.h"

#include <stdlib.h>

enum { TRANSPOSE_A, TRANSPOSE_B, CODE };

/* Rows and columns of op(x), for a matrix or a batch of matrices. */
static int64_t op_rows(const df_tensor *x, bool transpose)
{
    return x->shape[x->ndim - (transpose ? 1 : 2)];
}
static int64_t op_cols(const df_tensor *x, bool transpose)
{
    return x->shape[x->ndim - (transpose ? 2 : 1)];
}

static df_status check_dtypes(const df_call *call, df_error *err)
{
    const df_dtype a = call->in[0]->dtype;
    for (int i = 0; i < 2; i++)
        if (!DF_SYM(df_gemm_has)(call->in[i]->dtype, call->in[i]->dtype) ||
            call->in[i]->dtype != a)
            return df_fail_dtype(call, i,
                                 "a float or complex type, or integers of 32 or 64 bits, for both",
                                 err);
    return DF_OK;
}

static df_status check_shapes(const df_call *call, df_error *err)
{
    const df_tensor *a = call->in[0], *b = call->in[1];
    const bool transpose_a = call->attrs[TRANSPOSE_A].i, transpose_b = call->attrs[TRANSPOSE_B].i;
    if (a->ndim < 2 || b->ndim < 2)
        return df_fail(err, DF_BAD_SHAPE,
                       "%s: a has shape %s and b %s, expected at least 2 dimensions of each",
                       call->op->name, df_shape_text(a->ndim, a->shape).text,
                       df_shape_text(b->ndim, b->shape).text);
    const int64_t k = op_cols(a, transpose_a), k_b = op_rows(b, transpose_b);
    if (k != k_b && k != DF_UNKNOWN && k_b != DF_UNKNOWN)
        return df_fail(err, DF_BAD_SHAPE,
                       "%s: a has shape %s and b %s, expected a's %s dimension (%lld) to equal "
                       "b's %s (%lld)",
                       call->op->name, df_shape_text(a->ndim, a->shape).text,
                       df_shape_text(b->ndim, b->shape).text,
                       transpose_a ? "second to last" : "last", (long long)k,
                       transpose_b ? "last" : "second to last", (long long)k_b);
    return DF_OK;
}

/* The batch dimensions of x, as a tensor that borrows the shape of x. */
static df_tensor batch_of(const df_tensor *x)
{
    df_tensor batch = *x;
    batch.data = NULL;
    batch.ndim -= 2;
    return batch;
}

static df_status infer_batch(const df_call *call, df_tensor *batch, df_error *err)
{
    const df_tensor *a = call->in[0], *b = call->in[1];
    const df_tensor batch_a = batch_of(a), batch_b = batch_of(b);
    df_status status = df_broadcast_shape(&batch_a, &batch_b, batch, call->op->name, err);
    if (status == DF_BAD_SHAPE)
        return df_fail(err, status,
                       "%s: a has shape %s and b %s, expected the dimensions before the last two "
                       "to broadcast", call->op->name, df_shape_text(a->ndim, a->shape).text,
                       df_shape_text(b->ndim, b->shape).text);
    return status;
}

static df_status infer_of(const df_call *call, df_dtype dtype, df_error *err)
{
    df_status status = check_shapes(call, err);
    if (status != DF_OK) return status;
    const df_tensor *a = call->in[0], *b = call->in[1];
    df_tensor batch;
    df_tensor_init(&batch);
    if (a->ndim > 2 || b->ndim > 2) status = infer_batch(call, &batch, err);
    if (status != DF_OK) return status;
    int64_t shape[DF_MAX_NDIM];
    for (int d = 0; d < batch.ndim; d++) shape[d] = batch.shape[d];
    shape[batch.ndim] = op_rows(a, call->attrs[TRANSPOSE_A].i);
    shape[batch.ndim + 1] = op_cols(b, call->attrs[TRANSPOSE_B].i);
    status = df_tensor_set(call->out[0], dtype, batch.ndim + 2, shape, call->op->name, err);
    df_tensor_clear(&batch);
    return status;
}

static df_status infer(const df_call *call, df_error *err)
{
    df_status status = check_dtypes(call, err);
    return status == DF_OK ? infer_of(call, call->in[0]->dtype, err) : status;
}

/* A df_gemm and its batch dimensions: those of the output, with adjacent ones merged if one stride
 * covers both in each input, which usually leaves one. Filled from the end, the innermost first. */
typedef struct {
    df_gemm gemm;
    int64_t shape[DF_MAX_NDIM], a_strides[DF_MAX_NDIM], b_strides[DF_MAX_NDIM];
} matmul;

/* Size of batch dimension `d` (counted from the innermost) of x; 1 where x has none. */
static int64_t batch_dim(const df_tensor *x, int d)
{
    return d < x->ndim - 2 ? x->shape[x->ndim - 3 - d] : 1;
}

static void merge_batch(matmul *m, const df_tensor *a, const df_tensor *b, int ndim)
{
    int64_t a_step = m->gemm.m * m->gemm.k, b_step = m->gemm.k * m->gemm.n;
    int at = DF_MAX_NDIM;
    for (int d = 0; d < ndim; d++) {
        const int64_t in_a = batch_dim(a, d), in_b = batch_dim(b, d), n = in_a == 1 ? in_b : in_a;
        if (n == 1) continue;
        const int64_t a_stride = in_a == 1 ? 0 : a_step, b_stride = in_b == 1 ? 0 : b_step;
        if (at < DF_MAX_NDIM && a_stride == m->a_strides[at] * m->shape[at] &&
            b_stride == m->b_strides[at] * m->shape[at]) {
            m->shape[at] *= n;
        } else {
            at--;
            m->shape[at] = n;
            m->a_strides[at] = a_stride;
            m->b_strides[at] = b_stride;
        }
        a_step *= in_a;
        b_step *= in_b;
    }
    m->gemm.batch_ndim = DF_MAX_NDIM - at;
    m->gemm.batch_shape = m->shape + at;
    m->gemm.a_strides = m->a_strides + at;
    m->gemm.b_strides = m->b_strides + at;
}

/* Merges matrices of a that are multiplied by the same b into one matrix with more rows. */
static void merge_rows(df_gemm *g)
{
    const int last = g->batch_ndim - 1;
    if (last >= 0 && !g->transpose_a && g->b_strides[last] == 0 && g->a_strides[last] != 0) {
        g->m *= g->batch_shape[last];
        g->batch_ndim = last;
    }
}

static void describe(const df_call *call, matmul *m)
{
    const df_tensor *a = call->in[0], *b = call->in[1], *out = call->out[0];
    df_gemm *g = &m->gemm;
    *g = (df_gemm){.dtype = a->dtype, .a = a->data, .b = b->data, .c = out->data};
    g->mixed = b->dtype != a->dtype; /* matmul_int32 */
    g->transpose_a = call->attrs[TRANSPOSE_A].i;
    g->transpose_b = call->attrs[TRANSPOSE_B].i;
    g->m = op_rows(a, g->transpose_a);
    g->k = op_cols(a, g->transpose_a);
    g->n = op_cols(b, g->transpose_b);
    g->lda = g->transpose_a ? g->m : g->k;
    g->ldb = g->transpose_b ? g->k : g->n;
    g->ldc = g->n;
    merge_batch(m, a, b, out->ndim - 2);
    merge_rows(g);
}

static int64_t workspace(const df_call *call)
{
    matmul m;
    describe(call, &m);
    return DF_SYM(df_gemm_workspace)(&m.gemm);
}

/* One multiplication and one addition per term of each element; four of complex numbers. */
static double flops(const df_call *call)
{
    matmul m;
    describe(call, &m);
    double n = (df_is_complex(m.gemm.dtype) ? 8.0 : 2.0) * (double)m.gemm.m * (double)m.gemm.k;
    n *= (double)m.gemm.n;
    for (int d = 0; d < m.gemm.batch_ndim; d++) n *= (double)m.gemm.batch_shape[d];
    return n;
}

static df_status fail_memory(const df_call *call, df_error *err)
{
    return df_fail(err, DF_OUT_OF_MEMORY, "%s: no memory to prepare it", call->op->name);
}

static df_status prepare(const df_call *call, void **prepared, df_error *err)
{
    matmul m;
    describe(call, &m);
    *prepared = DF_SYM(df_gemm_plan_new)(&m.gemm);
    return *prepared ? DF_OK : fail_memory(call, err);
}

static df_status run(const df_call *call, df_error *err)
{
    (void)err;
    if (call->prepared) {
        const df_gemm_data data = {call->in[0]->data, call->in[1]->data, call->out[0]->data, NULL};
        DF_SYM(df_gemm_run)(call->prepared, &data, call->workspace);
        return DF_OK;
    }
    matmul m;
    describe(call, &m);
    DF_SYM(df_gemm)(&m.gemm, call->workspace);
    return DF_OK;
}

DF_OP(matmul) = {.name = "matmul", .kind = DF_GENERAL, .cannot_fail = true,
                 .autocast = DF_AUTOCAST_LOWER, .n_in = 2, .n_out = 1, .n_attrs = 2,
                 .attrs = {{"transpose_a", DF_ATTR_BOOL}, {"transpose_b", DF_ATTR_BOOL}},
                 .promote = 3, .infer = infer, .workspace = workspace, .run = run,
                 .prepare = prepare, .release = free, .flops = flops};

static df_status infer_bytes(const df_call *call, df_error *err)
{
    for (int i = 0; i < 2; i++)
        if (call->in[i]->dtype != DF_I8 && call->in[i]->dtype != DF_U8)
            return df_fail_dtype(call, i, "int8 or uint8", err);
    return infer_of(call, DF_I32, err);
}

DF_OP(matmul_int32) = {.name = "matmul_int32", .kind = DF_GENERAL, .cannot_fail = true,
                       .n_in = 2, .n_out = 1, .n_attrs = 2,
                       .attrs = {{"transpose_a", DF_ATTR_BOOL}, {"transpose_b", DF_ATTR_BOOL}},
                       .infer = infer_bytes, .workspace = workspace, .run = run,
                       .prepare = prepare, .release = free, .flops = flops};

/* --- with an epilogue ------------------------------------------------------------------------- */

static df_status prepare_product(const df_call *call, void **prepared, df_error *err)
{
    matmul m;
    describe(call, &m);
    m.gemm.epilogue = DF_SYM(df_epilogue_piece);
    *prepared = DF_SYM(df_gemm_plan_new)(&m.gemm);
    return *prepared ? DF_OK : fail_memory(call, err);
}

static void run_product(const df_call *call, const void *prepared, void *to,
                        df_product_epilogue epilogue, void *workspace)
{
    const df_gemm_data data = {call->in[0]->data, call->in[1]->data, to, epilogue.context};
    DF_SYM(df_gemm_run)(prepared, &data, workspace);
}

EPILOGUE(matmul, 2, CODE, infer, workspace, prepare_product, run_product)

EPILOGUE(bytes, 2, CODE, infer_bytes, workspace, prepare_product, run_product)

/* Inputs after the first two may have any shape that broadcasts to that of the product. */
DF_OP(matmul_cluster) = {EPILOGUE_OP(matmul), .name = "matmul_cluster", .n_attrs = 3,
                         .attrs = {{"transpose_a", DF_ATTR_BOOL}, {"transpose_b", DF_ATTR_BOOL},
                                   {"code", DF_ATTR_INTS}},
                         .flops = flops};
DF_OP(matmul_int32_cluster) = {EPILOGUE_OP(bytes), .name = "matmul_int32_cluster", .n_attrs = 3,
                               .attrs = {{"transpose_a", DF_ATTR_BOOL},
                                         {"transpose_b", DF_ATTR_BOOL}, {"code", DF_ATTR_INTS}},
                               .flops = flops};
