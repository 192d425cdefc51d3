/* Chooses the kernel of a convolution. The choice depends only on its sizes. */
#include "conv/conv.h"
#include "conv/depthwise.h"
#include "conv/kernels.h"
#include "conv/winograd.h"

#include "base/thread.h"

#include <string.h>

static int64_t size_of(const int64_t *v) { return v[0] * v[1] * v[2]; }

/* True if there are no products to sum. */
static bool is_empty(const df_conv *c)
{
    return c->n == 0 || c->c_in == 0 || c->c_out == 0 || size_of(c->out) == 0;
}

static void fill_zeros(const df_conv *c, void *to, int64_t size)
{
    if (size) memset(to, 0, (size_t)(size * df_conv_stored_bytes(c)));
}

/* --- forward: y --- */

/* Applies the epilogue in a separate pass over finished outputs. */
typedef struct {
    df_product_epilogue epilogue;
    char *y;
    int64_t columns, row_bytes;
} finishing;

static void finish_task(void *context, int64_t begin, int64_t end)
{
    const finishing *f = context;
    f->epilogue.piece(f->epilogue.context, begin, end - begin, 0, f->columns,
                      f->y + begin * f->row_bytes, f->columns);
}

static void finish(const df_conv *c, void *y, df_product_epilogue epilogue)
{
    finishing f = {epilogue, y, c->c_out, c->c_out * df_conv_bytes(c)};
    if (epilogue.piece)
        df_parallel_for(c->n * size_of(c->out), df_ceil_div(4096, c->c_out),
                        0.2 * (double)c->c_out, finish_task, &f);
}

/* --- depthwise convolutions of 16-bit floats: a few images at a time in float32 --- */

/* Elements of an image of y. */
static int64_t outputs_of(const df_conv *c) { return size_of(c->out) * c->c_out; }
static int64_t filters_of(const df_conv *c) { return size_of(c->kernel) * c->c_out; }

/* The convolution of the images in float32 that are in cache at a time. */
static df_conv in_float(const df_conv *c)
{
    df_conv some = *c;
    const int64_t image = df_max(df_conv_image(c), outputs_of(c)) * df_conv_bytes(c);
    if (df_conv_widens(c)) some.n = df_conv_images(c, image);
    some.stored = c->dtype;
    return some;
}

/* Bytes of filters, images and outputs in float32. */
static int64_t float_bytes(const df_conv *c)
{
    const df_conv some = in_float(c);
    int64_t bytes = df_conv_mul_bytes(df_conv_image(c) + outputs_of(c), some.n);
    bytes = df_conv_mul_bytes(df_conv_sum_bytes(bytes, filters_of(c)), df_conv_bytes(c));
    return df_conv_widens(c) ? df_conv_align(bytes) : 0;
}

/* Computes y from x or, if `backward`, dx from dy. */
static void run_in_float(const df_conv *c, bool backward, const void *from, const void *w,
                         void *to, void *workspace)
{
    df_conv some = in_float(c);
    const int64_t images = some.n, in = backward ? outputs_of(c) : df_conv_image(c);
    const int64_t out = backward ? df_conv_image(c) : outputs_of(c);
    float *filters = workspace, *x = filters + filters_of(c), *y = x + images * in;
    char *rest = (char *)workspace + float_bytes(c);
    DF_SYM(df_conv_widen)(c, filters_of(c), filters, w);
    for (int64_t i = 0; i < c->n; i += images) {
        some.n = df_min(images, c->n - i);
        DF_SYM(df_conv_widen)(c, some.n * in, x, df_element(c->stored, from, i * in));
        if (backward) DF_SYM(df_depthwise_input)(&some, filters, x, y, rest);
        else DF_SYM(df_depthwise_forward)(&some, x, filters, y, (df_product_epilogue){0}, rest);
        DF_SYM(df_conv_round)(c, some.n * out, df_element(c->stored, to, i * out), y);
    }
}

bool DF_SYM(df_conv_transforms)(const df_conv *c)
{
    return !is_empty(c) && !df_depthwise_applies(c) && DF_SYM(df_winograd_applies)(c);
}

int64_t DF_SYM(df_conv_transformed_each)(const df_conv *c)
{
    return DF_SYM(df_winograd_transformed_each)(c);
}

void DF_SYM(df_conv_transform)(const df_conv *c, const void *w, void *to)
{
    DF_SYM(df_winograd_transform)(c, w, to);
}

bool DF_SYM(df_conv_packs)(const df_conv *c)
{
    return !is_empty(c) && !df_depthwise_applies(c) && !DF_SYM(df_winograd_applies)(c);
}

int64_t DF_SYM(df_conv_packed_size)(const df_conv *c)
{
    const int64_t bytes = DF_SYM(df_conv_windows_packed_bytes)(c);
    return bytes < 0 ? bytes : bytes / df_conv_bytes(c);
}

void DF_SYM(df_conv_pack_filters)(const df_conv *c, const void *w, void *to)
{
    DF_SYM(df_conv_windows_pack)(c, w, to);
}

int64_t DF_SYM(df_conv_forward_workspace)(const df_conv *c)
{
    if (is_empty(c)) return 0;
    const df_conv some = in_float(c);
    if (df_depthwise_applies(c))
        return df_conv_sum_bytes(float_bytes(c), DF_SYM(df_depthwise_forward_workspace)(&some));
    if (DF_SYM(df_winograd_applies)(c)) return DF_SYM(df_winograd_forward_workspace)(c);
    return DF_SYM(df_conv_windows_workspace)(c);
}

void DF_SYM(df_conv_forward)(const df_conv *c, const void *x, const void *w, void *y,
                             df_product_epilogue epilogue, void *workspace)
{
    const int64_t pixels = c->n * size_of(c->out);
    if (is_empty(c)) {
        fill_zeros(c, y, pixels * c->c_out);
        if (epilogue.piece && pixels && c->c_out)
            epilogue.piece(epilogue.context, 0, pixels, 0, c->c_out, y, c->c_out);
    } else if (df_depthwise_applies(c) && df_conv_widens(c)) {
        run_in_float(c, false, x, w, y, workspace);
    } else if (df_depthwise_applies(c)) {
        DF_SYM(df_depthwise_forward)(c, x, w, y, epilogue, workspace);
    } else if (DF_SYM(df_winograd_applies)(c)) {
        DF_SYM(df_winograd_forward)(c, x, w, y, workspace);
        finish(c, y, epilogue);
    } else {
        DF_SYM(df_conv_windows_run)(c, x, w, false, y, epilogue, workspace);
    }
}

bool DF_SYM(df_conv_scales)(const df_conv *c)
{
    for (int d = 0; d < 3; d++) /* each output is at its input */
        if (c->kernel[d] != 1 || c->stride[d] != 1 || c->pad[d] != 0 || c->out[d] != c->in[d])
            return false;
    return DF_SYM(df_conv_packs)(c) && c->dtype == DF_F32 && c->groups == 1;
}

void DF_SYM(df_conv_forward_scaled)(const df_conv *c, const void *x, const void *w,
                                    const void *scale, void *y, df_product_epilogue epilogue,
                                    void *workspace)
{
    DF_SYM(df_conv_windows_run_scaled)(c, x, w, scale, y, epilogue, workspace);
}

/* --- gradient of the input: dx --- */

/* True if dx is computed as a convolution of dy with flipped weights: the stride is 1, and input
 * channels fill most of their vectors. */
static bool is_flipped(const df_conv *c, df_conv *of_dy)
{
    const int64_t inputs = df_conv_group_in(c), lanes = DF_VEC_BYTES / df_conv_bytes(c);
    *of_dy = *c;
    of_dy->c_in = c->c_out;
    of_dy->c_out = c->c_in;
    for (int d = 0; d < 3; d++) {
        of_dy->in[d] = c->out[d];
        of_dy->out[d] = c->in[d];
        of_dy->pad[d] = (c->kernel[d] - 1) * c->dilation[d] - c->pad[d];
        if (c->stride[d] != 1 || of_dy->pad[d] < 0) return false;
    }
    return 4 * inputs >= 3 * df_ceil_div(inputs, lanes) * lanes;
}

int64_t DF_SYM(df_conv_input_workspace)(const df_conv *c)
{
    df_conv of_dy;
    if (is_empty(c)) return 0;
    const df_conv some = in_float(c);
    if (df_depthwise_applies(c))
        return df_conv_sum_bytes(float_bytes(c), DF_SYM(df_depthwise_input_workspace)(&some));
    if (DF_SYM(df_winograd_applies)(c)) return DF_SYM(df_winograd_input_workspace)(c);
    return is_flipped(c, &of_dy) ? DF_SYM(df_conv_windows_workspace)(&of_dy)
                                 : DF_SYM(df_conv_places_workspace)(c);
}

void DF_SYM(df_conv_input)(const df_conv *c, const void *w, const void *dy, void *dx,
                           void *workspace)
{
    df_conv of_dy;
    if (is_empty(c)) {
        fill_zeros(c, dx, c->n * size_of(c->in) * c->c_in);
    } else if (df_depthwise_applies(c) && df_conv_widens(c)) {
        run_in_float(c, true, dy, w, dx, workspace);
    } else if (df_depthwise_applies(c)) {
        DF_SYM(df_depthwise_input)(c, w, dy, dx, workspace);
    } else if (DF_SYM(df_winograd_applies)(c)) {
        DF_SYM(df_winograd_input)(c, w, dy, dx, workspace);
    } else if (is_flipped(c, &of_dy)) {
        DF_SYM(df_conv_windows_run)(&of_dy, dy, w, true, dx, (df_product_epilogue){0}, workspace);
    } else {
        DF_SYM(df_conv_places_run)(c, w, dy, dx, workspace);
    }
}

/* --- gradient of the weights: dw --- */

int64_t DF_SYM(df_conv_filter_workspace)(const df_conv *c)
{
    if (is_empty(c)) return 0;
    if (df_depthwise_applies(c)) return DF_SYM(df_depthwise_filter_workspace)(c);
    if (DF_SYM(df_winograd_applies)(c)) return DF_SYM(df_winograd_filter_workspace)(c);
    return DF_SYM(df_conv_sums_workspace)(c);
}

void DF_SYM(df_conv_filter)(const df_conv *c, const void *x, const void *dy, void *dw,
                            void *workspace)
{
    if (is_empty(c))
        fill_zeros(c, dw, size_of(c->kernel) * df_conv_group_in(c) * c->c_out);
    else if (df_depthwise_applies(c))
        DF_SYM(df_depthwise_filter)(c, x, dy, dw, workspace);
    else if (DF_SYM(df_winograd_applies)(c))
        DF_SYM(df_winograd_filter)(c, x, dy, dw, workspace);
    else
        DF_SYM(df_conv_sums_run)(c, x, dy, dw, workspace);
}
