/* Convolutions and their gradients over one to three dimensions: channels last, computed in float32
 * or float64. Called by ops/conv/convolution.c. Works on memory, without tensors or ops. Compiled
 * once per SIMD level. */
#ifndef DF_CONV_H
#define DF_CONV_H

#include "gemm/gemm.h"

/* Sizes of a convolution  y[b, o, m] = sum over t, c of x[b, o * stride + t * dilation - pad, c]
 * w[t, c, m],  where x is zero outside its bounds. All arrays are dense and row-major:
 *
 *   x  (n, in[0], in[1], in[2], c_in)
 *   w  (kernel[0], kernel[1], kernel[2], c_in / groups, c_out)
 *   y  (n, out[0], out[1], out[2], c_out)
 *
 * With fewer than three dimensions the first ones have size 1 (stride 1, pad 0). Group g of c_out /
 * groups outputs reads group g of c_in / groups inputs. `pad` is the number of zeros before the
 * first element of x; the number after the last one follows from the other sizes. Normalised: a
 * stride is 1 if out is 1, a dilation is 1 if kernel is 1, as they have no effect then. */
typedef struct {
    df_dtype dtype;  /* of the sums and of epilogues: float32 or float64 */
    df_dtype stored; /* of x, w, y and their gradients in memory: dtype, or 16-bit floats, which are
                      * widened while they are packed and rounded once */
    int64_t n, c_in, c_out, groups;
    int64_t in[3], kernel[3], out[3];
    int64_t stride[3], dilation[3], pad[3];
    bool exact; /* no Winograd transform: sums of all products */
    bool transformed; /* w was written by df_conv_transform; forward only */
    bool packed;      /* w was written by df_conv_pack_filters; forward only */
    bool scaled;      /* x is multiplied by the `scale` of df_conv_forward_scaled; with packed */
} df_conv;

/* True if a convolution uses a transformed w, which may be computed once for many convolutions. It
 * has the given number of elements for each of c_in x c_out. The last two functions depend only on
 * kernel, c_in and c_out. */
bool DF_SYM(df_conv_transforms)(const df_conv *c);
int64_t DF_SYM(df_conv_transformed_each)(const df_conv *c); /* 0: no such transform */
void DF_SYM(df_conv_transform)(const df_conv *c, const void *w, void *to);

/* True if a convolution can use a packed w, of the given number of elements (-1 if more than 64
 * bits can count). The last two functions depend only on kernel, c_in, c_out and groups. */
bool DF_SYM(df_conv_packs)(const df_conv *c);
int64_t DF_SYM(df_conv_packed_size)(const df_conv *c);
void DF_SYM(df_conv_pack_filters)(const df_conv *c, const void *w, void *to);

/* Bytes of scratch memory, aligned to 64 bytes; -1 if more than 64 bits can count. */
int64_t DF_SYM(df_conv_forward_workspace)(const df_conv *c);
int64_t DF_SYM(df_conv_input_workspace)(const df_conv *c);
int64_t DF_SYM(df_conv_filter_workspace)(const df_conv *c);

/* All functions use the thread pool; the order of sums depends only on the sizes. The epilogue gets
 * y as a matrix of pixels x c_out. */
void DF_SYM(df_conv_forward)(const df_conv *c, const void *x, const void *w, void *y,
                             df_product_epilogue epilogue, void *workspace);
/* Same for x * scale, a factor for each image and channel, of sizes with df_conv_scales. */
bool DF_SYM(df_conv_scales)(const df_conv *c);
void DF_SYM(df_conv_forward_scaled)(const df_conv *c, const void *x, const void *w,
                                    const void *scale, void *y, df_product_epilogue epilogue,
                                    void *workspace);
/* dx, the gradient with respect to x, from dy, the gradient with respect to y. */
void DF_SYM(df_conv_input)(const df_conv *c, const void *w, const void *dy, void *dx,
                           void *workspace);
/* dw, the gradient with respect to w. */
void DF_SYM(df_conv_filter)(const df_conv *c, const void *x, const void *dy, void *dw,
                            void *workspace);

#endif
