/* Part of vmath.h: sin and cos, float32 and float64.
 *
 * x is reduced to r in [-pi/4, pi/4] by subtracting n pi/2, with pi/2 in several parts: accurate up
 * to TRIG_LIMIT. If a lane is beyond it, a slower form is accurate up to TRIG_MIDDLE. The rare
 * lanes beyond that are reduced one by one, with the digits of 2/pi that they need. */

#define TRIG_LIMIT_f32 1e5f
#define TRIG_LIMIT_f64 5e5
#define TWO_OVER_PI 0.63661977236758134

/* |x| = n pi/2 + r + rest. The first two parts of pi/2 have 33 bits, their products with n are
 * exact without a fused multiply-add (Cody and Waite; the constants are pi/2's own bits). */
DF_INLINE v_f64 trig_reduce_f64(v_f64 x, v_f64 *n, v_f64 *rest)
{
    *n = rint_f64(x * TWO_OVER_PI);
    v_f64 first = x - *n * 0x1.921fb544p0, step = *n * 0x1.0b4611a6p-34;
    v_f64 r = first - step;
    v_f64 low = (first - r) - step - *n * 0x1.3198a2e037073p-69;
    v_f64 sum = r + low;
    *rest = (r - sum) + low;
    return sum;
}

DF_INLINE v_f32 trig_reduce_f32(v_f32 x, v_f32 *n, v_f32 *rest)
{
#if defined(DF_HAVE_FMA)
    /* the first step is exact, as both terms are multiples of 2^-24 */
    *n = rint_f32(x * (float)TWO_OVER_PI);
    v_f32 first = fma_f32(*n, splat_f32(-0x1.921fb6p0f), x);
    v_f32 r = fma_f32(*n, splat_f32(0x1.777a5cp-25f), first);
    *rest = *n * 0x1.ee59dap-50f;
    return r;
#else
    df_wide w = widen(x), n_wide, unused;
    w.lo = trig_reduce_f64(w.lo, &n_wide.lo, &unused.lo);
    w.hi = trig_reduce_f64(w.hi, &n_wide.hi, &unused.hi);
    *n = narrow(n_wide);
    *rest = (v_f32){0};
    return narrow(w);
#endif
}

/* Same, with all of the rounding error of r in `rest`: seven more operations, which only tan
 * needs. */
DF_INLINE v_f64 trig_reduce_exact_f64(v_f64 x, v_f64 *n, v_f64 *rest)
{
    return trig_reduce_f64(x, n, rest);
}

DF_INLINE v_f32 trig_reduce_exact_f32(v_f32 x, v_f32 *n, v_f32 *rest)
{
#if defined(DF_HAVE_FMA)
    *n = rint_f32(x * (float)TWO_OVER_PI);
    v_f32 first = fma_f32(*n, splat_f32(-0x1.921fb6p0f), x);
    v_f32 second = *n * 0x1.777a5cp-25f;
    v_f32 low = fma_f32(*n, splat_f32(0x1.777a5cp-25f), -second);
    v_f32 r = first + second, from = r - first;
    v_f32 lost = (first - (r - from)) + (second - from);
    *rest = fma_f32(*n, splat_f32(0x1.ee59dap-50f), lost + low);
    return r;
#else
    df_wide w = widen(x), n_wide, unused;
    w.lo = trig_reduce_f64(w.lo, &n_wide.lo, &unused.lo);
    w.hi = trig_reduce_f64(w.hi, &n_wide.hi, &unused.hi);
    v_f32 r = narrow(w);
    df_wide rounded = widen(r);
    *n = narrow(n_wide);
    *rest = narrow((df_wide){w.lo - rounded.lo, w.hi - rounded.hi});
    return r;
#endif
}

/* Same for x up to TRIG_MIDDLE, with FMA: three parts of 53 bits. The first difference is exact, as
 * both terms are multiples of 2^-52. */
#if defined(DF_HAVE_FMA)
#define TRIG_MIDDLE 0x1p30
DF_INLINE v_f64 trig_reduce_middle_f64(v_f64 x, v_f64 *n, v_f64 *rest)
{
    const v_f64 second = splat_f64(0x1.1a62633145c07p-54);
    *n = rint_f64(x * TWO_OVER_PI);
    v_f64 first = fma_f64(*n, splat_f64(-0x1.921fb54442d18p0), x), step = -*n * second;
    v_f64 r = first + step, from = r - first;
    v_f64 lost = (first - (r - from)) + (step - from);
    v_f64 low = lost - fma_f64(*n, second, step) - *n * -0x1.f1976b7ed8fbcp-110;
    v_f64 sum = r + low;
    *rest = (r - sum) + low;
    return sum;
}

DF_INLINE v_f32 trig_reduce_middle_f32(v_f32 x, v_f32 *n, v_f32 *rest)
{
    df_wide w = widen(x), n_wide, rest_wide;
    w.lo = trig_reduce_middle_f64(w.lo, &n_wide.lo, &rest_wide.lo);
    w.hi = trig_reduce_middle_f64(w.hi, &n_wide.hi, &rest_wide.hi);
    n_wide.lo -= 4 * rint_f64(n_wide.lo * 0.25); /* the quadrant alone: n may have 30 bits */
    n_wide.hi -= 4 * rint_f64(n_wide.hi * 0.25);
    *n = narrow(n_wide);
    v_f32 r = narrow(w);
    df_wide rounded = widen(r);
    *rest = narrow((df_wide){w.lo - rounded.lo, w.hi - rounded.hi});
    return r;
}
#endif

/* 64 zeros, then the first 1216 binary digits of 2/pi. */
static const uint64_t two_over_pi[20] __attribute__((unused)) = {
    0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041,
    0xfe5163abdebbc561, 0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e,
    0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b,
    0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab,
};

/* x = (n + 4 k) pi/2 + r + rest with n in 0..4 and |r| <= pi/4, for finite x >= 2^16: Payne and
 * Hanek, Radian reduction for trigonometric functions (1983). x is an integer times a power of 2,
 * so digits of 2/pi far to the left contribute multiples of 4 to x 2/pi. The next 192 digits leave
 * an error of 2^-75 in r, relative to the least r of a float64. */
DF_NOINLINE int trig_reduce_far(double x, double *r, double *rest)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const uint64_t m = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52; /* x = m 2^e */
    const int e = (int)(bits >> 52) - 1075, first = e + 62; /* digit of weight 2 in x 2/pi */
    const uint64_t *t = two_over_pi + first / 64;
    const int shift = first % 64;
    uint64_t w[3];
    for (int i = 0; i < 3; i++) w[i] = t[i] << shift | (t[i + 1] >> 1) >> (63 - shift);
    /* m w without its highest digits, as high 2^128 + middle 2^64 + ...: the number 4 is 2^192 */
    unsigned __int128 sum = (unsigned __int128)m * w[2] >> 64;
    sum += (unsigned __int128)m * w[1];
    const uint64_t middle = (uint64_t)sum, high = m * w[0] + (uint64_t)(sum >> 64);
    /* The fraction in [-1/2, 1/2) as the sum of three numbers without rounding. */
    const uint64_t f = high << 2 | middle >> 62;
    const double a = (double)((int64_t)f >> 32) * 0x1p-32, b = (double)(f & UINT32_MAX) * 0x1p-64;
    const double c = (double)(middle << 2 >> 11) * 0x1p-117, bc = b + c, part = a + bc;
    const double lost = (a - part) + bc + ((b - bc) + c);
    /* times pi/2 */
    const double product = part * 0x1.921fb54442d18p0;
    const double low = fma(part, 0x1.921fb54442d18p0, -product) + part * 0x1.1a62633145c07p-54 +
                       lost * 0x1.921fb54442d18p0;
    *r = product + low;
    *rest = (product - *r) + low;
    return (int)(high >> 62) + (int)(f >> 63);
}

#define DTYPE f32
#include "simd/vmath_sincos.h"
#undef DTYPE
#define DTYPE f64
#include "simd/vmath_sincos.h"
#undef DTYPE
