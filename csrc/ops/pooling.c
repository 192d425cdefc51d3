/* Pooling: the largest number or the mean of each window, and what flows back.
 *
 * Each pixel of a result, all channels, is made by one call of a formula from a patch of pixels of
 * the input: forwards the pixels of a window, backwards the windows of a pixel. So nothing is ever
 * written from two sides, and sums have one order on any number of threads. The largest number's
 * pixel is kept for the gradient as its number within the image, depth * height * width of them. */
#include "ops/in_float.h"
#include "ops/windows.h"
#include "base/thread.h"
#include "simd/lanes.h"

enum { WINDOW_ATTRS = 0, GRAD_SHAPE = 0, GRAD_WINDOW_ATTRS = 1 };
enum { RUN = 64 }; /* pixels of a row summed up before they join the rest */

/* What one pixel of the result is made of: along each dimension `n` pixels of the input, `jump`
 * elements apart. */
typedef struct {
    int64_t channels, n[DF_SPACE], jump[DF_SPACE];
    int64_t place;                   /* number of the first pixel; backwards of the result's own */
    int64_t place_jump[DF_SPACE];
    double share;                    /* 1 / number of pixels */
    const df_reach *shares[DF_SPACE]; /* backwards: each window's, */
    int64_t step[DF_SPACE];           /* and how far apart they are */
} patch;

typedef void (*pixel_fn)(void *out, int32_t *places_out, const void *in, const int32_t *places_in,
                         const patch *p);
typedef void (*pick_fn)(void *out, const void *image, const int32_t *places, int64_t pixels,
                        int64_t channels);

#define TEMPLATE "ops/pooling_formulas.h"
#include "ops/each_float.h"
#define DTYPE_FLOAT 0
#define DTYPE i32
#include TEMPLATE
#undef DTYPE
#define DTYPE i64
#include TEMPLATE
#undef DTYPE
#undef DTYPE_FLOAT
#undef TEMPLATE

#define OF_FLOATS(name) [DF_F32] = name##_pixel_f32, [DF_F64] = name##_pixel_f64
#define OF_INTS(name) [DF_I32] = name##_pixel_i32, [DF_I64] = name##_pixel_i64
static const pixel_fn largest[DF_N_DTYPES] = {OF_FLOATS(max), OF_INTS(max)};
static const pixel_fn largest_grad[DF_N_DTYPES] = {OF_FLOATS(max_grad), OF_INTS(max_grad)};
static const pixel_fn mean[DF_N_DTYPES] = {OF_FLOATS(avg)};
static const pixel_fn mean_grad[DF_N_DTYPES] = {OF_FLOATS(avg_grad)};
static const pick_fn pick[DF_N_DTYPES] = {OF_FLOATS(pick), OF_INTS(pick)};

/* --- shapes ------------------------------------------------------------------------------------*/

/* (batch, number of windows per dimension, channels). */
static int pooled_shape(const df_windows *w, int ndim, int64_t shape[DF_SPACE + 2])
{
    shape[0] = w->batch;
    for (int d = 1; d < ndim - 1; d++) shape[d] = w->dim[DF_SPACE - (ndim - 1) + d].count;
    shape[ndim - 1] = w->channels;
    return ndim;
}

static int64_t pixels_of(const df_windows *w)
{
    int64_t pixels = 1;
    for (int d = 0; d < DF_SPACE; d++)
        if (w->dim[d].image == DF_UNKNOWN) return DF_UNKNOWN;
        else if (!df_mul_size(pixels, w->dim[d].image, &pixels)) return INT64_MAX;
    return pixels;
}

static df_status check_places(const df_call *call, const df_windows *w, df_error *err)
{
    const int64_t pixels = pixels_of(w);
    if (pixels <= INT32_MAX) return DF_OK;
    return df_fail(err, DF_OVERFLOW, "%s: images of %lld pixels, want at most %d, as int32 holds",
                   call->op->name, (long long)pixels, INT32_MAX);
}

/* Whether a tensor may have a value per window. */
static df_status check_pooled(const df_call *call, const df_tensor *t, const df_windows *w,
                              int ndim, df_error *err)
{
    int64_t want[DF_SPACE + 2];
    pooled_shape(w, ndim, want);
    bool fits = t->ndim == ndim;
    for (int d = 0; d < ndim && fits; d++)
        fits = t->shape[d] == want[d] || t->shape[d] == DF_UNKNOWN || want[d] == DF_UNKNOWN;
    if (fits) return DF_OK;
    return df_fail(err, DF_BAD_SHAPE, "%s: a value per window of shape %s, want %s",
                   call->op->name, df_shape_text(t->ndim, t->shape).text,
                   df_shape_text(ndim, want).text);
}

static df_status infer_pool(const df_call *call, const pixel_fn *fns, const char *wanted,
                            df_error *err)
{
    const df_tensor *x = call->in[0];
    df_windows w;
    int64_t shape[DF_SPACE + 2];
    if (!fns[x->dtype]) return df_fail_dtype(call, 0, wanted, err);
    df_status status = df_windows_of(call, x->ndim, x->shape, call->attrs + WINDOW_ATTRS, &w, err);
    if (status == DF_OK && call->n_out == 2) status = check_places(call, &w, err);
    if (status != DF_OK) return status;
    pooled_shape(&w, x->ndim, shape);
    for (int k = 0; k < call->n_out && status == DF_OK; k++)
        status = df_tensor_set(call->out[k], k ? DF_I32 : x->dtype, x->ndim, shape,
                               call->op->name, err);
    return status;
}

static df_status infer_max_pool(const df_call *call, df_error *err)
{
    return infer_pool(call, largest, "float, int32 or int64", err);
}

static df_status infer_avg_pool(const df_call *call, df_error *err)
{
    return infer_pool(call, mean, "a floating dtype", err);
}

static df_status infer_grad(const df_call *call, df_error *err)
{
    const df_tensor *g = call->in[0];
    const df_ints shape = call->attrs[GRAD_SHAPE].list;
    df_windows w;
    if (!largest_grad[g->dtype])
        return df_fail_dtype(call, 0, "float, int32 or int64", err);
    if (call->n_in == 1 && !mean_grad[g->dtype])
        return df_fail_dtype(call, 0, "a floating dtype", err);
    if (call->n_in == 2 && call->in[1]->dtype != DF_I32)
        return df_fail_dtype(call, 1, "int32", err);
    df_status status = df_windows_of(call, shape.n, shape.v, call->attrs + GRAD_WINDOW_ATTRS, &w,
                                     err);
    if (status == DF_OK && call->n_in == 2) status = check_places(call, &w, err);
    for (int k = 0; k < call->n_in && status == DF_OK; k++)
        status = check_pooled(call, call->in[k], &w, (int)shape.n, err);
    if (status != DF_OK) return status;
    return df_tensor_set(call->out[0], g->dtype, (int)shape.n, shape.v, call->op->name, err);
}

static df_status infer_pick(const df_call *call, df_error *err)
{
    const df_tensor *x = call->in[0], *places = call->in[1];
    df_windows w;
    if (!pick[x->dtype]) return df_fail_dtype(call, 0, "float, int32 or int64", err);
    if (places->dtype != DF_I32) return df_fail_dtype(call, 1, "int32", err);
    df_status status = df_windows_of(call, x->ndim, x->shape, call->attrs + WINDOW_ATTRS, &w, err);
    if (status == DF_OK) status = check_pooled(call, places, &w, x->ndim, err);
    if (status != DF_OK) return status;
    return df_tensor_set(call->out[0], x->dtype, places->ndim, places->shape, call->op->name, err);
}

/* --- running -----------------------------------------------------------------------------------*/

typedef struct {
    pixel_fn fn;
    bool back; /* the result has the image's pixels, the input the windows */
    int64_t channels, to[DF_SPACE], from[DF_SPACE], step[DF_SPACE];
    const df_reach *reach[DF_SPACE]; /* of each pixel of the result */
    const df_reach *windows[DF_SPACE];
    int bytes;
    char *out;
    int32_t *places_out;
    const char *in;
    const int32_t *places_in;
} job;

/* Rows [begin, end) of the result, of (batch, depth, height). */
static void pool_rows(void *context, int64_t begin, int64_t end)
{
    const job *j = context;
    const int64_t height = j->from[1], width = j->from[2];
    const int64_t jump[DF_SPACE] = {j->step[0] * height * width, j->step[1] * width, j->step[2]};
    patch p = {.channels = j->channels};
    for (int k = 0; k < DF_SPACE; k++) {
        p.place_jump[k] = jump[k];
        p.jump[k] = jump[k] * j->channels;
        p.step[k] = j->step[k];
    }
    for (int64_t row = begin; row < end; row++) {
        const int64_t h = row % j->to[1], d = row / j->to[1] % j->to[0];
        const int64_t image = row / j->to[1] / j->to[0];
        const df_reach deep = j->reach[0][d], high = j->reach[1][h];
        p.n[0] = deep.n;
        p.n[1] = high.n;
        for (int64_t w = 0; w < j->to[2]; w++) {
            const df_reach wide = j->reach[2][w];
            const int64_t first = (deep.first * height + high.first) * width + wide.first;
            const int64_t to = (row * j->to[2] + w) * j->channels;
            const int64_t from = (image * j->from[0] * height * width + first) * j->channels;
            p.n[2] = wide.n;
            p.place = j->back ? (d * j->to[1] + h) * j->to[2] + w : first;
            p.share = deep.share * high.share * wide.share;
            if (j->back) {
                p.shares[0] = j->windows[0] + deep.first;
                p.shares[1] = j->windows[1] + high.first;
                p.shares[2] = j->windows[2] + wide.first;
            }
            j->fn(j->out + to * j->bytes, j->places_out ? j->places_out + to : NULL,
                  j->in + from * j->bytes, j->places_in ? j->places_in + from : NULL, &p);
        }
    }
}

/* How many reaches a run lists: of each window, backwards also of each pixel of a row. */
static int64_t count_reaches(const df_windows *w, bool back)
{
    int64_t n = 0;
    for (int d = 0; d < DF_SPACE; d++) n += w->dim[d].count + (back ? w->dim[d].image : 0);
    return n;
}

static int64_t workspace_of(const df_call *call, int64_t ndim, const int64_t *shape,
                            const df_attr *attrs, bool back)
{
    df_windows w;
    df_error never; /* infer has checked all */
    if (call->out[0]->size <= 0) return 0;
    if (df_windows_of(call, ndim, shape, attrs, &w, &never) != DF_OK) return 0;
    return count_reaches(&w, back) * (int64_t)sizeof(df_reach);
}

static int64_t workspace_pool(const df_call *call)
{
    const df_tensor *x = call->in[0];
    return workspace_of(call, x->ndim, x->shape, call->attrs + WINDOW_ATTRS, false);
}

static int64_t workspace_grad(const df_call *call)
{
    const df_ints shape = call->attrs[GRAD_SHAPE].list;
    return workspace_of(call, shape.n, shape.v, call->attrs + GRAD_WINDOW_ATTRS, true);
}

static df_status run_windows(const df_call *call, job *j, int64_t ndim, const int64_t *shape,
                             const df_attr *attrs, df_error *err)
{
    df_reach *list = call->workspace;
    df_windows w;
    double taps = 1;
    if (call->out[0]->size <= 0) return DF_OK;
    df_status status = df_windows_of(call, ndim, shape, attrs, &w, err);
    if (status != DF_OK) return status;
    for (int d = 0; d < DF_SPACE; d++) {
        const df_window_dim *dim = &w.dim[d];
        j->windows[d] = j->reach[d] = list;
        for (int64_t o = 0; o < dim->count; o++) *list++ = df_pixels_of(dim, o);
        if (j->back) {
            j->reach[d] = list;
            for (int64_t i = 0; i < dim->image; i++) *list++ = df_windows_at(dim, i);
        }
        j->to[d] = j->back ? dim->image : dim->count;
        j->from[d] = j->back ? dim->count : dim->image;
        j->step[d] = j->back ? df_windows_step(dim) : dim->spread ? 1 : dim->dilation;
        taps *= (double)df_max(j->reach[d][j->to[d] / 2].n, 1);
    }
    j->channels = w.channels;
    j->bytes = df_dtypes[call->in[0]->dtype].bytes;
    j->in = call->in[0]->data;
    j->out = call->out[0]->data;
    const double each = (double)(j->to[2] * w.channels) * (0.1 + 0.1 * taps);
    const int64_t grain = (int64_t)(8192 / each) + 1;
    df_parallel_for(w.batch * j->to[0] * j->to[1], grain, each, pool_rows, j);
    return DF_OK;
}

static df_status run_pool(const df_call *call, const pixel_fn *fns, df_error *err)
{
    const df_tensor *x = call->in[0];
    job j = {.fn = fns[x->dtype], .places_out = call->n_out == 2 ? call->out[1]->data : NULL};
    return run_windows(call, &j, x->ndim, x->shape, call->attrs + WINDOW_ATTRS, err);
}

static df_status run_grad(const df_call *call, const pixel_fn *fns, df_error *err)
{
    const df_ints shape = call->attrs[GRAD_SHAPE].list;
    job j = {.fn = fns[call->in[0]->dtype], .back = true,
             .places_in = call->n_in == 2 ? call->in[1]->data : NULL};
    return run_windows(call, &j, shape.n, shape.v, call->attrs + GRAD_WINDOW_ATTRS, err);
}

static df_status run_max_pool(const df_call *call, df_error *err)
{
    return run_pool(call, largest, err);
}
static df_status run_max_pool_grad(const df_call *call, df_error *err)
{
    return run_grad(call, largest_grad, err);
}
static df_status run_avg_pool(const df_call *call, df_error *err)
{
    return run_pool(call, mean, err);
}
static df_status run_avg_pool_grad(const df_call *call, df_error *err)
{
    return run_grad(call, mean_grad, err);
}

typedef struct {
    const df_call *call;
    pick_fn fn;
    int64_t pixels, windows, channels;
} pick_job;

/* Windows [begin, end) of all images. */
static void pick_windows(void *context, int64_t begin, int64_t end)
{
    const pick_job *j = context;
    const df_tensor *x = j->call->in[0], *places = j->call->in[1];
    const int bytes = df_dtypes[x->dtype].bytes;
    for (int64_t i = begin; i < end; i++)
        j->fn((char *)j->call->out[0]->data + i * j->channels * bytes,
              (const char *)x->data + i / j->windows * j->pixels * j->channels * bytes,
              (const int32_t *)places->data + i * j->channels, j->pixels, j->channels);
}

static df_status run_pick(const df_call *call, df_error *err)
{
    const df_tensor *x = call->in[0], *y = call->out[0];
    (void)err;
    if (y->size == 0) return DF_OK;
    const int64_t batch = x->shape[0], channels = x->shape[x->ndim - 1];
    pick_job j = {call, pick[x->dtype], x->size / batch / channels, y->size / batch / channels,
                  channels};
    df_parallel_for(batch * j.windows, 4096 / channels + 1, 1.5 * (double)channels, pick_windows,
                    &j);
    return DF_OK;
}

DF_OP(max_pool) = {.name = "max_pool", .kind = DF_GENERAL, .total = true, .n_in = 1, .n_out = 2,
                   .n_attrs = DF_N_WINDOW_ATTRS, .attrs = {DF_WINDOW_ATTRS}, HALVES_IN_FLOAT,
                   .infer = infer_max_pool, .workspace = workspace_pool, .run = run_max_pool};
/* The numbers at the pixels that a maximum came from. */
DF_OP(max_pool_pick) = {.name = "max_pool_pick", .kind = DF_GENERAL, .total = true, .n_in = 2,
                        .n_out = 1, .n_attrs = DF_N_WINDOW_ATTRS, .attrs = {DF_WINDOW_ATTRS},
                        HALVES_IN_FLOAT, .infer = infer_pick, .run = run_pick};
DF_OP(max_pool_grad) = {.name = "max_pool_grad", .kind = DF_GENERAL, .total = true, .n_in = 2,
                        .n_out = 1, .n_attrs = 1 + DF_N_WINDOW_ATTRS,
                        .attrs = {{"shape", DF_ATTR_INTS}, DF_WINDOW_ATTRS}, HALVES_IN_FLOAT,
                        .infer = infer_grad, .workspace = workspace_grad,
                        .run = run_max_pool_grad};
DF_OP(avg_pool) = {.name = "avg_pool", .kind = DF_GENERAL, .total = true, .n_in = 1, .n_out = 1,
                   .n_attrs = DF_N_WINDOW_ATTRS, .attrs = {DF_WINDOW_ATTRS}, HALVES_IN_FLOAT,
                   .infer = infer_avg_pool, .workspace = workspace_pool, .run = run_avg_pool};
DF_OP(avg_pool_grad) = {.name = "avg_pool_grad", .kind = DF_GENERAL, .total = true, .n_in = 1,
                        .n_out = 1, .n_attrs = 1 + DF_N_WINDOW_ATTRS,
                        .attrs = {{"shape", DF_ATTR_INTS}, DF_WINDOW_ATTRS}, HALVES_IN_FLOAT,
                        .infer = infer_grad, .workspace = workspace_grad,
                        .run = run_avg_pool_grad};
