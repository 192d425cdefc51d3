/* Steps between the taps and between the outputs of a convolution. Called by ops/conv/convolution.c
 * for every df_conv, so that padded images do not grow with dilations and strides. */
#ifndef DF_CONV_STEPS_H
#define DF_CONV_STEPS_H

#include "base/status.h"
#include "conv/conv.h"

/* Shortens a step that is longer than necessary, along one dimension of `size` elements. `count`
 * taps (or outputs) are `step` apart, and the outputs (or taps) of each extend over `reach`
 * elements. If the step exceeds size + reach, at most one of the `count` meets the image. The new
 * step and pad leave that tap at the same elements, and the other taps outside. */
static inline void df_conv_shorten(int64_t size, int64_t count, int64_t reach, int64_t *step,
                                   int64_t *pad)
{
    int64_t enough;
    if (size < 1 || count < 2 || !df_add_size(size, reach, &enough) ||
        !df_add_size(enough, 1, &enough) || *step <= enough)
        return;
    const int64_t before = *pad > reach ? df_min(df_ceil_div(*pad - reach, *step), count) : 0;
    const int64_t start = before < count ? before * *step - *pad : size;
    *pad = start < size ? before * enough - start : (before - 1) * enough + reach + 1;
    *step = enough;
}

/* Shortens the dilations and strides of a convolution; its result is unchanged. */
static inline void df_conv_shorten_steps(df_conv *c)
{
    for (int d = 0; d < 3; d++) {
        if (c->out[d] < 1) continue;
        const int64_t outputs = (c->out[d] - 1) * c->stride[d];
        df_conv_shorten(c->in[d], c->kernel[d], outputs, &c->dilation[d], &c->pad[d]);
        const int64_t taps = (c->kernel[d] - 1) * c->dilation[d];
        df_conv_shorten(c->in[d], c->out[d], taps, &c->stride[d], &c->pad[d]);
    }
}

#endif
