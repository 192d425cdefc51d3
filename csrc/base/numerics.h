/* Search for NaN and infinities in tensors. */
#ifndef DF_NUMERICS_H
#define DF_NUMERICS_H

#include "base/tensor.h"

typedef struct {
    int64_t n_nan, n_inf;
    int64_t first; /* row-major index of the first non-finite element; -1: all are finite */
} df_nonfinite;

/* Integers count as finite. */
df_nonfinite df_find_nonfinite(const df_tensor *x);

#endif
