/* The register-blocked kernels of a SIMD level, one per dtype, and their packers. Internal to this
 * folder. */
#ifndef DF_GEMM_KERNEL_H
#define DF_GEMM_KERNEL_H

#include "gemm/complex_products.h"
#include "gemm/half.h"

/* Registers for C, B and one element of A: 8 x 3 of 32, or 4 x 3 of 16. */
#if defined(__AVX512F__) || defined(__aarch64__)
#define GEMM_ROWS 8
#else
#define GEMM_ROWS 4
#endif
#define GEMM_COLS 3

/* 1 if load_n is one instruction. Otherwise a partial column panel of B is packed and padded with
 * zeros. */
#if defined(__AVX512BW__)
#define LOAD_N_IS_FAST 1
#else
#define LOAD_N_IS_FAST 0
#endif

/* Rows of whole vectors of B to be copied to consecutive memory. */
typedef struct {
    const char *from;
    char *to;
    int64_t step, rows; /* bytes between rows of B; rows left */
} gemm_copy;

/* Rows of B to be prefetched, as wide as the panel. */
typedef struct {
    const char *row;
    int64_t step;    /* bytes between rows */
    int64_t at_once; /* number of rows at each interruption of the kernel; 0: none */
} gemm_fetch;

/* One column panel of C over all rows of a job. Element (i, p) of op(A) is at a[i / GEMM_ROWS *
 * a_block + i % GEMM_ROWS * a_row + p * a_col], (p, j) of op(B) at b[p * b_row + j]. */
typedef struct {
    int64_t rows, cols, k;
    const void *a, *b;
    void *c;
    int64_t a_block, a_row, a_col, b_row, c_row;
    int64_t steps; /* of k between prefetches */
    bool accumulate;
    void *copy; /* destination for a dense copy of the panel of B, used by later row blocks; or
                 * NULL */
    gemm_copy next; /* the rows of B that the next panel of the same width reads; rows 0: none */
    gemm_fetch fetch; /* the rows of B that are read next, if they are not copied */
} gemm_panel;

/* Packs a panel: packed[p * width + i] = source[i * step + p * depth_step] for i < n and p < depth,
 * and zeros for n <= i < width; in groups, the last one padded with zeros. One of the steps is
 * 1. Complex numbers: see complex_products.h. */
typedef void (*gemm_packer)(void *packed, int64_t width, const void *source, int64_t n,
                            int64_t step, int64_t depth, int64_t depth_step);

/* The kernel of a dtype. It may process elements of A and B in groups of `group` along k, stored
 * side by side as one element: then k counts groups in gemm_panel. If its elements are larger than
 * those of A and B, both operands must be packed. */
typedef struct {
    void (*panel)(const gemm_panel *panel);
    gemm_packer pack, pack_b; /* of A and of B */
    df_dtype result; /* dtype of C. For 16-bit floats the sums are float32, rounded by the caller */
    int bytes;       /* of a sum or a group */
    int in_bytes;    /* of an element of A and B */
    int group;
} gemm_kernel;

static inline bool gemm_must_pack(const gemm_kernel *kernel)
{
    return kernel->bytes != kernel->in_bytes;
}

/* The functions are NULL if the dtype has no kernel. */
const gemm_kernel *DF_SYM(df_gemm_kernel)(df_dtype dtype);

/* Packers of int8 and uint8, in pairs. */
void DF_SYM(df_pack_i8)(void *packed, int64_t width, const void *source, int64_t n, int64_t step,
                        int64_t depth, int64_t depth_step);
void DF_SYM(df_pack_u8)(void *packed, int64_t width, const void *source, int64_t n, int64_t step,
                        int64_t depth, int64_t depth_step);

/* The packer of 16-bit floats to pairs of bfloat16; half.h has those to float32. */
void DF_SYM(df_pack_bf16_pairs)(void *packed, int64_t width, const void *source, int64_t n,
                                int64_t step, int64_t depth, int64_t depth_step);

/* A table entry for products of a dtype; empty if this build has none. */
#define OF_PRODUCTS(dtype, ...) [DF_##dtype] = DF_PICK(DF_PRODUCT_##dtype, DF_ALL)(__VA_ARGS__)

#endif
