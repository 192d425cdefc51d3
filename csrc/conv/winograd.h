/* Convolution with 3 x 3 and 5 x 5 filters at stride 1 by Winograd's minimal filtering, F(4 x 4, 3
 * x 3) and F(2 x 2, 5 x 5), in float32. Takes 1 / 4 and 9 / 25 of the multiplications, with a
 * larger error (docs/numerics.md). Works on memory, without tensors or ops. Compiled once per SIMD
 * level. */
#ifndef DF_WINOGRAD_H
#define DF_WINOGRAD_H

#include "conv/conv.h"

/* True if Winograd supports these sizes and is faster than direct sums. */
bool DF_SYM(df_winograd_applies)(const df_conv *c);

/* Like the functions of conv.h, for a convolution of one group over two dimensions, with filters of
 * 3 x 3 or 5 x 5, strides and dilations of 1, and no size of 0. */
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
