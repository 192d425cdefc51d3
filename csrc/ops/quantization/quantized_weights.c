/* Products with quantised matrices, and their dequantised channels. Both ops have the operands
 * values, scales and zero points of df_quantized (gemm/quantized.h); zero points are empty if there
 * are none. */
#include "gemm/quantized.h"
#include "ops/indexing/indices.h"

enum { BITS, GROUP_SIZE, CHANNELS, DEPTH };
#define ATTRIBUTES                                                                               \
    .n_attrs = 4,                                                                                \
    .attrs = {{"bits", DF_ATTR_INT}, {"group_size", DF_ATTR_INT}, {"channels", DF_ATTR_INT},     \
              {"depth", DF_ATTR_INT}}

/* `first` is the position of the values among the inputs. */
static df_quantized matrix_of(const df_call *call, int first)
{
    const df_tensor *zeros = call->in[first + 2];
    return (df_quantized){.values = call->in[first]->data, .scales = call->in[first + 1]->data,
                          .zeros = zeros->size ? zeros->data : NULL,
                          .bits = (int)call->attrs[BITS].i, .n = call->attrs[CHANNELS].i,
                          .k = call->attrs[DEPTH].i, .group = call->attrs[GROUP_SIZE].i};
}

static bool has_shape(const df_tensor *x, df_dtype dtype, int64_t a, int64_t b, int64_t c)
{
    return x->dtype == dtype && x->ndim == 3 && may_equal(x->shape[0], a) &&
           may_equal(x->shape[1], b) && may_equal(x->shape[2], c);
}

static df_status check_matrix(const df_call *call, int first, df_error *err)
{
    const df_tensor *values = call->in[first], *scales = call->in[first + 1],
                    *zeros = call->in[first + 2];
    const int64_t bits = call->attrs[BITS].i, group = call->attrs[GROUP_SIZE].i,
                  n = call->attrs[CHANNELS].i, k = call->attrs[DEPTH].i;
    const bool has_group = group == 0 || (group > 0 && group <= DF_QUANTIZED_SUM &&
                                          group % 32 == 0);
    /* the number of bits of the padded matrix must be representable */
    if ((bits != 4 && bits != 8) || !has_group || n < 0 || k < 0 || n > 1 << 30 || k > 1 << 30)
        return df_fail(err, DF_INVALID_ARGUMENT,
                       "%s: %lld bits, groups of %lld, %lld channels of %lld elements, expected 4 "
                       "or 8 bits, groups of 0, or of a multiple of 32 up to %d", call->op->name,
                       (long long)bits, (long long)group, (long long)n, (long long)k,
                       DF_QUANTIZED_SUM);
    const df_quantized q = matrix_of(call, first);
    const int64_t blocks = df_quantized_blocks(n), groups = df_quantized_groups(&q);
    const int channels = DF_QUANTIZED_CHANNELS;
    if (!has_shape(values, DF_U8, blocks, df_quantized_words(&q), 4 * channels) ||
        !has_shape(scales, DF_BF16, blocks, groups, channels) ||
        (zeros->size != 0 && !has_shape(zeros, DF_U8, blocks, groups, channels)))
        return df_fail(err, DF_BAD_SHAPE,
                       "%s: values are %s, scales %s and zero points %s, which do not fit %lld "
                       "channels of %lld elements in groups of %lld", call->op->name,
                       df_tensor_text(values).text, df_tensor_text(scales).text,
                       df_tensor_text(zeros).text, (long long)n, (long long)k, (long long)group);
    return DF_OK;
}

/* --- matmul_quantized ------------------------------------------------------------------------- */

static df_status infer_product(const df_call *call, df_error *err)
{
    const df_tensor *x = call->in[0];
    df_status status = check_matrix(call, 1, err);
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
    return product(call->in[0]->shape, 0, call->in[0]->ndim - 1);
}

static int64_t product_workspace(const df_call *call)
{
    const df_quantized q = matrix_of(call, 1);
    return DF_SYM(df_quantized_workspace)(&q, rows_of(call));
}

static df_status run_product(const df_call *call, df_error *err)
{
    (void)err;
    const df_quantized q = matrix_of(call, 1);
    DF_SYM(df_quantized_product)(&q, rows_of(call), call->in[0]->data, call->out[0]->data,
                                 call->workspace);
    return DF_OK;
}

static double product_flops(const df_call *call)
{
    const df_quantized q = matrix_of(call, 1);
    return 2.0 * (double)rows_of(call) * (double)q.n * (double)q.k;
}

/* Inputs: x [..., depth], values, scales, zero points. */
DF_OP(matmul_quantized) = {.name = "matmul_quantized", .kind = DF_GENERAL, .cannot_fail = true,
                           .n_in = 4, .n_out = 1, ATTRIBUTES, .infer = infer_product,
                           .workspace = product_workspace, .run = run_product,
                           .flops = product_flops};

/* --- gather_quantized ------------------------------------------------------------------------- */

static df_status infer_gather(const df_call *call, df_error *err)
{
    const df_tensor *indices = call->in[3];
    df_status status = check_matrix(call, 0, err);
    if (status == DF_OK) status = check_index_dtype(call, 3, err);
    if (status != DF_OK) return status;
    int64_t shape[DF_MAX_NDIM + 1];
    for (int d = 0; d < indices->ndim; d++) shape[d] = indices->shape[d];
    shape[indices->ndim] = call->attrs[DEPTH].i;
    return df_tensor_set(call->out[0], DF_F32, indices->ndim + 1, shape, call->op->name, err);
}

typedef struct {
    df_quantized q;
    layout l;
    float *out;
} gather_job;

static void gather_block(void *context, int64_t begin, int64_t end)
{
    const gather_job *g = context;
    int64_t channels[CHUNK];
    while (begin < end) {
        const int64_t n = df_min(end - begin, CHUNK);
        resolve(&g->l, begin, n, channels);
        for (int64_t j = 0; j < n; j++)
            DF_SYM(df_dequantize_channel)(&g->q, channels[j], g->out + (begin + j) * g->q.k);
        begin += n;
    }
}

static df_status run_gather(const df_call *call, df_error *err)
{
    const df_tensor *indices = call->in[3];
    gather_job g = {.q = matrix_of(call, 0), .out = call->out[0]->data};
    const int64_t shape[2] = {g.q.n, g.q.k};
    g.l = lay_out(2, shape, indices, 0, 0, false);
    df_status status = check_indices(call, &g.l, "the quantised matrix", err);
    if (status != DF_OK || call->out[0]->size == 0) return status;
    df_parallel_for(indices->size, df_max(16384 / g.q.k, 1), (double)g.q.k, gather_block, &g);
    return DF_OK;
}

/* Inputs: values, scales, zero points, indices of channels. The output has the elements of each
 * channel along the last axis. */
DF_OP(gather_quantized) = {.name = "gather_quantized", .kind = DF_GENERAL, .n_in = 4, .n_out = 1,
                           ATTRIBUTES, .infer = infer_gather, .run = run_gather};
