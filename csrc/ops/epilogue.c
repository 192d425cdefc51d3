/* Elementwise steps after a product, see epilogue.h. */
#include "ops/epilogue.h"
#include "fuse/run.h"
#include "ops/finish.h"

#include <stdatomic.h>
#include <stdlib.h>

#define MAX_INPUTS 64

/* The cluster after a product as a separate call. Value 0 is the product, a tensor in the memory of
 * the first output if its elements have the same size, otherwise in the workspace. */
typedef struct {
    df_call call;
    df_tensor product;
    const df_tensor *in[MAX_INPUTS];
    df_attr attrs[2]; /* shape and code, as of `cluster` */
    const df_cluster *cluster;
    df_finish finish; /* no steps: not simple enough */
    void *parts; /* of COLUMN values, if there are any */
    atomic_bool failed; /* out of memory for some piece */
    atomic_bool in_pieces; /* pieces did not match the parts of COLUMN values, which are then
                            * computed at the end */
} epilogue;

/* Sets the call of `e` once the product has its shape; `e` may not move afterwards. */
static void set_call(epilogue *e, const df_product *product, const df_call *call)
{
    const int before = product->n_in - 1;
    e->call = (df_call){.op = call->op, .n_in = call->n_in - before, .n_out = call->n_out,
                        .in = e->in, .out = call->out, .attrs = e->attrs};
    e->in[0] = &e->product;
    for (int i = 1; i < e->call.n_in; i++) e->in[i] = call->in[i + before];
    e->attrs[0].list = (df_ints){e->product.shape, e->product.ndim};
    e->attrs[1].list = call->attrs[product->code].list;
}

static df_status describe(const df_product *product, const df_call *call, epilogue *e,
                          df_error *err)
{
    if (call->n_in < product->n_in || call->n_in > MAX_INPUTS)
        return df_fail(err, DF_INVALID_ARGUMENT, "%s: got %d inputs, expected %d to %d",
                       call->op->name, call->n_in, product->n_in, MAX_INPUTS);
    const df_ints code = call->attrs[product->code].list;
    if (code.n < 1 || code.v[0] != 1 || call->n_out < 1)
        return df_fail(err, DF_INVALID_ARGUMENT,
                       "%s: expected tile code with rows of 1 element and an output",
                       call->op->name);
    df_tensor *out = &e->product;
    df_call plain = *call;
    plain.out = &out;
    plain.n_out = 1;
    df_status status = product->infer(&plain, err);
    if (status == DF_OK) set_call(e, product, call);
    return status;
}

int DF_SYM(df_epilogue_count_out)(const df_product *product, const df_call *call)
{
    const df_attr attrs[2] = {{.i = 0}, call->attrs[product->code]};
    df_call cluster = *call;
    cluster.attrs = attrs;
    return df_cluster_count_out(&cluster);
}

df_status DF_SYM(df_epilogue_infer)(const df_product *product, const df_call *call, df_error *err)
{
    epilogue e;
    df_tensor_init(&e.product);
    df_status status = describe(product, call, &e, err);
    if (status == DF_OK) status = df_cluster_infer(&e.call, err);
    df_tensor_clear(&e.product);
    return status;
}

/* Products of int8 and uint8 are int32. */
static df_dtype product_dtype(const df_call *call)
{
    const df_dtype dtype = call->in[0]->dtype;
    return df_dtypes[dtype].bytes == 1 ? DF_I32 : dtype;
}

static bool in_place(const df_call *call)
{
    return df_dtypes[product_dtype(call)].bytes == df_dtypes[call->out[0]->dtype].bytes;
}

static int64_t product_bytes(const df_call *call)
{
    const int64_t bytes = call->out[0]->size * df_dtypes[product_dtype(call)].bytes;
    return in_place(call) ? 0 : df_ceil_div(bytes, DF_ALIGNMENT) * DF_ALIGNMENT;
}

int64_t DF_SYM(df_epilogue_workspace)(const df_product *product, const df_call *call)
{
    const int64_t bytes = product->workspace(call);
    return bytes < 0 ? bytes : product_bytes(call) + bytes;
}

/* The rows of a piece are consecutive in memory if it is as wide as the product. */
void DF_SYM(df_epilogue_piece)(const void *context, int64_t row, int64_t rows, int64_t col0,
                               int64_t cols, void *c, int64_t ldc)
{
    epilogue *e = (epilogue *)context;
    df_error err;
    (void)c;
    if (cols == ldc) {
        cols *= rows;
        rows = 1;
    }
    if (DF_SYM(df_cluster_run_part)(e->cluster, &e->call, row * ldc + col0, cols, rows, ldc,
                                    &err) != DF_OK)
        atomic_store(&e->failed, true);
    else if (e->parts &&
             !df_cluster_columns_piece(e->cluster, &e->call, row * ldc + col0, cols, rows,
                                                   e->parts))
        atomic_store(&e->in_pieces, true);
}

/* State computed once for many runs. */
typedef struct {
    void *product;
    df_cluster *cluster;
    df_finish finish;
} prepared_cluster;

void DF_SYM(df_epilogue_release)(void *prepared)
{
    prepared_cluster *p = prepared;
    free(p->product);
    df_cluster_free(p->cluster);
    free(p);
}

df_status DF_SYM(df_epilogue_prepare)(const df_product *product, const df_call *call,
                                      void **prepared, df_error *err)
{
    epilogue e;
    prepared_cluster *p = calloc(1, sizeof *p);
    if (!p)
        return df_fail(err, DF_OUT_OF_MEMORY, "%s: no memory to prepare it", call->op->name);
    df_tensor_init(&e.product);
    df_status status = describe(product, call, &e, err);
    if (status == DF_OK) status = df_cluster_new(&e.call, &p->cluster, err);
    if (status == DF_OK) DF_SYM(df_finish_of)(&e.call, &p->finish);
    if (status == DF_OK && df_cluster_has_columns(p->cluster) &&
        !df_cluster_sums_rows(p->cluster,
                              e.product.ndim ? e.product.shape[e.product.ndim - 1] : 1))
        status = df_fail(err, DF_INVALID_ARGUMENT,
                         "%s: expected tile code whose column reductions are over rows of outputs",
                         call->op->name);
    if (status == DF_OK && product->prepare) status = product->prepare(call, &p->product, err);
    df_tensor_clear(&e.product);
    if (status == DF_OK) *prepared = p;
    else DF_SYM(df_epilogue_release)(p);
    return status;
}

df_status DF_SYM(df_epilogue_compile)(const df_product *product, const df_call *call,
                                      void *prepared, df_ints layout, df_compiled_fn fn,
                                      df_error *err)
{
    epilogue e;
    df_tensor_init(&e.product);
    df_status status = describe(product, call, &e, err);
    if (status == DF_OK)
        status = df_cluster_compile(((prepared_cluster *)prepared)->cluster, &e.call, layout, fn,
                                    err);
    df_tensor_clear(&e.product);
    return status;
}

static df_status run_prepared(const df_product *product, const df_call *call,
                              const prepared_cluster *p, df_error *err)
{
    epilogue e;
    df_buffer *parts = NULL;
    if (df_cluster_has_columns(p->cluster)) {
        parts = df_buffer_new(df_cluster_columns_bytes(p->cluster));
        if (!parts)
            return df_fail(err, DF_OUT_OF_MEMORY, "%s: no memory for partial results",
                           call->op->name);
    }
    e.cluster = p->cluster;
    e.parts = parts ? parts->data : NULL;
    atomic_init(&e.failed, false);
    atomic_init(&e.in_pieces, false);
    e.product = *call->out[0]; /* borrows the shape */
    e.product.dtype = product_dtype(call);
    if (!in_place(call)) e.product.data = call->workspace;
    set_call(&e, product, call);
    e.finish = p->finish;
    if (!in_place(call)) e.finish.n = 0;
    for (df_finish_step *s = e.finish.steps; s < e.finish.steps + e.finish.n; s++)
        if (s->input >= 0) s->data = e.in[s->input]->data;
    const df_product_epilogue all = {DF_SYM(df_epilogue_piece), &e,
                                     e.finish.n ? &e.finish : NULL};
    product->run(call, p->product, e.product.data, all,
                 (char *)call->workspace + product_bytes(call));
    if (parts && !atomic_load(&e.failed)) {
        if (atomic_load(&e.in_pieces)) df_cluster_columns_all(e.cluster, &e.call, e.parts);
        df_cluster_finish_columns(e.cluster, &e.call, e.parts);
    }
    df_buffer_release(parts);
    return atomic_load(&e.failed) ? df_fail(err, DF_OUT_OF_MEMORY, "%s: no memory for registers",
                                            call->op->name)
                                  : DF_OK;
}

df_status DF_SYM(df_epilogue_run)(const df_product *product, const df_call *call, df_error *err)
{
    if (call->prepared) return run_prepared(product, call, call->prepared, err);
    void *prepared;
    df_status status = DF_SYM(df_epilogue_prepare)(product, call, &prepared, err);
    if (status != DF_OK) return status;
    status = run_prepared(product, call, prepared, err);
    DF_SYM(df_epilogue_release)(prepared);
    return status;
}
