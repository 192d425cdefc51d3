/* Reduced-precision floats computed in float32, see in_float.h. */
#include "ops/in_float.h"
#include "fuse/cluster.h"
#include "base/thread.h"
#include "op/tile.h"
#include "gemm/half.h"

#define GRAIN 16384 /* elements converted per chunk of parallel work */
#define PIECE 512   /* elements of an operand of a tile function widened at a time */
#define MAX_OPERANDS 16

void DF_SYM(df_tile_in_float)(df_tile_fn f32, df_half_tile of, int64_t n, void *out,
                              const void *const *in, const df_attr *attrs)
{
    float x[DF_TILE_MAX_IN][PIECE] __attribute__((aligned(DF_ALIGNMENT)));
    const void *wide[DF_TILE_MAX_IN] = {x[0], x[1], x[2], x[3]};
    for (int64_t at = 0; at < n; at += PIECE) {
        const int64_t piece = df_min(PIECE, n - at);
        for (int i = 0; i < of.n_in; i++)
            df_piece(of.half, in[i], at, piece, x[i]);
        if (of.rounds) {
            f32(piece, x[0], wide, attrs);
            df_piece_done(of.half, out, at, piece, x[0]);
        } else {
            f32(piece, (uint8_t *)out + at, wide, attrs);
        }
    }
}

void DF_SYM(df_reduce_in_float)(df_reduce_fn f32, df_dtype half, int64_t rows, int64_t n, void *out,
                                const void *x)
{
    float wide[DF_CLUSTER_HALF_ROW_MAX], reduced[PIECE];
    const int64_t some = df_min(PIECE, DF_CLUSTER_HALF_ROW_MAX / df_max(n, 1));
    for (int64_t r = 0; r < rows; r += some) {
        const int64_t count = df_min(some, rows - r);
        df_piece(half, x, r * n, count * n, wide);
        f32(count, n, reduced, wide);
        df_piece_done(half, out, r, count, reduced);
    }
}

/* --- whole operands --------------------------------------------------------------------------- */

/* A reduced-precision tensor and its float32 counterpart. */
typedef struct {
    const df_tensor *half;
    df_tensor *wide;
} pair;

static void widen_block(void *context, int64_t begin, int64_t end)
{
    const pair *p = context;
    df_piece(p->half->dtype, p->half->data, begin, end - begin, (float *)p->wide->data + begin);
}

static void narrow_block(void *context, int64_t begin, int64_t end)
{
    const pair *p = context;
    df_piece_done(p->half->dtype, p->half->data, begin, end - begin,
                  (const float *)p->wide->data + begin);
}

static void convert(const df_tensor *half, df_tensor *wide, void (*block)(void *, int64_t, int64_t))
{
    pair p = {half, wide};
    if (half->size) df_parallel_for(half->size, GRAIN, 0.2, block, &p);
}

void DF_SYM(df_round_to_half)(df_dtype half, int64_t n, void *to, const float *from)
{
    const df_tensor rounded = {.dtype = half, .size = n, .data = to};
    df_tensor wide = {.data = (void *)from};
    convert(&rounded, &wide, narrow_block);
}

/* The call in float32. Shapes are borrowed from the original tensors; only buffers are owned,
 * except for outputs whose size depends on data, which the kernel describes and allocates. */
typedef struct {
    df_call call;
    df_tensor tensors[2 * MAX_OPERANDS];
    const df_tensor *in[MAX_OPERANDS];
    df_tensor *out[MAX_OPERANDS];
    df_buffer *workspace;
} wide_call;

static df_status describe_as_float(df_tensor *wide, const df_tensor *half, const char *op,
                                   df_error *err)
{
    if (half->size < 0) { /* depends on data: set by the kernel */
        df_tensor_init(wide);
        return df_tensor_set(wide, DF_F32, half->ndim, half->shape, op, err);
    }
    *wide = *half;
    wide->dtype = DF_F32;
    wide->buffer = NULL;
    return df_tensor_alloc(wide, op, err);
}

static df_status widen_call(wide_call *w, const df_call *call, uint32_t in, uint32_t out,
                            df_error *err)
{
    const char *name = call->op->name;
    df_status status = DF_OK;
    w->call = *call;
    w->call.in = w->in;
    w->call.out = w->out;
    w->call.prepared = NULL;
    w->workspace = NULL;
    for (int i = 0; i < call->n_in; i++) w->in[i] = call->in[i];
    for (int i = 0; i < call->n_out; i++) w->out[i] = call->out[i];
    for (int i = 0; i < call->n_in && status == DF_OK; i++) {
        if (!df_is_reduced_float(call->in[i]->dtype) || in >> i & 1) continue;
        df_tensor *wide = &w->tensors[i];
        status = describe_as_float(wide, call->in[i], name, err);
        w->in[i] = wide;
        if (status == DF_OK && !(call->op->shape_only >> i & 1))
            convert(call->in[i], wide, widen_block);
    }
    for (int i = 0; i < call->n_out && status == DF_OK; i++) {
        if (!df_is_reduced_float(call->out[i]->dtype) || out >> i & 1) continue;
        df_tensor *wide = &w->tensors[MAX_OPERANDS + i];
        status = describe_as_float(wide, call->out[i], name, err);
        w->out[i] = wide;
    }
    if (status != DF_OK || !call->op->workspace) return status;
    const int64_t bytes = call->op->workspace(&w->call);
    w->workspace = bytes >= 0 ? df_buffer_new(bytes) : NULL;
    if (!w->workspace)
        return df_fail(err, DF_OUT_OF_MEMORY, "%s: no memory for %lld bytes of workspace", name,
                       (long long)bytes);
    w->call.workspace = w->workspace->data;
    return DF_OK;
}

static df_status narrow_output(df_tensor *half, df_tensor *wide, const char *op, df_error *err)
{
    df_status status = DF_OK;
    if (half->size < 0) {
        status = df_tensor_set(half, half->dtype, wide->ndim, wide->shape, op, err);
        if (status == DF_OK) status = df_tensor_alloc(half, op, err);
    }
    if (status == DF_OK) convert(half, wide, narrow_block);
    return status;
}

static df_status narrow_call(wide_call *w, const df_call *call, df_error *err)
{
    df_status status = DF_OK;
    for (int i = 0; i < call->n_in; i++)
        if (call->op->writes >> i & 1 && w->in[i] != call->in[i])
            convert(call->in[i], &w->tensors[i], narrow_block);
    for (int i = 0; i < call->n_out && status == DF_OK; i++)
        if (w->out[i] != call->out[i])
            status = narrow_output(call->out[i], w->out[i], call->op->name, err);
    return status;
}

static void release(df_tensor *wide, const df_tensor *half)
{
    if (wide->shape == half->shape) df_buffer_release(wide->buffer); /* a borrowed shape */
    else df_tensor_clear(wide);
}

static void release_call(wide_call *w, const df_call *call)
{
    for (int i = 0; i < call->n_in; i++)
        if (w->in[i] != call->in[i]) release(&w->tensors[i], call->in[i]);
    for (int i = 0; i < call->n_out; i++)
        if (w->out[i] != call->out[i]) release(w->out[i], call->out[i]);
    df_buffer_release(w->workspace);
}

df_status DF_SYM(df_run_partly_in_float)(const df_call *call, uint32_t in, uint32_t out,
                                         df_error *err)
{
    wide_call w;
    if (call->n_in > MAX_OPERANDS || call->n_out > MAX_OPERANDS)
        return df_fail(err, DF_UNIMPLEMENTED, "%s: %d inputs and %d outputs, expected at most %d",
                       call->op->name, call->n_in, call->n_out, MAX_OPERANDS);
    df_status status = widen_call(&w, call, in, out, err);
    if (status == DF_OK) status = call->op->run(&w.call, err);
    if (status == DF_OK) status = narrow_call(&w, call, err);
    release_call(&w, call);
    return status;
}

df_status DF_SYM(df_run_in_float)(const df_call *call, df_error *err)
{
    return DF_SYM(df_run_partly_in_float)(call, 0, 0, err);
}
