/* Sliding windows over an image: checks of sizes and strides, the pixels of each window, and the
 * windows of each pixel. Tensors are (batch, depth, height, width, channels) with one to three of
 * the middle dimensions. Independent of data. */
#ifndef DF_WINDOWS_H
#define DF_WINDOWS_H

#include "op/op.h"

#define DF_SPACE 3 /* spatial dimensions; missing ones come first and have size 1 */

typedef enum {
    DF_PADDED, /* padded by `paddings`, before and after per dimension */
    DF_SAME,   /* padded for ceil(size / stride) windows, an odd zero at the end */
    DF_SPREAD  /* `window` windows per dimension, spread evenly over the image; strides are
                * ignored */
} df_window_rule;

/* The attributes of an op with windows, from index `at` of its list on. */
#define DF_WINDOW_ATTRS                                                                          \
    {"window", DF_ATTR_INTS}, {"strides", DF_ATTR_INTS}, {"dilations", DF_ATTR_INTS},            \
        {"paddings", DF_ATTR_INTS}, {"rule", DF_ATTR_INT}
enum { DF_WINDOW, DF_STRIDES, DF_DILATIONS, DF_PADDINGS, DF_RULE, DF_N_WINDOW_ATTRS };

/* Limit of every size, so that sums of several sizes fit 64 bits. */
#define DF_WINDOW_LIMIT (INT64_MAX / 8)

typedef struct {
    int64_t image, count; /* pixels and windows along this dimension, or DF_UNKNOWN */
    int64_t window, stride, dilation, before;
    bool spread;
} df_window_dim;

typedef struct {
    int64_t batch, channels;
    df_window_dim dim[DF_SPACE];
} df_windows;

/* Along one dimension: the n pixels of a window, or the n windows of a pixel, by the first one and
 * a constant distance. `tap` is the index of the first pixel in its window, or of the pixel in the
 * first window. `share` is 1 / n. */
typedef struct {
    int64_t first, n, tap;
    double share;
} df_reach;

/* Computes dimension d for an image of this shape, channels last. */
static inline df_status df_window_sizes(const df_call *call, df_ints shape, int d,
                                        df_window_dim *w, int64_t after, bool same, df_error *err)
{
    const char *op = call->op->name;
    if (w->window < 1 || w->stride < 1 || w->dilation < 1)
        return df_fail(err, DF_INVALID_ARGUMENT, "%s: along spatial dimension %d the window has "
                       "size %lld, stride %lld and dilation %lld over an image of shape %s, "
                       "expected 1 or more", op, d, (long long)w->window, (long long)w->stride,
                       (long long)w->dilation, df_shape_text((int)shape.n, shape.v).text);
    if (w->window == 1) w->dilation = 1; /* irrelevant */
    int64_t reach;
    if (!df_mul_size(w->window - 1, w->dilation, &reach) || reach >= DF_WINDOW_LIMIT ||
        w->image > DF_WINDOW_LIMIT)
        return df_fail(err, DF_OVERFLOW,
                       "%s: along spatial dimension %d, a window of %lld with dilation %lld over "
                       "%lld overflows 64 bits",
                       op, d, (long long)w->window, (long long)w->dilation, (long long)w->image);
    reach++;
    if (w->before < 0 || after < 0 || w->before >= reach || after >= reach)
        return df_fail(err, DF_INVALID_ARGUMENT, "%s: paddings of spatial dimension %d are %lld "
                       "and %lld, expected 0 or more and less than the window, %lld, over an "
                       "image of shape %s", op, d, (long long)w->before, (long long)after,
                       (long long)reach, df_shape_text((int)shape.n, shape.v).text);
    w->count = DF_UNKNOWN;
    if (w->image == DF_UNKNOWN) return DF_OK;
    if (same) {
        w->count = (w->image - 1) / w->stride + 1;
        w->before = df_max((w->count - 1) * w->stride + reach - w->image, 0) / 2;
        return DF_OK;
    }
    const int64_t padded = w->image + w->before + after;
    if (reach > padded)
        return df_fail(err, DF_BAD_SHAPE, "%s: along spatial dimension %d the window spans %lld "
                       "and the padded image %lld (%lld + %lld + %lld) of shape %s, expected a "
                       "window that fits", op, d, (long long)reach, (long long)padded,
                       (long long)w->before, (long long)w->image, (long long)after,
                       df_shape_text((int)shape.n, shape.v).text);
    w->count = (padded - reach) / w->stride + 1;
    return DF_OK;
}

static inline df_status df_window_spread(const df_call *call, df_ints shape, int d,
                                         df_window_dim *w, df_error *err)
{
    if (w->window < 1 || w->window > DF_WINDOW_LIMIT || w->image > DF_WINDOW_LIMIT)
        return df_fail(err, DF_INVALID_ARGUMENT,
                       "%s: %lld windows along spatial dimension %d of %lld pixels, in an image of "
                       "shape %s, expected 1 or more", call->op->name, (long long)w->window, d,
                       (long long)w->image, df_shape_text((int)shape.n, shape.v).text);
    w->count = w->window;
    w->spread = true;
    return DF_OK;
}

/* Computes the windows of an image of this shape; unknown dimensions stay unknown. `attrs`: from
 * DF_WINDOW_ATTRS on. */
static inline df_status df_windows_of(const df_call *call, int64_t ndim, const int64_t *shape,
                                      const df_attr *attrs, df_windows *w, df_error *err)
{
    const df_ints window = attrs[DF_WINDOW].list, strides = attrs[DF_STRIDES].list,
                  dilations = attrs[DF_DILATIONS].list, paddings = attrs[DF_PADDINGS].list;
    const int64_t n = window.n, rule = attrs[DF_RULE].i;
    const char *op = call->op->name;
    *w = (df_windows){0};
    if (n < 1 || n > DF_SPACE || ndim != n + 2)
        return df_fail(err, DF_BAD_SHAPE, "%s: a window of %lld dimensions over an image of shape "
                       "%s, expected 1 to %d, equal to the image dimensions between batch and "
                       "channels", op, (long long)n,
                       df_shape_text((int)df_min(ndim, DF_MAX_NDIM), shape).text, DF_SPACE);
    if (strides.n != n || dilations.n != n || paddings.n != 2 * n || rule < DF_PADDED ||
        rule > DF_SPREAD)
        return df_fail(err, DF_INVALID_ARGUMENT,
                       "%s: %lld strides, %lld dilations and %lld paddings by rule %lld for a "
                       "window of %lld dimensions",
                       op, (long long)strides.n, (long long)dilations.n, (long long)paddings.n,
                       (long long)rule, (long long)n);
    const df_ints all = {.n = ndim, .v = shape};
    *w = (df_windows){.batch = shape[0], .channels = shape[ndim - 1]};
    for (int d = 0; d < DF_SPACE; d++) {
        const int64_t i = d - (DF_SPACE - n);
        w->dim[d] = (df_window_dim){1, 1, 1, 1, 1, 0, false};
        if (i < 0) continue;
        if (shape[i + 1] == 0)
            return df_fail(err, DF_BAD_SHAPE,
                           "%s: an image of shape %s, expected 1 pixel or more along spatial "
                           "dimension %d", op, df_shape_text((int)ndim, shape).text, (int)i);
        const bool same = rule == DF_SAME;
        w->dim[d] = (df_window_dim){.image = shape[i + 1], .window = window.v[i],
                                    .stride = strides.v[i], .dilation = dilations.v[i],
                                    .before = same ? 0 : paddings.v[2 * i]};
        df_status status =
            rule == DF_SPREAD
                ? df_window_spread(call, all, (int)i, &w->dim[d], err)
                : df_window_sizes(call, all, (int)i, &w->dim[d],
                                  same ? 0 : paddings.v[2 * i + 1], same, err);
        if (status != DF_OK) return status;
    }
    return DF_OK;
}

/* The pixels of window o, w->dilation apart. */
static inline df_reach df_pixels_of(const df_window_dim *w, int64_t o)
{
    df_reach r = {0, 0, 0, 0};
    if (w->spread) {
        const __int128 image = w->image; /* floor(o image / count) to ceil((o + 1) image / count) */
        r.first = (int64_t)(o * image / w->count);
        r.n = (int64_t)(((o + 1) * image + w->count - 1) / w->count) - r.first;
    } else {
        const int64_t start = o * w->stride - w->before;
        const int64_t skip = start < 0 ? df_ceil_div(-start, w->dilation) : 0;
        const int64_t end = df_min(w->window, df_ceil_div(w->image - start, w->dilation));
        r.n = df_max(end - skip, 0);
        r.first = r.n ? start + skip * w->dilation : 0;
        r.tap = skip;
    }
    r.share = r.n ? 1.0 / (double)r.n : 0;
    return r;
}

static inline int64_t df_common_divisor(int64_t a, int64_t b)
{
    while (b) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Distance between the windows of a pixel. */
static inline int64_t df_windows_step(const df_window_dim *w)
{
    return w->spread ? 1 : w->dilation / df_common_divisor(w->stride, w->dilation);
}

/* Decrease of the pixel's tap from one of these windows to the next. */
static inline int64_t df_taps_step(const df_window_dim *w)
{
    return w->stride / df_common_divisor(w->stride, w->dilation);
}

/* The windows of pixel i, df_windows_step(w) apart. */
static inline df_reach df_windows_at(const df_window_dim *w, int64_t i)
{
    df_reach r = {0, 0, 0, 0};
    if (w->spread) {
        const __int128 count = w->count;
        r.first = (int64_t)(i * count / w->image);
        r.n = (int64_t)(((i + 1) * count + w->image - 1) / w->image) - r.first;
        return r;
    }
    /* Tap k of window o is pixel o * stride - before + k * dilation: the largest k for which o is
     * an integer yields the first window. */
    const int64_t tap_step = df_taps_step(w);
    const int64_t at = i + w->before;
    const int64_t most = df_min(w->window - 1, at / w->dilation);
    for (int64_t k = most; k >= 0 && k > most - tap_step; k--) {
        const int64_t start = at - k * w->dilation;
        if (start % w->stride) continue;
        r.first = start / w->stride;
        r.tap = k;
        if (r.first < w->count)
            r.n = df_min(k / tap_step, (w->count - 1 - r.first) / df_windows_step(w)) + 1;
        break;
    }
    return r;
}

#endif
