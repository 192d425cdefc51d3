/* From the shapes and attributes of a convolution to a df_conv: checks and sizes, shared by conv,
 * its gradients and the forms with prepared filters. */
#ifndef DF_OPS_CONV_GEOMETRY_H
#define DF_OPS_CONV_GEOMETRY_H

#include "conv/conv.h"
#include "op/op.h"

/* Attributes of conv; its gradients have the shape of their result before them. `same`: padding
 * such that there are ceil(size / stride) outputs, an odd zero at the end; otherwise `pads` before
 * and after. `exact`: sums of all products, without Winograd's method. */
enum { DF_CONV_STRIDES, DF_CONV_DILATIONS, DF_CONV_SAME, DF_CONV_PADS, DF_CONV_EXACT,
       DF_CONV_N_ATTRS };

#define DF_CONV_GEOMETRY_ATTRS                                                                     \
    {"strides", DF_ATTR_INTS}, {"dilations", DF_ATTR_INTS}, {"same", DF_ATTR_BOOL},                \
    {"pads", DF_ATTR_INTS}, {"exact", DF_ATTR_BOOL}

/* The sizes of a convolution, as shapes; the dimensions of y may be unknown. */
typedef struct {
    const df_call *call;
    const df_attr *attrs; /* starting at DF_CONV_STRIDES */
    int ndim;
    const int64_t *x, *w;
} df_conv_shapes;

/* "conv: input has shape ... and filters ..., expected <rule>" */
df_status DF_SYM(df_conv_fail_shapes)(const df_conv_shapes *s, const char *rule, df_error *err);
/* Inputs 0 and 1 must be float32, or float64. */
df_status DF_SYM(df_conv_check_dtypes)(const df_call *call, df_error *err);
/* Checks the shapes of x and w; computes the shape of y and the leading padding. */
df_status DF_SYM(df_conv_measure)(const df_conv_shapes *s, int w_ndim, int64_t *y, int64_t *pad,
                                  df_error *err);
/* Sizes must have been checked and be known. */
df_conv DF_SYM(df_conv_from_shapes)(const df_conv_shapes *s, df_dtype dtype);
/* Filters of shape w, in groups; the sizes of images are 0. */
df_conv DF_SYM(df_conv_of_filters)(int ndim, const int64_t *w, int64_t groups);
double DF_SYM(df_conv_flops)(const df_conv *c);

#endif
