/* 16-bit floats computed in float32: operands are widened, the float32 kernel runs, and its result
 * is rounded once. Tile functions and reductions in clusters do this one cache-sized piece
 * at a time, other kernels one call at a time. */
#ifndef DF_IN_FLOAT_H
#define DF_IN_FLOAT_H

#include "op/op.h"

/* `run_half` of records whose kernel lacks the two dtypes. */
df_status DF_SYM(df_run_in_float)(const df_call *call, df_error *err);
#if DF_BUILT_HALVES
#define RUN_IN_FLOAT .run_half = DF_SYM(df_run_in_float)
#else
#define RUN_IN_FLOAT .run_half = NULL
#endif

/* Same for a kernel that reads and writes some operands in 16 bits, see gemm/half.h: bit i of `in`
 * and `out` marks an input or output. Only the others are converted. */
df_status DF_SYM(df_run_partly_in_float)(const df_call *call, uint32_t in, uint32_t out,
                                         df_error *err);
/* Defines the `run_half` of an op with such a kernel, for RUN_HALF_OF. */
#define HALF_OPERANDS(op, in, out)                                                               \
    static inline df_status op##_run_half(const df_call *call, df_error *err)                    \
    {                                                                                            \
        return DF_SYM(df_run_partly_in_float)(call, in, out, err);                               \
    }
#if DF_BUILT_HALVES
#define RUN_HALF_OF(op) .run_half = op##_run_half
#else
#define RUN_HALF_OF(op) .run_half = NULL
#endif

/* Rounds n float32 numbers to 16 bits, in parallel. */
void DF_SYM(df_round_to_half)(df_dtype half, int64_t n, void *to, const float *from);

/* Conversion of the operands of a float32 tile function for a 16-bit float dtype. */
typedef struct {
    df_dtype half;
    int n_in;
    bool rounds; /* the result is rounded to `half`; otherwise it is not a float and is stored
                  * unchanged */
} df_half_tile;
void DF_SYM(df_tile_in_float)(df_tile_fn f32, df_half_tile of, int64_t n, void *out,
                              const void *const *in, const df_attr *attrs);

/* Rows of n <= DF_CLUSTER_HALF_ROW_MAX elements. */
void DF_SYM(df_reduce_in_float)(df_reduce_fn f32, df_dtype half, int64_t rows, int64_t n, void *out,
                                const void *x);

#endif
