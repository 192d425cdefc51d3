/* Products of complex matrices by the kernels of real ones. Internal to this folder.
 *
 * Rows of A and C are read as rows of their parts, of twice the length. Each element re + i im of
 * op(B) is packed as two rows of two elements, (re, im) and (-im, re), so that one real product of
 * twice the width and depth computes C, with the rounding of four real products. */
#ifndef DF_GEMM_COMPLEX_H
#define DF_GEMM_COMPLEX_H

#include "gemm/gemm.h"

/* The real product. The leading dimension of an operand that must be packed, which is B or a
 * transposed A, remains in complex elements, as the packers expect. */
void DF_SYM(df_gemm_of_parts)(const df_gemm *g, df_gemm *parts);

/* Packers of B and of a transposed A, see gemm_kernel. Sizes and steps count parts. */
#define DF_COMPLEX_PACKER(name)                                                                  \
    void DF_SYM(df_pack_##name)(void *packed, int64_t width, const void *source, int64_t n,      \
                                int64_t step, int64_t depth, int64_t depth_step);
DF_COMPLEX_PACKER(a_c64)
DF_COMPLEX_PACKER(b_c64)
DF_COMPLEX_PACKER(a_c128)
DF_COMPLEX_PACKER(b_c128)
#undef DF_COMPLEX_PACKER

/* Like df_gemv and df_gemv_workspace. */
int64_t DF_SYM(df_gemv_complex_workspace)(const df_gemm *g);
void DF_SYM(df_gemv_complex)(const df_gemm *g, int64_t row, void *workspace);

#endif
