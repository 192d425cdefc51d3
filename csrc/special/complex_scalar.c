/* Functions of complex numbers that <complex.h> lacks. Logarithms and roots are discontinuous along
 * their branch cuts; signed zeros select the side. */
#include "special/complex_scalar.h"
#include <math.h>
#include <string.h>

#define POWER_MAX 64   /* the largest integer exponent whose powers are products */
#define SIGMOID_FAR 40 /* e^-x is negligible beside 1 */

static df_complex complex_of(double re, double im)
{
    df_complex z;
    __real__ z = re;
    __imag__ z = im;
    return z;
}

static df_complex get_number(const void *x, bool wide, int64_t i)
{
    const double *d = x;
    const float *f = x;
    return wide ? complex_of(d[2 * i], d[2 * i + 1]) : complex_of(f[2 * i], f[2 * i + 1]);
}

static void set_number(void *to, bool wide, int64_t i, df_complex z)
{
    double *d = to;
    float *f = to;
    if (wide) d[2 * i] = creal(z), d[2 * i + 1] = cimag(z);
    else f[2 * i] = (float)creal(z), f[2 * i + 1] = (float)cimag(z);
}

static bool is_finite(df_complex z) { return isfinite(creal(z)) && isfinite(cimag(z)); }

void df_complex_each(df_complex_fn f, bool wide, int64_t n, void *out, const void *x)
{
    for (int64_t i = 0; i < n; i++) set_number(out, wide, i, f(get_number(x, wide, i)));
}

void df_complex_replace(df_complex_fn f, bool wide, int64_t n, void *out, const void *re,
                        const void *im, const void *rare)
{
    for (int64_t i = 0; i < n; i++) {
        if (wide ? !((const int64_t *)rare)[i] : !((const int32_t *)rare)[i]) continue;
        const df_complex z = wide
            ? complex_of(((const double *)re)[i], ((const double *)im)[i])
            : complex_of(((const float *)re)[i], ((const float *)im)[i]);
        set_number(out, wide, i, f(z));
    }
}

/* As in NumPy, x^0 is 1, and 0^y is 0 for real y > 0, otherwise NaN. */
static df_complex power(df_complex x, df_complex y)
{
    const double a = creal(y), b = cimag(y);
    if (a == 0 && b == 0) return complex_of(1, 0);
    if (creal(x) == 0 && cimag(x) == 0) {
        const double zero = a > 0 && b == 0 ? 0 : (double)NAN;
        return complex_of(zero, zero);
    }
    if (b == 0 && a == 0.5) return csqrt(x);
    return cpow(x, y);
}

void df_complex_pow(bool wide, int64_t n, void *out, const void *x, const void *y,
                    void (*products)(int64_t n, void *out, const void *x, int k))
{
    double result[2 * DF_COMPLEX_PIECE];
    const int64_t size = wide ? 16 : 8;
    for (int64_t i = 0, m; i < n; i += m) {
        const char *base = (const char *)x + i * size, *exponent = (const char *)y + i * size;
        const df_complex e = get_number(exponent, wide, 0);
        const double a = creal(e);
        const int k = cimag(e) == 0 && fabs(a) <= POWER_MAX && a == floor(a) ? (int)a : 0;
        const int64_t most = k ? df_min(n - i, DF_COMPLEX_PIECE) : 1;
        m = memcmp(exponent, exponent + size, (size_t)((most - 1) * size)) ? 1 : most;
        if (k) products(m, result, base, k);
        for (int64_t j = 0; j < m && k <= 0; j++)
            if (k == 0 || !is_finite(get_number(result, wide, j)))
                set_number(result, wide, j, power(get_number(base, wide, j), e));
        memcpy((char *)out + i * size, result, (size_t)(m * size));
    }
}

/* The real part is expm1(x) cos(y) - (1 - cos(y)). */
df_complex df_complex_expm1(df_complex z)
{
    const double x = creal(z), y = cimag(z), s = sin(0.5 * y);
    if (!is_finite(z) || x > 700) {
        const df_complex e = cexp(z);
        return complex_of(creal(e) - 1, cimag(e));
    }
    return complex_of(expm1(x) * cos(y) - 2 * s * s, exp(x) * sin(y));
}

/* |1 + z|^2 = 1 + x (2 + x) + y^2 */
df_complex df_complex_log1p(df_complex z)
{
    const double x = creal(z), y = cimag(z);
    if (!(fabs(x) < 0.5 && fabs(y) < 0.5)) return clog(complex_of(1 + x, y));
    return complex_of(0.5 * log1p(x * (2 + x) + y * y), atan2(y, 1 + x));
}

/* With w = z / 2: e^w conj(cosh(w)) / (2 |cosh(w)|^2), |cosh(w)|^2 = sinh(re)^2 + cos(im)^2. */
df_complex df_complex_sigmoid(df_complex z)
{
    const double x = creal(z), y = cimag(z);
    if (isinf(x) || (fabs(x) > SIGMOID_FAR && isfinite(y)))
        return x < 0 ? cexp(z) : complex_of(1, isfinite(y) ? exp(-x) * sin(y) : 0);
    if (!is_finite(z)) return complex_of((double)NAN, y == 0 ? y : (double)NAN);
    const double s = sinh(0.5 * x), c = cos(0.5 * y), divisor = 2 * (s * s + c * c);
    return complex_of((exp(0.5 * x) * s + c * c) / divisor, sin(0.5 * y) * c / divisor);
}
