/* Convolutions and their gradients over one to three dimensions: channels last, float32 and
 * float64. Knows blocks of memory, no tensors and no ops. Compiled once per SIMD level. */
#ifndef DF_CONV_H
#define DF_CONV_H

#include "base/dtype.h"
#include "op/op.h"

/* Sizes of a convolution  y[b, o, m] = sum over t, c of x[b, o * stride + t * dilation - pad, c]
 * w[t, c, m],  where x is zero outside its bounds. All arrays are dense and row-major:
 *
 *   x  (n, in[0], in[1], in[2], c_in)
 *   w  (kernel[0], kernel[1], kernel[2], c_in / groups, c_out)
 *   y  (n, out[0], out[1], out[2], c_out)
 *
 * Fewer than three dimensions come last; those before them have size 1 (stride 1, pad 0).
 * Group g of c_out / groups outputs reads group g of c_in / groups inputs. The zeros after the last
 * element of x follow from the other numbers; `pad` counts those before the first one. */
typedef struct {
    df_dtype dtype;
    int64_t n, c_in, c_out, groups;
    int64_t in[3], kernel[3], out[3];
    int64_t stride[3], dilation[3], pad[3];
} df_conv;

#endif
