/* Convolutions in which each group has one input (depthwise), computed directly. Works on memory,
 * without tensors or ops. Compiled once per SIMD level. */
#ifndef DF_DEPTHWISE_H
#define DF_DEPTHWISE_H

#include "conv/conv.h"

static inline bool df_depthwise_applies(const df_conv *c)
{
    return c->groups > 1 && c->groups == c->c_in;
}

/* Like the functions of conv.h, for depthwise convolutions. */
int64_t DF_SYM(df_depthwise_forward_workspace)(const df_conv *c);
int64_t DF_SYM(df_depthwise_input_workspace)(const df_conv *c);
int64_t DF_SYM(df_depthwise_filter_workspace)(const df_conv *c);
void DF_SYM(df_depthwise_forward)(const df_conv *c, const void *x, const void *w, void *y,
                                  df_product_epilogue epilogue, void *workspace);
void DF_SYM(df_depthwise_input)(const df_conv *c, const void *w, const void *dy, void *dx,
                                void *workspace);
void DF_SYM(df_depthwise_filter)(const df_conv *c, const void *x, const void *dy, void *dw,
                                 void *workspace);

#endif
