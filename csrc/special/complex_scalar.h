/* Functions of one complex number, in double precision, with the special values of C11, Annex G.
 * Compiled once for all SIMD levels. Callers of csrc/ops/elementwise use them for functions without
 * vector formulas, and for the numbers that a vector formula excludes. complex64 is computed in
 * complex128 and rounded once. Independent of tensors. */
#ifndef DF_COMPLEX_SCALAR_H
#define DF_COMPLEX_SCALAR_H

#include "base/status.h"
#include <complex.h>
#undef complex /* macros of the C library; both words are names here */
#undef I

typedef double _Complex df_complex;
typedef df_complex (*df_complex_fn)(df_complex);

/* Numbers whose parts callers separate on the stack. */
#define DF_COMPLEX_PIECE 256

/* out[i] = f(x[i]) of complex128 (`wide`) or complex64. */
void df_complex_each(df_complex_fn f, bool wide, int64_t n, void *out, const void *x);

/* out[i] = f(re[i] + i im[i]) where the mask rare[i], as wide as the parts, is not 0. */
void df_complex_replace(df_complex_fn f, bool wide, int64_t n, void *out, const void *re,
                        const void *im, const void *rare);

/* out[i] = x[i]^y[i]. `products` computes x^k of at most DF_COMPLEX_PIECE numbers for integers k
 * from -64 to 64 except 0. Scalar code computes the other powers, and reciprocals that are not
 * finite, because the product may have overflowed where the power underflows. */
void df_complex_pow(bool wide, int64_t n, void *out, const void *x, const void *y,
                    void (*products)(int64_t n, void *out, const void *x, int k));

/* e^z - 1 and log(1 + z), without loss of digits near 0. */
df_complex df_complex_expm1(df_complex z);
df_complex df_complex_log1p(df_complex z);

/* 1 / (1 + e^-z) */
df_complex df_complex_sigmoid(df_complex z);

#endif
