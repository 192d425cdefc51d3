/* Images in the layout of the kernels: with zero padding, and the channels of a group adjacent. An
 * image with this layout is read in place. */
#ifndef DF_CONV_IMAGE_H
#define DF_CONV_IMAGE_H

#include "conv/conv.h"
#include "conv/panel.h"
#include "gemm/half.h"

#define DF_CONV_DEPTH_BYTES 4096 /* depth of a pass: a panel of B is then at most 256 KB (L2) */
#define DF_CONV_IMAGES_BYTES ((int64_t)2 << 20) /* padded images at a time */
#define DF_CONV_TILE_ROWS 96                    /* rows of a product per job */

/* Distances are in elements. */
typedef struct {
    const char *data;
    int64_t image, group, plane, row, pixel;
    bool apart; /* each tap of a window is a segment */
} df_conv_view;

/* Inputs and outputs of a group, weights per output, output pixels per image. */
static inline int64_t df_conv_group_in(const df_conv *c) { return c->c_in / c->groups; }
static inline int64_t df_conv_group_out(const df_conv *c) { return c->c_out / c->groups; }
static inline int64_t df_conv_taps(const df_conv *c)
{
    return c->kernel[0] * c->kernel[1] * c->kernel[2];
}
static inline int64_t df_conv_pixels(const df_conv *c)
{
    return c->out[0] * c->out[1] * c->out[2];
}
/* Elements along a dimension that windows cover, padding included. */
static inline int64_t df_conv_extent(const df_conv *c, int d)
{
    return (c->out[d] - 1) * c->stride[d] + (c->kernel[d] - 1) * c->dilation[d] + 1;
}
static inline int64_t df_conv_bytes(const df_conv *c) { return df_dtypes[c->dtype].bytes; }
static inline int64_t df_conv_stored_bytes(const df_conv *c) { return df_dtypes[c->stored].bytes; }
/* True if x, w and y are 16-bit floats. */
static inline bool df_conv_widens(const df_conv *c) { return df_is_reduced_float(c->stored); }
/* Elements of an image. */
static inline int64_t df_conv_image(const df_conv *c)
{
    return c->in[0] * c->in[1] * c->in[2] * c->c_in;
}

/* True if images are copied with padding, or because of groups. */
bool DF_SYM(df_conv_is_padded)(const df_conv *c);
/* Bytes of a padded image; -1 if more than 64 bits can count. */
int64_t DF_SYM(df_conv_padded_bytes)(const df_conv *c);
/* The number of images to copy at a time, with `bytes` of memory for each. */
static inline int64_t df_conv_images(const df_conv *c, int64_t bytes)
{
    return df_max(1, df_min(c->n, DF_CONV_IMAGES_BYTES / df_max(bytes, 1)));
}
/* The layout of x, or of the padded copies of its images. */
df_conv_view DF_SYM(df_conv_view_of)(const df_conv *c, const void *x);
/* The layout of x, read in place. */
df_conv_view DF_SYM(df_conv_in_place)(const df_conv *c, const void *x);
/* Copies n images from x on, with padding, to `padded`, in the dtype of the sums. */
void DF_SYM(df_conv_pad)(const df_conv *c, const void *x, int64_t n, void *padded);
/* Widens n elements to the dtype of the sums; or rounds them. */
void DF_SYM(df_conv_widen)(const df_conv *c, int64_t n, void *to, const void *from);
void DF_SYM(df_conv_round)(const df_conv *c, int64_t n, void *to, const void *from);

/* Start offsets of the windows of n output pixels, numbered through the images from `first` on. */
void DF_SYM(df_conv_windows)(const df_conv *c, const df_conv_view *v, int64_t first, int64_t n,
                             int64_t *offsets);
/* Offsets from the start of a window of weights first ... first + n - 1 (of taps x group_in). */
void DF_SYM(df_conv_weights)(const df_conv *c, const df_conv_view *v, int64_t first, int64_t n,
                             int64_t *offsets);
/* The same weights as segments of a window; returns the number of segments. */
int64_t DF_SYM(df_conv_lines)(const df_conv *c, const df_conv_view *v, int64_t first, int64_t n,
                              df_conv_segment *segments);

/* Sum of two sizes in bytes; -1 if one is negative or the sum exceeds 64 bits. */
static inline int64_t df_conv_sum_bytes(int64_t a, int64_t b)
{
    int64_t sum;
    return a < 0 || b < 0 || !df_add_size(a, b, &sum) ? -1 : sum;
}
static inline int64_t df_conv_mul_bytes(int64_t a, int64_t b)
{
    int64_t product;
    return a < 0 || b < 0 || !df_mul_size(a, b, &product) ? -1 : product;
}
static inline int64_t df_conv_align(int64_t bytes)
{
    return bytes < 0 || bytes > INT64_MAX - DF_ALIGNMENT ? -1 : (bytes + 63) / 64 * 64;
}

#endif
