/* Part of vmath.h: logarithms, float32 and float64. */

DF_INLINE v_f32 log1p_fraction_f32(v_f32 f, v_f32 k);
DF_INLINE v_f64 log1p_fraction_f64(v_f64 f, v_f64 k);

#define DTYPE f32
#include "simd/vmath_split.h"
#undef DTYPE
#define DTYPE f64
#include "simd/vmath_split.h"
#undef DTYPE

/* log(1 + f) + k ln2 for -1/4 <= f <= 1/2 and whole k. */
DF_INLINE v_f32 log1p_fraction_f32(v_f32 f, v_f32 k)
{
    const int n = sizeof log_poly_f32 / sizeof *log_poly_f32;
    v_f32 square = f * f;
    v_f32 tail = fma_f32(k, splat_f32(LN2_LO_f32), f * square * poly_f32(f, log_poly_f32, n));
    tail = fma_f32(square, splat_f32(-0.5f), tail);
    return fma_f32(k, splat_f32(LN2_HI_f32), f + tail);
}

/* With s = f / (2 + f): log(1 + f) = f - f^2/2 + s (f^2/2 + s^2 P(s^2)), so that the rounding of s
 * and of the polynomial affects only the small last term (as in fdlibm). */
DF_INLINE v_f64 log1p_fraction_f64(v_f64 f, v_f64 k)
{
    const int n = sizeof log_poly_f64 / sizeof *log_poly_f64;
    v_f64 s = f / (2 + f), z = s * s, half = 0.5 * f * f;
    v_f64 last = s * (half + z * poly_f64(z, log_poly_f64, n));
    v_f64 tail = half - (last + k * LN2_LO_f64);
    return k * LN2_HI_f64 - (tail - f);
}
