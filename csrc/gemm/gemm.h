/* Matrix products C = op(A) op(B), single or batched, for float32, float64, int32, int64, complex64
 * and complex128; for 16-bit floats with float32 sums that are rounded once; for int8 and uint8
 * with int32 sums. Called by ops/matmul*.c, conv, attention and recurrent. Works on memory and
 * strides, without tensors or ops. Compiled once per SIMD level. */
#ifndef DF_GEMM_H
#define DF_GEMM_H

#include "base/dtype.h"
#include "gemm/epilogue.h"
#include "op/op.h"

/* Writes columns [col, col + cols) of B from row k0 on, `depth` rows, as the packer of a kernel
 * (kernel.h) does. `col` is a multiple of the vector length. Runs on several threads at a time. */
typedef void (*df_gemm_fill)(const void *b, float *packed, int64_t width, int64_t col, int64_t cols,
                             int64_t k0, int64_t depth);

/* op(A) is m x k, op(B) is k x n, C is m x n, all row-major. Leading dimensions are the distance of
 * stored rows in elements: at least k for A, m for a transposed A, and so on.
 *
 * A batch is an array of products over the dimensions batch_shape: product (i0, i1, ...) reads A at
 * a + i0 * a_strides[0] + i1 * a_strides[1] + ... (elements; stride 0 repeats a matrix), B
 * likewise. The C matrices are m * ldc apart. batch_ndim 0 is one product.
 *
 * C may not overlap A or B. Float sums are computed in the dtype (16-bit floats: in float32), in
 * blocks over k whose order depends only on the shapes; integers wrap around. If k is 0 the sum is
 * 0. */
typedef struct {
    df_dtype dtype;
    bool transpose_a, transpose_b;
    bool mixed; /* dtype is int8 or uint8, and B has the other one of the two */
    bool packed_b; /* b was written by df_gemm_pack; transpose_b and ldb are ignored. No batch */
    df_gemm_fill fill_b; /* or NULL: of a B that is not stored in `dtype`. Then b is its context,
                          * transpose_b is true, m and n are at least 2, and there is no batch */
    bool accumulate; /* C += op(A) op(B); not for 16-bit floats */
    int64_t m, n, k;
    const void *a, *b;
    void *c;
    int64_t lda, ldb, ldc;
    int batch_ndim;
    const int64_t *batch_shape, *a_strides, *b_strides;
    df_gemm_epilogue epilogue; /* may be NULL */
    const void *context;       /* of the epilogue */
} df_gemm;

/* True if this build multiplies matrices of `dtype` with a C of `result`. */
bool DF_SYM(df_gemm_has)(df_dtype dtype, df_dtype result);

/* Prepacked B: B may be packed once for many products, whose results are bit-identical to those of
 * an unpacked B. Returns the bytes of the packed copy; 0 if packing does not apply (a vector), -1
 * if more than 64 bits can count. Depends on dtype and sizes only. */
int64_t DF_SYM(df_gemm_packed_bytes)(const df_gemm *g);
void DF_SYM(df_gemm_pack)(const df_gemm *g, void *packed);

/* Bytes of scratch memory for the product. Ignores the pointers, so they may be set later. */
int64_t DF_SYM(df_gemm_workspace)(const df_gemm *g);

/* `workspace` is aligned to 64 bytes. Uses the thread pool if the work is large enough. */
void DF_SYM(df_gemm)(const df_gemm *g, void *workspace);

/* The plan of a product, made once for many runs: a copy of its description in which a run replaces
 * the pointers. Read-only, so any number of runs share it. */
typedef struct df_gemm_plan df_gemm_plan;

typedef struct {
    const void *a, *b;
    void *c;
    const void *context; /* of the epilogue */
} df_gemm_data;

df_gemm_plan *DF_SYM(df_gemm_plan_new)(const df_gemm *g); /* to be freed; NULL if out of memory */
int64_t DF_SYM(df_gemm_plan_workspace)(const df_gemm_plan *plan);
void DF_SYM(df_gemm_run)(const df_gemm_plan *plan, const df_gemm_data *data, void *workspace);

#endif
