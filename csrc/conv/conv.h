/* Convolutions and their gradients over one to three dimensions: channels last, float32 and
 * float64. Knows blocks of memory, no tensors and no ops. Compiled once per SIMD level. */
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
 * Fewer than three dimensions come last; those before them have size 1 (stride 1, pad 0).
 * Group g of c_out / groups outputs reads group g of c_in / groups inputs. The zeros after the last
 * element of x follow from the other numbers; `pad` counts those before the first one. A stride is
 * 1 where out is 1, a dilation where kernel is 1: they make no difference there. */
typedef struct {
    df_dtype dtype;
    int64_t n, c_in, c_out, groups;
    int64_t in[3], kernel[3], out[3];
    int64_t stride[3], dilation[3], pad[3];
    bool exact; /* sums of all products, not Winograd's */
    bool transformed; /* w is what df_conv_transform made, forward only */
} df_conv;

/* Whether a convolution computes with a transformed w, which may be made once for many: as many
 * numbers for each of c_in x c_out. The other two look at kernel, c_in and c_out only. */
bool DF_SYM(df_conv_transforms)(const df_conv *c);
int64_t DF_SYM(df_conv_transformed_each)(const df_conv *c); /* 0: there is no such transform */
void DF_SYM(df_conv_transform)(const df_conv *c, const void *w, void *to);

/* Bytes of scratch memory, aligned to 64 bytes; -1 where they do not fit 64 bits. */
int64_t DF_SYM(df_conv_forward_workspace)(const df_conv *c);
int64_t DF_SYM(df_conv_input_workspace)(const df_conv *c);
int64_t DF_SYM(df_conv_filter_workspace)(const df_conv *c);

/* All run on the thread pool; sums are in an order that depends on nothing but the sizes.
 * The epilogue (NULL: none) sees y as a matrix of pixels x c_out. */
void DF_SYM(df_conv_forward)(const df_conv *c, const void *x, const void *w, void *y,
                             df_gemm_epilogue epilogue, const void *context, void *workspace);
/* dx, the gradient with respect to x, from dy, that with respect to y. */
void DF_SYM(df_conv_input)(const df_conv *c, const void *w, const void *dy, void *dx,
                           void *workspace);
/* dw, the gradient with respect to w. */
void DF_SYM(df_conv_filter)(const df_conv *c, const void *x, const void *dy, void *dw,
                            void *workspace);

#endif
