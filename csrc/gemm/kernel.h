/* The register-blocked kernels of a SIMD level, one per dtype, and their packers. Used in this
 * folder alone. */
#ifndef DF_GEMM_KERNEL_H
#define DF_GEMM_KERNEL_H

#include "gemm/gemm.h"

/* Registers for C, B and one element of A: 8 x 3 of 32, 4 x 3 of 16. */
#if defined(__AVX512F__) || defined(__aarch64__)
#define GEMM_ROWS 8
#else
#define GEMM_ROWS 4
#endif
#define GEMM_COLS 3

/* Is load_n one instruction? Else a partial column panel of B is packed and padded with zeros. */
#if defined(__AVX512BW__)
#define LOAD_N_IS_FAST 1
#else
#define LOAD_N_IS_FAST 0
#endif

/* Rows of whole vectors of B to be copied one behind the other. */
typedef struct {
    const char *from;
    char *to;
    int64_t step, rows; /* bytes between rows of B; how many are left */
} gemm_copy;

/* One column panel of C over all rows of a job. Element (i, p) of op(A) is at
 * a[i / GEMM_ROWS * a_block + i % GEMM_ROWS * a_row + p * a_col], (p, j) of op(B) at
 * b[p * b_row + j]. */
typedef struct {
    int64_t rows, cols, k;
    const void *a, *b;
    void *c;
    int64_t a_block, a_row, a_col, b_row, c_row;
    int64_t steps; /* of k between fetches */
    bool accumulate;
    void *copy; /* room for the panel of B in whole vectors, to copy it and go on there; or NULL */
    gemm_copy next; /* of B, what the panel after this one reads, as wide; rows 0: nothing */
} gemm_panel;

/* The kernel of a dtype. It may take elements of A and B by `group` along k, packed side by side as
 * one of its own: then k counts groups in gemm_panel. Where its elements are larger than those of A
 * and B, both operands must be packed. */
typedef struct {
    void (*panel)(const gemm_panel *panel);
    /* Packs a panel: packed[p * width + i] = source[i * step + p * depth_step] for i < n and
     * p < depth, and zeros for n <= i < width; of groups, the last one padded with zeros. One of
     * the steps is 1. */
    void (*pack)(void *packed, int64_t width, const void *source, int64_t n, int64_t step,
                 int64_t depth, int64_t depth_step);
    df_dtype result; /* of C. Halves are sums of float32, rounded by the caller */
    int bytes;       /* of a sum, or of a group */
    int in_bytes;    /* of an element of A and B */
    int group;
} gemm_kernel;

static inline bool gemm_must_pack(const gemm_kernel *kernel)
{
    return kernel->bytes != kernel->in_bytes;
}

/* Its functions are NULL where there is none. */
const gemm_kernel *DF_SYM(df_gemm_kernel)(df_dtype dtype);

/* Packers of halves: to float32, or to pairs of bfloat16. */
void DF_SYM(df_pack_f16)(void *packed, int64_t width, const void *source, int64_t n, int64_t step,
                         int64_t depth, int64_t depth_step);
void DF_SYM(df_pack_bf16)(void *packed, int64_t width, const void *source, int64_t n, int64_t step,
                          int64_t depth, int64_t depth_step);
void DF_SYM(df_pack_bf16_pairs)(void *packed, int64_t width, const void *source, int64_t n,
                                int64_t step, int64_t depth, int64_t depth_step);

/* An entry of a table for products of a dtype, empty where this build has none. */
#define OF_PRODUCTS(dtype, ...) [DF_##dtype] = DF_PICK(DF_PRODUCT_##dtype, DF_ALL)(__VA_ARGS__)

#endif
