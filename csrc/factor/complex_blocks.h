/* Blocks of complex matrices. Internal to this folder. In packed blocks and in panels all real
 * parts precede all imaginary parts, so that a vector holds real parts or imaginary parts. */
#ifndef DF_COMPLEX_BLOCKS_H
#define DF_COMPLEX_BLOCKS_H

#include "factor/factor.h"

/* Strips [begin, end) of a block, each of the columns of a vector of parts. */
void DF_SYM(df_solve_complex_strips)(const df_block_solve *s, int64_t begin, int64_t end);

/* Factors the n x n lower triangle `at`, rows `ld` elements apart, which is negated; the elements
 * above it are set to 0. The conjugate of the factor is also written to `columns`, FACTOR_BLOCK
 * elements each. Returns the row of a pivot that is not positive, or -1. */
int64_t DF_SYM(df_cholesky_complex_block)(df_dtype dtype, void *at, int64_t ld, int64_t n,
                                          void *columns);

/* Columns of a matrix whose LU factors are computed, and a copy whose columns are contiguous:
 * `width` columns of real parts, as many of imaginary parts, `height` parts each. Row j was
 * exchanged with row swaps[j]. */
typedef struct {
    df_dtype dtype;
    int64_t rows, width, ld, height;
    char *a, *panel;
    int64_t *swaps;
} df_panel;
void DF_SYM(df_lu_complex_panel)(const df_panel *p);

#endif
