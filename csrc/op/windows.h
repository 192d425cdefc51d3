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

/* Computes the windows of an image of this shape; unknown dimensions stay unknown. `attrs`: from
 * DF_WINDOW_ATTRS on. */
df_status df_windows_of(const df_call *call, int64_t ndim, const int64_t *shape,
                        const df_attr *attrs, df_windows *w, df_error *err);

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
