/* Triangular solves and factorisations of dense matrices, for float32 and float64, and except for
 * QR complex64 and complex128: blocks of at most FACTOR_BLOCK rows, and matrix products for the
 * rest, which is most of the work. Called by ops/linalg. Works on memory and strides, without
 * tensors or ops. Compiled once per SIMD level.
 *
 * A product can add to its result, but not subtract from it. Therefore functions that overwrite a
 * matrix expect its negative.
 *
 * Work is split by sizes alone, so results do not depend on the number of threads. */
#ifndef DF_FACTOR_H
#define DF_FACTOR_H

#include "base/dtype.h"
#include "op/op.h"

#define FACTOR_BLOCK 64

/* to = -from, n elements; `to` may be `from`. */
void DF_SYM(df_negate)(df_dtype dtype, void *to, const void *from, int64_t n);

/* x = conj(x), n elements; nothing if they are real. */
void DF_SYM(df_conjugate)(df_dtype dtype, void *x, int64_t n);

/* The first row of a row-major n x n matrix whose element on the diagonal is 0, or -1. */
int64_t DF_SYM(df_zero_on_diagonal)(df_dtype dtype, int64_t n, const void *a);

/* A triangular matrix, row-major. Elements of the other triangle are not read. */
typedef struct {
    df_dtype dtype;
    bool lower, transpose; /* of the stored matrix; it is used transposed, not conjugated */
    bool unit;             /* the diagonal is 1 and is not read */
    int64_t n, ld;
    const void *a;
} df_triangle;

/* Overwrites n x k -B, rows `ld` elements apart, with op(A)^-1 B by substitution. With
 * `lower_result` op(A) and B are lower triangular, hence also the result: only the elements of B's
 * blocks up to the diagonal are used, and the others must be 0 and remain so. */
void DF_SYM(df_triangle_solve)(const df_triangle *t, int64_t k, void *b, int64_t ld,
                               bool lower_result, void *workspace);
/* Bytes of scratch memory; a multiple of 64. Only the sizes of `t` are read. */
int64_t DF_SYM(df_triangle_workspace)(const df_triangle *t, int64_t k, bool lower_result);

/* Writes the lower triangular L such that A = L L^H, n x n; the upper triangle of A and imaginary
 * parts of its diagonal are not read.
 * Returns -1, or the first row whose pivot is not positive (or is NaN), where it stops. */
int64_t DF_SYM(df_cholesky)(df_dtype dtype, int64_t n, void *l, const void *a, void *workspace);
int64_t DF_SYM(df_cholesky_workspace)(df_dtype dtype, int64_t n);

/* Overwrites -A, m x n, with U and, below the diagonal, L without its diagonal of ones, such that
 * row i of L U is row rows[i] of A. Partial pivoting: the pivot is the first element of largest
 * absolute value, |re| + |im| if it is complex; a NaN is a pivot if all other elements are 0. A
 * column of zeros is left out.
 * Returns the sign of the permutation, 1 or -1. */
int DF_SYM(df_lu)(df_dtype dtype, int64_t m, int64_t n, void *a, int32_t *rows, void *workspace);
int64_t DF_SYM(df_lu_workspace)(df_dtype dtype, int64_t m, int64_t n);

/* Writes Q, m x columns, with orthonormal columns, and R, columns x n, upper triangular, such that
 * A = Q R; `columns` is the smaller of m and n, or m. */
void DF_SYM(df_qr)(df_dtype dtype, int64_t m, int64_t n, int64_t columns, const void *a, void *q,
                   void *r, void *workspace);
int64_t DF_SYM(df_qr_workspace)(df_dtype dtype, int64_t m, int64_t n, int64_t columns);

/* --- used by the files of this folder --- */

/* Columns of one strip of a block of rows, which is solved in L1: vectors of a SIMD level. */
enum { STRIP_VECTORS = 3, STRIP_ROWS = 4 };

/* A block of `rows` rows of op(A) X = B. The triangle is packed: element (i, j) of the lower
 * triangle at packed[j * FACTOR_BLOCK + i]; if it is complex, imaginary parts follow after all real
 * parts. Element (i, j) of -B is at b + i * step + j * column_step, in bytes; step may be negative.
 * It is overwritten with X. */
typedef struct {
    df_dtype dtype;
    int64_t rows, k, step, column_step;
    const void *packed;
    char *b;
} df_block_solve;
void DF_SYM(df_solve_block)(const df_block_solve *s);
/* Bytes of a packed block of any dtype. */
#define FACTOR_PARTS (1 + (DF_BUILT_C64 || DF_BUILT_C128))
#define FACTOR_BLOCK_BYTES (FACTOR_BLOCK * FACTOR_BLOCK * FACTOR_PARTS * sizeof(double))

/* C += op(A) op(B). */
typedef struct {
    bool transpose_a, transpose_b;
    int64_t m, n, k, lda, ldb, ldc;
    const char *a, *b;
    char *c;
} df_update;
void DF_SYM(df_update_run)(df_dtype dtype, const df_update *u, void *workspace);
int64_t DF_SYM(df_update_workspace)(df_dtype dtype, const df_update *u);

#endif
