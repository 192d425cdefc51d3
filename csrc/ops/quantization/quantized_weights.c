/* matmul_quantized: the product of a float32 tensor and a quantised matrix, whose operands are
 * those of df_quantized (gemm/quantized.h); zero points are empty if there are none. */
#include "gemm/quantized.h"

#define MOST (INT64_C(1) << 30) /* channels or elements, so that sizes are representable */

enum { BITS, GROUP_SIZE, CHANNELS, DEPTH };

static df_quantized quantized_of(const df_call *call)
{
    const df_tensor *zeros = call->in[3];
    return (df_quantized){.values = call->in[1]->data, .scales = call->in[2]->data,
                          .wide = call->in[2]->dtype == DF_F32,
                          .zeros = zeros->size ? zeros->data : NULL,
                          .bits = (int)call->attrs[BITS].i, .n = call->attrs[CHANNELS].i,
                          .k = call->attrs[DEPTH].i, .group = call->attrs[GROUP_SIZE].i};
}

static bool may_equal(int64_t a, int64_t b) { return a == b || a == DF_UNKNOWN || b == DF_UNKNOWN; }

static bool has_shape(const df_tensor *x, df_dtype dtype, int64_t a, int64_t b, int64_t c)
{
    return x->dtype == dtype && x->ndim == 3 && may_equal(x->shape[0], a) &&
           may_equal(x->shape[1], b) && may_equal(x->shape[2], c);
}

static df_status check_matrix(const df_call *call, df_error *err)
{
    const df_tensor *values = call->in[1], *scales = call->in[2], *zeros = call->in[3];
    const int64_t bits = call->attrs[BITS].i, group = call->attrs[GROUP_SIZE].i,
                  n = call->attrs[CHANNELS].i, k = call->attrs[DEPTH].i;
    const bool has_group = group == 0 || (group > 0 && group <= DF_QUANTIZED_SUM &&
                                          group % 32 == 0);
    if ((bits != 4 && bits != 8) || !has_group || n < 0 || k < 0 || n > MOST || k > MOST)
        return df_fail(err, DF_INVALID_ARGUMENT,
                       "%s: %lld bits, groups of %lld, %lld channels of %lld elements, expected 4 "
                       "or 8 bits, groups of 0, or of a multiple of 32 up to %d", call->op->name,
                       (long long)bits, (long long)group, (long long)n, (long long)k,
                       DF_QUANTIZED_SUM);
    const df_quantized q = quantized_of(call);
    const int64_t blocks = df_quantized_blocks(n), groups = df_quantized_groups(&q);
    const int channels = DF_QUANTIZED_CHANNELS;
    if (!has_shape(values, DF_U8, blocks, df_quantized_words(&q), 4 * channels) ||
        !has_shape(scales, q.wide ? DF_F32 : DF_BF16, blocks, groups, channels) ||
        (zeros->size != 0 && !has_shape(zeros, DF_U8, blocks, groups, channels)))
        return df_fail(err, DF_BAD_SHAPE,
                       "%s: values are %s, scales %s and zero points %s, which do not fit %lld "
                       "channels of %lld elements in groups of %lld", call->op->name,
                       df_tensor_text(values).text, df_tensor_text(scales).text,
                       df_tensor_text(zeros).text, (long long)n, (long long)k, (long long)group);
    return DF_OK;
}

DF_ONCE(df_status, infer_quantized, (const df_call *call, df_error *err))
{
    const df_tensor *x = call->in[0];
    df_status status = check_matrix(call, err);
    if (status != DF_OK) return status;
    if (x->dtype != DF_F32) return df_fail_dtype(call, 0, "float32", err);
    if (x->ndim < 1 || !may_equal(x->shape[x->ndim - 1], call->attrs[DEPTH].i))
        return df_fail(err, DF_BAD_SHAPE,
                       "%s: x is %s, expected a last dimension of %lld, as in the quantised matrix",
                       call->op->name, df_tensor_text(x).text, (long long)call->attrs[DEPTH].i);
    int64_t shape[DF_MAX_NDIM];
    for (int d = 0; d < x->ndim - 1; d++) shape[d] = x->shape[d];
    shape[x->ndim - 1] = call->attrs[CHANNELS].i;
    return df_tensor_set(call->out[0], DF_F32, x->ndim, shape, call->op->name, err);
}

static int64_t rows_of(const df_call *call)
{
    int64_t rows = 1;
    for (int d = 0; d < call->in[0]->ndim - 1; d++) rows *= call->in[0]->shape[d];
    return rows;
}

static int64_t product_workspace(const df_call *call)
{
    const df_quantized q = quantized_of(call);
    return DF_SYM(df_quantized_workspace)(&q, rows_of(call));
}

static df_status run_product(const df_call *call, df_error *err)
{
    (void)err;
    const df_quantized q = quantized_of(call);
    DF_SYM(df_quantized_product)(&q, rows_of(call), call->in[0]->data, call->out[0]->data,
                                 call->workspace);
    return DF_OK;
}

DF_ONCE(double, product_flops, (const df_call *call))
{
    const df_quantized q = quantized_of(call);
    return 2.0 * (double)rows_of(call) * (double)q.n * (double)q.k;
}

/* Inputs: x [..., depth], values, scales, zero points. */
DF_OP(matmul_quantized) = {.name = "matmul_quantized", .kind = DF_GENERAL, .cannot_fail = true,
                           .n_in = 4, .n_out = 1, .n_attrs = 4,
                           .attrs = {{"bits", DF_ATTR_INT}, {"group_size", DF_ATTR_INT},
                                     {"channels", DF_ATTR_INT}, {"depth", DF_ATTR_INT}},
                           .infer = infer_quantized,
                           .workspace = product_workspace, .run = run_product,
                           .flops = product_flops};
