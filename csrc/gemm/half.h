/* Float32 copies of pieces of 16-bit tensors, for kernels that compute in float32 and store 16
 * bits. `stored` is the dtype of the tensor in memory: pieces of any other dtype are read and
 * written in place, so that one kernel serves all floating dtypes. Compiled once per SIMD level. */
#ifndef DF_GEMM_HALF_H
#define DF_GEMM_HALF_H

#include "base/dtype.h"
#include "op/op.h"

/* The dtype in which a kernel computes. */
static inline df_dtype df_wide_dtype(df_dtype stored)
{
    return df_is_reduced_float(stored) ? DF_F32 : stored;
}

/* Copy n elements: 16-bit floats are widened to float32, or float32 is rounded to them once. */
void DF_SYM(df_copy_wide)(df_dtype stored, int64_t n, void *to, const void *from);
void DF_SYM(df_copy_narrow)(df_dtype stored, int64_t n, void *to, const void *from);

static inline void *df_element(df_dtype stored, const void *x, int64_t at)
{
    return (char *)x + at * df_dtypes[stored].bytes;
}

/* Elements [at, at + n) of x, in place or widened to `wide`. */
static inline const void *df_piece(df_dtype stored, const void *x, int64_t at, int64_t n,
                                   float *wide)
{
    if (!df_is_reduced_float(stored)) return df_element(stored, x, at);
    DF_SYM(df_copy_wide)(stored, n, wide, df_element(stored, x, at));
    return wide;
}

/* The memory in which elements of y from `at` on are computed, in place or `wide`, which
 * df_piece_done stores. */
static inline void *df_piece_to(df_dtype stored, void *y, int64_t at, float *wide)
{
    return df_is_reduced_float(stored) ? wide : df_element(stored, y, at);
}
static inline void df_piece_done(df_dtype stored, void *y, int64_t at, int64_t n,
                                 const float *wide)
{
    if (df_is_reduced_float(stored))
        DF_SYM(df_copy_narrow)(stored, n, df_element(stored, y, at), wide);
}

/* Packers of a panel to float32, see gemm_kernel, for the dtype of the source. */
void DF_SYM(df_pack_f16)(void *packed, int64_t width, const void *source, int64_t n, int64_t step,
                         int64_t depth, int64_t depth_step);
void DF_SYM(df_pack_bf16)(void *packed, int64_t width, const void *source, int64_t n, int64_t step,
                          int64_t depth, int64_t depth_step);

#endif
