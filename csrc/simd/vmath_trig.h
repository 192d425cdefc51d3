/* Part of vmath.h: sin and cos, float32 and float64.
 *
 * x is reduced to r in [-pi/4, pi/4] by subtracting n pi/2, with pi/2 in several parts: accurate up
 * to TRIG_LIMIT. The rare lanes beyond it are computed by libm one by one. */

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

#define DTYPE f32
#include "simd/vmath_sincos.h"
#undef DTYPE
#define DTYPE f64
#include "simd/vmath_sincos.h"
#undef DTYPE
