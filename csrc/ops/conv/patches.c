/* extract_patches: the pixels of each window as one row, (batch, windows..., pixels of a window *
 * channels), with zeros for padding. Its gradient sums over the windows of each pixel. */
#include "ops/in_float.h"
#include "op/windows.h"
#include "base/thread.h"
#include "simd/lanes.h"

enum { WINDOW_ATTRS = 0, GRAD_SHAPE = 0, GRAD_WINDOW_ATTRS = 1 };

typedef void (*sum_fn)(void *out, const void *in, const int64_t n[DF_SPACE],
                       const int64_t jump[DF_SPACE], int64_t channels);

#define TEMPLATE "ops/conv/patches_formulas.h"
#include "ops/each_float.h"
#undef TEMPLATE

static const sum_fn sums[DF_N_DTYPES] = {[DF_F32] = sum_pixel_f32, DF_OF(F64, sum_pixel_f64),
                                         DF_OF(C64, sum_pixel_f32), DF_OF(C128, sum_pixel_f64)};

/* The windows of an image, and the shape of their patches. */
static df_status patches_of(const df_call *call, int64_t ndim, const int64_t *shape,
                            const df_attr *attrs, df_windows *w, int64_t patches[DF_SPACE + 2],
                            df_error *err)
{
    df_status status = df_windows_of(call, ndim, shape, attrs, w, err);
    if (status != DF_OK) return status;
    int64_t depth = 1;
    bool fits = true;
    for (int d = 0; d < DF_SPACE; d++) {
        if (w->dim[d].spread)
            return df_fail(err, DF_INVALID_ARGUMENT,
                           "%s: windows are spread, expected windows with strides", call->op->name);
        fits = fits && df_mul_size(depth, w->dim[d].window, &depth);
    }
    fits = fits && (w->channels == DF_UNKNOWN || df_mul_size(depth, w->channels, &depth));
    if (!fits)
        return df_fail(err, DF_OVERFLOW, "%s: patches of windows %s overflow 64 bits",
                       call->op->name, df_shape_text((int)attrs[DF_WINDOW].list.n,
                                                     attrs[DF_WINDOW].list.v).text);
    patches[0] = w->batch;
    for (int d = 1; d < ndim - 1; d++) patches[d] = w->dim[DF_SPACE - ((int)ndim - 1) + d].count;
    patches[ndim - 1] = w->channels == DF_UNKNOWN ? DF_UNKNOWN : depth;
    return DF_OK;
}

DF_ONCE(df_status, infer_patches, (const df_call *call, df_error *err))
{
    const df_tensor *x = call->in[0];
    df_windows w;
    int64_t shape[DF_SPACE + 2];
    df_status status = patches_of(call, x->ndim, x->shape, call->attrs + WINDOW_ATTRS, &w, shape,
                                  err);
    if (status != DF_OK) return status;
    return df_tensor_set(call->out[0], x->dtype, x->ndim, shape, call->op->name, err);
}

DF_ONCE(df_status, infer_patches_grad, (const df_call *call, df_error *err))
{
    const df_tensor *g = call->in[0];
    const df_ints shape = call->attrs[GRAD_SHAPE].list;
    df_windows w;
    int64_t want[DF_SPACE + 2];
    if (!sums[g->dtype]) return df_fail_dtype(call, 0, "a floating dtype", err);
    df_status status = patches_of(call, shape.n, shape.v, call->attrs + GRAD_WINDOW_ATTRS, &w, want,
                                  err);
    if (status != DF_OK) return status;
    bool fits = g->ndim == shape.n;
    for (int d = 0; d < g->ndim && fits; d++)
        fits = g->shape[d] == want[d] || g->shape[d] == DF_UNKNOWN || want[d] == DF_UNKNOWN;
    if (!fits)
        return df_fail(err, DF_BAD_SHAPE, "%s: gradient of shape %s, expected the patches' %s",
                       call->op->name, df_shape_text(g->ndim, g->shape).text,
                       df_shape_text((int)shape.n, want).text);
    return df_tensor_set(call->out[0], g->dtype, (int)shape.n, shape.v, call->op->name, err);
}

typedef struct {
    df_windows w;
    int64_t pixel_bytes; /* of all channels */
    sum_fn sum;
    int64_t jump[DF_SPACE]; /* distance of the values of a pixel in consecutive windows */
    int bytes;
    const char *from;
    char *to;
} job;

/* Splits the index of an item of (batch, n0, n1, n2) into its components. */
static void split_item(int64_t item, const int64_t n[DF_SPACE], int64_t at[DF_SPACE],
                       int64_t *image)
{
    for (int d = DF_SPACE - 1; d >= 0; d--) {
        at[d] = item % n[d];
        item /= n[d];
    }
    *image = item;
}

/* Copies one row of the pixels of a window, starting at pixel `start` of an image row; NULL:
 * padding. */
static void copy_row(char *to, const char *row, const df_window_dim *dim, int64_t start,
                     int64_t bytes)
{
    const int64_t skip = start < 0 ? df_min(df_ceil_div(-start, dim->dilation), dim->window) : 0;
    const int64_t inside = df_ceil_div(dim->image - start, dim->dilation);
    const int64_t end = row ? df_max(skip, df_min(dim->window, inside)) : skip;
    memset(to, 0, (size_t)(skip * bytes));
    memset(to + end * bytes, 0, (size_t)((dim->window - end) * bytes));
    if (dim->dilation == 1) {
        if (end > skip)
            memcpy(to + skip * bytes, row + (start + skip) * bytes, (size_t)((end - skip) * bytes));
        return;
    }
    for (int64_t k = skip; k < end; k++)
        memcpy(to + k * bytes, row + (start + k * dim->dilation) * bytes, (size_t)bytes);
}

/* Copies windows [begin, end) of all images. */
static void copy_windows(void *context, int64_t begin, int64_t end)
{
    const job *j = context;
    const df_window_dim *dim = j->w.dim;
    const int64_t counts[] = {dim[0].count, dim[1].count, dim[2].count};
    const int64_t row_bytes = dim[2].window * j->pixel_bytes;
    char *to = j->to + begin * dim[0].window * dim[1].window * row_bytes;
    for (int64_t item = begin; item < end; item++) {
        int64_t o[DF_SPACE], image;
        split_item(item, counts, o, &image);
        for (int64_t kd = 0; kd < dim[0].window; kd++)
            for (int64_t kh = 0; kh < dim[1].window; kh++, to += row_bytes) {
                const int64_t d = o[0] * dim[0].stride - dim[0].before + kd * dim[0].dilation;
                const int64_t h = o[1] * dim[1].stride - dim[1].before + kh * dim[1].dilation;
                const bool real = d >= 0 && d < dim[0].image && h >= 0 && h < dim[1].image;
                const int64_t row = (image * dim[0].image + d) * dim[1].image + h;
                copy_row(to, real ? j->from + row * dim[2].image * j->pixel_bytes : NULL, &dim[2],
                         o[2] * dim[2].stride - dim[2].before, j->pixel_bytes);
            }
    }
}

static df_status run_patches(const df_call *call, df_error *err)
{
    const df_tensor *x = call->in[0];
    int64_t shape[DF_SPACE + 2];
    job j = {.bytes = df_dtypes[x->dtype].bytes, .from = x->data, .to = call->out[0]->data};
    if (call->out[0]->size <= 0) return DF_OK;
    df_status status = patches_of(call, x->ndim, x->shape, call->attrs + WINDOW_ATTRS, &j.w, shape,
                                  err);
    if (status != DF_OK) return status;
    const int64_t each = shape[x->ndim - 1] * j.bytes;
    j.pixel_bytes = j.w.channels * j.bytes;
    df_parallel_for(call->out[0]->size / shape[x->ndim - 1], 32768 / each + 1,
                    10 + 0.1 * (double)each, copy_windows, &j);
    return DF_OK;
}

/* Sums the gradients of pixels [begin, end) of all images. */
static void sum_pixels(void *context, int64_t begin, int64_t end)
{
    const job *j = context;
    const df_window_dim *dim = j->w.dim;
    const int64_t pixels[] = {dim[0].image, dim[1].image, dim[2].image}, c = j->w.channels;
    const int64_t depth = dim[0].window * dim[1].window * dim[2].window;
    for (int64_t item = begin; item < end; item++) {
        int64_t i[DF_SPACE], n[DF_SPACE], image;
        split_item(item, pixels, i, &image);
        int64_t window = image, tap = 0;
        for (int d = 0; d < DF_SPACE; d++) {
            const df_reach reach = df_windows_at(&dim[d], i[d]);
            n[d] = reach.n;
            window = window * dim[d].count + reach.first;
            tap = tap * dim[d].window + reach.tap;
        }
        j->sum(j->to + item * j->pixel_bytes, j->from + (window * depth + tap) * j->pixel_bytes, n,
               j->jump, c);
    }
}

/* Sets the jumps: in the next window the same pixel comes earlier. */
static void find_jumps(job *j)
{
    const df_window_dim *dim = j->w.dim;
    int64_t windows = dim[0].window * dim[1].window * dim[2].window, taps = 1;
    for (int d = DF_SPACE - 1; d >= 0; d--) {
        j->jump[d] = (df_windows_step(&dim[d]) * windows - df_taps_step(&dim[d]) * taps) *
                     j->w.channels;
        windows *= dim[d].count;
        taps *= dim[d].window;
    }
}

static df_status run_grad(const df_call *call, df_error *err)
{
    const df_tensor *g = call->in[0], *dx = call->out[0];
    const df_ints shape = call->attrs[GRAD_SHAPE].list;
    int64_t patches[DF_SPACE + 2];
    job j = {.bytes = df_dtypes[g->dtype].bytes, .from = g->data, .to = dx->data,
             .sum = sums[g->dtype]};
    if (dx->size <= 0) return DF_OK;
    df_status status = patches_of(call, shape.n, shape.v, call->attrs + GRAD_WINDOW_ATTRS, &j.w,
                                  patches, err);
    if (status != DF_OK) return status;
    const int64_t pixels = dx->size / j.w.channels;
    const double each = 10 + 0.2 * (double)g->size / (double)pixels;
    if (df_is_complex(g->dtype)) j.w.channels *= 2, j.bytes /= 2; /* the parts are summed alike */
    j.pixel_bytes = j.w.channels * j.bytes;
    find_jumps(&j);
    df_parallel_for(pixels, (int64_t)(8192 / each) + 1, each, sum_pixels, &j);
    return DF_OK;
}

DF_OP(extract_patches) = {.name = "extract_patches", .kind = DF_GENERAL, .cannot_fail = true,
                          .n_in = 1,
                          .n_out = 1, .n_attrs = DF_N_WINDOW_ATTRS, .attrs = {DF_WINDOW_ATTRS},
                          .infer = infer_patches, .run = run_patches};
DF_OP(extract_patches_grad) = {.name = "extract_patches_grad", .kind = DF_GENERAL,
                               .cannot_fail = true,
                               .n_in = 1, .n_out = 1, .n_attrs = 1 + DF_N_WINDOW_ATTRS,
                               .attrs = {{"shape", DF_ATTR_INTS}, DF_WINDOW_ATTRS},
                               RUN_IN_FLOAT, .infer = infer_patches_grad, .run = run_grad};
