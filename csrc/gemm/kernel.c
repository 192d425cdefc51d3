/* See kernel.h; the arithmetic is in kernel_formulas.h. */
#include "simd/lanes.h"
#include "gemm/kernel.h"

#define UNROLL _Pragma("GCC unroll 8")
#define AHEAD 8 /* rows of B fetched ahead where they are copied */

#define DTYPE f32
#include "gemm/kernel_formulas.h"
#undef DTYPE
#define DTYPE f64
#include "gemm/kernel_formulas.h"
#undef DTYPE
#define DTYPE i32
#include "gemm/kernel_formulas.h"
#undef DTYPE
#define DTYPE i64
#include "gemm/kernel_formulas.h"
#undef DTYPE

static const gemm_kernel KERNELS[DF_N_DTYPES] = {
    [DF_F32] = {panel_f32, pack_f32, 4},
    [DF_F64] = {panel_f64, pack_f64, 8},
    [DF_I32] = {panel_i32, pack_i32, 4},
    [DF_I64] = {panel_i64, pack_i64, 8},
};

const gemm_kernel *DF_SYM(df_gemm_kernel)(df_dtype dtype) { return &KERNELS[dtype]; }
