/* The windows of an image: checks of sizes and strides. */
#include "op/windows.h"

/* Computes dimension d for an image of this shape, channels last. */
static df_status check_sizes(const df_call *call, df_ints shape, int d, df_window_dim *w,
                             int64_t after, bool same, df_error *err)
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

static df_status spread_windows(const df_call *call, df_ints shape, int d, df_window_dim *w,
                                df_error *err)
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

df_status df_windows_of(const df_call *call, int64_t ndim, const int64_t *shape,
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
                ? spread_windows(call, all, (int)i, &w->dim[d], err)
                : check_sizes(call, all, (int)i, &w->dim[d],
                              same ? 0 : paddings.v[2 * i + 1], same, err);
        if (status != DF_OK) return status;
    }
    return DF_OK;
}
