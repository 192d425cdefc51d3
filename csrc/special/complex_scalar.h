/* Functions of one complex number, in double precision, with the special values of C11, Annex G.
 * Compiled once for all SIMD levels. Callers of csrc/ops/elementwise use them for functions without
 * vector formulas, and for the numbers that a vector formula excludes. Independent of tensors. */
#ifndef DF_COMPLEX_SCALAR_H
#define DF_COMPLEX_SCALAR_H

#include <complex.h>
#include <stdint.h>
#undef complex /* macros of the C library; both words are names here */
#undef I

typedef double _Complex df_complex;
typedef df_complex (*df_complex_fn)(df_complex);

static inline df_complex df_complex_of(double re, double im)
{
    df_complex z;
    __real__ z = re;
    __imag__ z = im;
    return z;
}

/* out[i] = f(x[i]) for n pairs of parts. complex64 is computed in complex128 and rounded once. */
void df_complex_each_f32(df_complex_fn f, int64_t n, float *out, const float *x);
void df_complex_each_f64(df_complex_fn f, int64_t n, double *out, const double *x);

/* e^z - 1 and log(1 + z), without loss of digits near 0. */
df_complex df_complex_expm1(df_complex z);
df_complex df_complex_log1p(df_complex z);

/* 1 / (1 + e^-2w) where the real part of w is far from 0, or a part is not finite. */
df_complex df_complex_sigmoid_of_half(df_complex w);

/* x^y; as in NumPy, 1 if y is 0, and otherwise 0^y is 0 for real y > 0, and NaN. */
df_complex df_complex_power(df_complex x, df_complex y);

#endif
