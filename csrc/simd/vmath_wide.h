/* Part of vmath.h: float32 functions computed in float64 vectors, two for one. Their inner formulas
 * need only 2^-30, so they are short and ignore rounding. They rely on float32 values being neither
 * denormal in float64 nor overflowing when squared. */

#define DTYPE f64
#include "simd/vmath_short.h"
#undef DTYPE

DF_INLINE v_f32 through_f64(v_f64 (*f)(v_f64), v_f32 x)
{
    df_wide w = widen(x);
    return narrow((df_wide){f(w.lo), f(w.hi)});
}

DF_INLINE v_f32 asinh_f32(v_f32 x) { return through_f64(short_asinh_f64, x); }
DF_INLINE v_f32 acosh_f32(v_f32 x) { return through_f64(short_acosh_f64, x); }
DF_INLINE v_f32 atanh_f32(v_f32 x) { return through_f64(short_atanh_f64, x); }
