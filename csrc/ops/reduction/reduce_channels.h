/* Part of reduce.c: reductions per channel, or per image and channel, of float32 in channels last.
 * The results have the bits, and with keepdims the shape, of the reduction of the transposed tensor
 * in channels first. */

#define APART_BYTES 64       /* of adjacent rows that are reduced at once: a cache line */
#define APART_ELEMENTS 8192 /* of a task: images usually come from the caches of several cores */

#define DTYPE f32
/* out[c * out_step] = reduction of row c, for some vectors of adjacent rows, with `lanes` rows in
 * the last one. Element i of row c is x[i * stride + c], and p[c] belongs to row c. Each lane
 * computes a row with the accumulators of reduce_row; a vector holds one lane of an accumulator for
 * several rows. The bits are those of reduce_row. */
DF_INLINE void FN(reduce_apart)(T *out, int64_t out_step, const T *x, const T *p, int64_t n,
                                int64_t stride, const int vectors, const int64_t lanes,
                                T identity, FN(map_fn) map, FN(combine_fn) combine)
{
    enum { PER_ROW = DF_VEC_BYTES / sizeof(T), ALL = N_ACCUMULATORS * PER_ROW,
           MOST = APART_BYTES / DF_VEC_BYTES };
    V acc[ALL][MOST], by[MOST];
    const int used = n <= SHORT_ROW ? 1 : ALL;
    for (int k = 0; k < used; k++)
        for (int v = 0; v < vectors; v++) acc[k][v] = FN(splat)(identity);
    for (int v = 0; v < vectors; v++)
        by[v] = p ? FN(load_upto)(p + v * LANES, v == vectors - 1 ? lanes : LANES) : (V){0};
    for (int64_t i = 0; i < n; i++) {
        /* reduce_row: vectors in turn, then the last vectors in the first accumulator, and the last
         * elements in the second one. */
        const int64_t part = i / PER_ROW * PER_ROW;
        const int64_t k = used == 1             ? 0
                          : i < n / ALL * ALL   ? i % ALL
                          : part + PER_ROW <= n ? i % PER_ROW
                                                : PER_ROW + i % PER_ROW;
        for (int v = 0; v < vectors; v++) {
            const int64_t count = v == vectors - 1 ? lanes : LANES;
            acc[k][v] = combine(acc[k][v], map(FN(load_upto)(x + i * stride + v * LANES, count),
                                               by[v]));
        }
    }
    for (int w = used / 2; w > 0; w /= 2)
        for (int k = 0; k < w; k++)
            for (int v = 0; v < vectors; v++) acc[k][v] = combine(acc[k][v], acc[k + w][v]);
    const T *results = (const T *)acc[0];
    for (int64_t c = 0; c < (vectors - 1) * LANES + lanes; c++) out[c * out_step] = results[c];
}

/* The functions for rows whose elements are apart. */
#define APART(name, map)                                                                         \
    static void FN(name##_apart)(void *out, int64_t step, const void *x, const void *p,          \
                                 int64_t n, int64_t stride, int64_t rows)                        \
    {                                                                                            \
        const int vectors = (int)df_ceil_div(rows, LANES), all = APART_BYTES / DF_VEC_BYTES;     \
        if (rows == all * LANES)                                                                 \
            FN(reduce_apart)(out, step, x, p, n, stride, all, LANES, 0, FN(map), FN(plus));      \
        else                                                                                     \
            FN(reduce_apart)(out, step, x, p, n, stride, vectors, rows - (vectors - 1) * LANES,  \
                             0, FN(map), FN(plus));                                              \
    }
APART(sum, plain)
APART(sum_square, squared)
APART(sum_deviation, square_of_difference)
#undef DTYPE

#define APART_OF(name)                                                                           \
    {[DF_F32] = {.rows = name##_rows_f32, .columns = name##_columns_f32,                         \
                 .apart = name##_apart_f32}}
static const reduction channel_sum = {.first = APART_OF(sum), .rest = {FLOAT_REDUCERS(sum)}};
static const reduction channel_mean = {.first = APART_OF(sum), .rest = {FLOAT_REDUCERS(sum)},
                                       FINISH(mean)};
static const reduction channel_sum_of_squares = {.first = APART_OF(sum_square),
                                                 .rest = {FLOAT_REDUCERS(sum)}};
static const reduction channel_mean_of_squares = {.first = APART_OF(sum_square),
                                                  .rest = {FLOAT_REDUCERS(sum)}, FINISH(mean)};
static const reduction channel_variance = {.first = APART_OF(sum_deviation),
                                           .rest = {FLOAT_REDUCERS(sum)}, FINISH(mean),
                                           .parameter = &channel_mean};

/* Computes results [begin, end) of (images, chunks, blocks of channels). */
static void apart_task(void *context, int64_t begin, int64_t end)
{
    const stage *s = context;
    const int64_t b = s->bytes, per_block = APART_BYTES / b, channels = s->channels;
    for (int64_t i = begin; i < end; i++) {
        const int64_t first = i % s->n_blocks * per_block, chunks = i / s->n_blocks;
        const int64_t image = chunks / s->n_chunks, chunk = chunks % s->n_chunks;
        const int64_t from = chunk * s->chunk, row = image * channels + first;
        s->reducer->apart(s->out + (row * s->n_chunks + chunk) * b, s->n_chunks,
                          s->x + ((image * s->span.n + from) * channels + first) * b,
                          s->p ? s->p + row * b : NULL, df_min(s->chunk, s->span.n - from),
                          channels, df_min(per_block, channels - first));
    }
}

static void run_apart(stage *s)
{
    const int64_t per_block = APART_BYTES / s->bytes;
    s->n_blocks = df_ceil_div(s->channels, per_block);
    const int64_t items = s->span.outer / s->channels * s->n_chunks * s->n_blocks;
    const int64_t each = df_min(s->span.n, s->chunk) * per_block + 1;
    df_parallel_for(items, df_max(APART_ELEMENTS / each, 1),
                    0.02 * (double)s->bytes * (double)each + 5, apart_task, s);
}

enum { OVER_BATCH }; /* whether to reduce over images, too; then KEEPDIMS */

static df_status infer_channels(const df_call *call, df_error *err)
{
    const df_tensor *x = call->in[0];
    if (x->dtype != DF_F32) return df_fail_dtype(call, 0, "float32", err);
    if (x->ndim < 3)
        return df_fail(err, DF_BAD_SHAPE, "%s: x has shape %s, expected 3 dimensions or more: "
                       "(batch, sizes, channels)", call->op->name,
                       df_shape_text(x->ndim, x->shape).text);
    int64_t shape[DF_MAX_NDIM];
    const bool keeps = call->attrs[KEEPDIMS].i, over_batch = call->attrs[OVER_BATCH].i;
    int ndim = 0;
    if (keeps || !over_batch) shape[ndim++] = over_batch ? 1 : x->shape[0];
    shape[ndim++] = x->shape[x->ndim - 1];
    while (keeps && ndim < x->ndim) shape[ndim++] = 1;
    return df_tensor_set(call->out[0], x->dtype, ndim, shape, call->op->name, err);
}

/* Returns the channels of x if its rows are apart: otherwise both orders are the same. */
static int64_t group_channels(groups *g, const df_call *call)
{
    const df_tensor *x = call->in[0];
    const int64_t channels = x->shape[x->ndim - 1];
    bool marked[DF_MAX_NDIM];
    df_tensor first = *x; /* borrows x, with the dimensions of channels first */
    int64_t shape[DF_MAX_NDIM], each = 1;
    shape[0] = x->shape[0];
    shape[1] = channels;
    marked[0] = call->attrs[OVER_BATCH].i;
    marked[1] = false;
    for (int d = 2; d < x->ndim; d++) {
        shape[d] = x->shape[d - 1];
        each *= shape[d];
        marked[d] = true;
    }
    first.shape = shape;
    group(g, &first, marked, call->out[0]->size);
    return x->size && channels > 1 && each > 1 ? channels : 0;
}

static int64_t workspace_channels(const df_call *call, const reduction *r)
{
    groups g;
    group_channels(&g, call);
    const scratch need = scratch_of(g, r, df_dtypes[call->in[0]->dtype].bytes);
    return need.even + need.odd + 3 * need.parameter;
}

static df_status run_channels(const df_call *call, const reduction *r)
{
    const df_tensor *x = call->in[0], *out = call->out[0];
    if (out->size == 0) return DF_OK;
    groups g;
    const int64_t channels = group_channels(&g, call);
    reduce(r, g, x->dtype, x, channels, out->data, out->size,
           (double)(x->size / out->size), call->workspace);
    return DF_OK;
}

#define CHANNEL_REDUCTION(of)                                                                    \
    static int64_t channel_##of##_workspace(const df_call *call)                                 \
    {                                                                                            \
        return workspace_channels(call, &channel_##of);                                          \
    }                                                                                            \
    static df_status channel_##of##_run(const df_call *call, df_error *err)                      \
    {                                                                                            \
        (void)err;                                                                               \
        return run_channels(call, &channel_##of);                                                \
    }
#define CHANNEL_REDUCTION_OP(of)                                                                 \
    .name = "channel_" #of, .kind = DF_GENERAL, .internal = true, .cannot_fail = true, .n_in = 1,\
    .n_out = 1, .n_attrs = 2, .attrs = {{"over_batch", DF_ATTR_BOOL}, {"keepdims", DF_ATTR_BOOL}},\
    .infer = infer_channels, .workspace = channel_##of##_workspace, .run = channel_##of##_run
