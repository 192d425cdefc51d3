/* Convolution with 3 x 3 and 5 x 5 filters at stride 1 by Winograd's minimal filtering, F(4 x 4,
 * 3 x 3) and F(2 x 2, 5 x 5), in float32: 1 / 4 and 9 / 25 of the multiplications, at the price of
 * a larger error (docs/numerics.md).
 * Knows blocks of memory, no tensors and no ops. Compiled once per SIMD level. */
#ifndef DF_WINOGRAD_H
#define DF_WINOGRAD_H

#include "conv/conv.h"

/* Whether it computes a convolution of these sizes, and sooner than sums of all products. */
bool DF_SYM(df_winograd_applies)(const df_conv *c);

/* As the functions of conv.h, for a convolution of one group over two dimensions, with filters of
 * 3 x 3 or 5 x 5, strides and dilations of 1, in which no size is 0. */
int64_t DF_SYM(df_winograd_transformed_each)(const df_conv *c);
void DF_SYM(df_winograd_transform)(const df_conv *c, const void *w, void *to);
int64_t DF_SYM(df_winograd_forward_workspace)(const df_conv *c);
int64_t DF_SYM(df_winograd_input_workspace)(const df_conv *c);
int64_t DF_SYM(df_winograd_filter_workspace)(const df_conv *c);
void DF_SYM(df_winograd_forward)(const df_conv *c, const void *x, const void *w, void *y,
                                 void *workspace);
void DF_SYM(df_winograd_input)(const df_conv *c, const void *w, const void *dy, void *dx,
                               void *workspace);
void DF_SYM(df_winograd_filter)(const df_conv *c, const void *x, const void *dy, void *dw,
                                void *workspace);

#endif
