/* Functions of complex numbers that <complex.h> lacks. The imaginary part of the logarithms and of
 * the roots is discontinuous along the branch cuts; signed zeros select the side. */
#include "special/complex_scalar.h"
#include <math.h>
#include <stdbool.h>

void df_complex_each_f32(df_complex_fn f, int64_t n, float *out, const float *x)
{
    for (int64_t i = 0; i < n; i++) {
        const df_complex y = f(df_complex_of(x[2 * i], x[2 * i + 1]));
        out[2 * i] = (float)creal(y);
        out[2 * i + 1] = (float)cimag(y);
    }
}

void df_complex_each_f64(df_complex_fn f, int64_t n, double *out, const double *x)
{
    for (int64_t i = 0; i < n; i++) {
        const df_complex y = f(df_complex_of(x[2 * i], x[2 * i + 1]));
        out[2 * i] = creal(y);
        out[2 * i + 1] = cimag(y);
    }
}

static bool is_finite(df_complex z) { return isfinite(creal(z)) && isfinite(cimag(z)); }

/* The real part is expm1(x) cos(y) - (1 - cos(y)). */
df_complex df_complex_expm1(df_complex z)
{
    const double x = creal(z), y = cimag(z), s = sin(0.5 * y);
    if (!is_finite(z) || x > 700) {
        const df_complex e = cexp(z);
        return df_complex_of(creal(e) - 1, cimag(e));
    }
    return df_complex_of(expm1(x) * cos(y) - 2 * s * s, exp(x) * sin(y));
}

/* |1 + z|^2 = 1 + x (2 + x) + y^2 */
df_complex df_complex_log1p(df_complex z)
{
    const double x = creal(z), y = cimag(z);
    if (!(fabs(x) < 0.5 && fabs(y) < 0.5)) return clog(df_complex_of(1 + x, y));
    return df_complex_of(0.5 * log1p(x * (2 + x) + y * y), atan2(y, 1 + x));
}

df_complex df_complex_sigmoid_of_half(df_complex w)
{
    const df_complex z = df_complex_of(2 * creal(w), 2 * cimag(w));
    const double x = creal(z), y = cimag(z), s = isfinite(y) ? sin(y) : 0;
    if (x > 0 && (isinf(x) || isfinite(y))) return df_complex_of(1, exp(-x) * s);
    if (x < 0 && (isinf(x) || isfinite(y))) return cexp(z);
    return df_complex_of((double)NAN, y == 0 ? y : (double)NAN);
}

df_complex df_complex_power(df_complex x, df_complex y)
{
    const double a = creal(y), b = cimag(y);
    if (a == 0 && b == 0) return df_complex_of(1, 0);
    if (creal(x) == 0 && cimag(x) == 0) {
        const double zero = a > 0 && b == 0 ? 0 : (double)NAN;
        return df_complex_of(zero, zero);
    }
    if (b == 0 && a == 0.5) return csqrt(x);
    return cpow(x, y);
}
