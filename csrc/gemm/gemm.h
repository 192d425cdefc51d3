/* Matrix products: C = op(A) op(B), plain or in batches, for float32, float64, int32 and int64, of
 * float16 or bfloat16 with sums in float32 that are rounded once, and of int8 or uint8 with sums in
 * int32.
 * Knows blocks of memory and strides, no tensors and no ops. Compiled once per SIMD level. */
#ifndef DF_GEMM_H
#define DF_GEMM_H

#include "base/dtype.h"
#include "op/op.h"

/* Called with finished pieces of C while they are in cache: `rows` x `cols` elements at `c`, whose
 * first is at column col0 of row `row` (rows counted through the batch: product * m + i). Each
 * element of C is in exactly one piece; threads deliver pieces concurrently. */
typedef void (*df_gemm_epilogue)(const void *context, int64_t row, int64_t rows, int64_t col0,
                                 int64_t cols, void *c, int64_t ldc);

/* op(A) is m x k, op(B) is k x n, C is m x n; all stored row-major. Leading dimensions count the
 * elements from one stored row to the next: at least k for A, m for a transposed A, and so on.
 *
 * A batch is the array of products over the dimensions batch_shape: product (i0, i1, ...) reads A
 * at a + i0 * a_strides[0] + i1 * a_strides[1] + ... (elements; 0 repeats a matrix), B likewise,
 * and the C matrices follow each other at distance m * ldc. batch_ndim 0 is one product.
 *
 * C may not overlap A or B. Float sums run in the dtype, those of halves in float32, in blocks over
 * k whose order depends on nothing but the shapes; integers wrap around. Where k is 0 the sum is
 * 0. */
typedef struct {
    df_dtype dtype;
    bool transpose_a, transpose_b;
    bool packed_b; /* b is what df_gemm_pack made; transpose_b and ldb do not matter. No batch */
    bool accumulate; /* C += op(A) op(B); not of halves */
    int64_t m, n, k;
    const void *a, *b;
    void *c;
    int64_t lda, ldb, ldc;
    int batch_ndim;
    const int64_t *batch_shape, *a_strides, *b_strides;
    df_gemm_epilogue epilogue; /* NULL: none */
    const void *context;       /* of the epilogue */
} df_gemm;

/* Whether there is a product of matrices of a dtype with C of another or the same. */
bool DF_SYM(df_gemm_has)(df_dtype dtype, df_dtype result);

/* The same product may be computed, to the same bits, of a copy of B that was packed before, once
 * for many products: bytes of it, 0 where that is not so (a vector), -1 where they do not fit 64
 * bits. Depends on dtype and sizes alone. */
int64_t DF_SYM(df_gemm_packed_bytes)(const df_gemm *g);
void DF_SYM(df_gemm_pack)(const df_gemm *g, void *packed);

/* Bytes of scratch memory for the product. Pointers are not used, so it may be called early. */
int64_t DF_SYM(df_gemm_workspace)(const df_gemm *g);

/* `workspace` is aligned to 64 bytes. Runs on the thread pool when the work is worth it. */
void DF_SYM(df_gemm)(const df_gemm *g, void *workspace);

/* How a product is computed, worked out once for many runs: a copy of its description, in which a
 * run replaces the pointers. Read-only, so any number of runs share it. */
typedef struct df_gemm_plan df_gemm_plan;

typedef struct {
    const void *a, *b;
    void *c;
    const void *context; /* of the epilogue */
} df_gemm_data;

df_gemm_plan *DF_SYM(df_gemm_plan_new)(const df_gemm *g); /* to be freed; NULL: no memory */
int64_t DF_SYM(df_gemm_plan_workspace)(const df_gemm_plan *plan);
void DF_SYM(df_gemm_run)(const df_gemm_plan *plan, const df_gemm_data *data, void *workspace);

#endif
