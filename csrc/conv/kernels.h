/* The general kernels, one for each result. */
#ifndef DF_CONV_KERNELS_H
#define DF_CONV_KERNELS_H

#include "conv/image.h"

/* y from windows of x. `flipped`: this convolution is the input gradient of another one, whose
 * weights are given. */
int64_t DF_SYM(df_conv_windows_workspace)(const df_conv *c);
void DF_SYM(df_conv_windows_run)(const df_conv *c, const void *x, const void *w, bool flipped,
                                 void *y, df_product_epilogue epilogue, void *workspace);

void DF_SYM(df_conv_windows_run_scaled)(const df_conv *c, const void *x, const void *w,
                                        const void *scale, void *y, df_product_epilogue epilogue,
                                        void *workspace);

/* Packing of w for it ahead of a run. */
int64_t DF_SYM(df_conv_windows_packed_bytes)(const df_conv *c);
void DF_SYM(df_conv_windows_pack)(const df_conv *c, const void *w, void *to);

/* dx by scattered sums. */
int64_t DF_SYM(df_conv_places_workspace)(const df_conv *c);
void DF_SYM(df_conv_places_run)(const df_conv *c, const void *w, const void *dy, void *dx,
                                void *workspace);

/* dw by sums over pixels. */
int64_t DF_SYM(df_conv_sums_workspace)(const df_conv *c);
void DF_SYM(df_conv_sums_run)(const df_conv *c, const void *x, const void *dy, void *dw,
                              void *workspace);

#endif
