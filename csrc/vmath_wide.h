/* Part of vmath.h: float32 functions computed in float64 vectors, two for one. Their inner
 * formulas need 2^-30 only, so they are short and careless about rounding; what they may rely on
 * is that no float32 is denormal, and no square or quotient of two overflows, in float64. */

typedef struct {
    v_f64 lo, hi;
} df_wide;

typedef float h_f32 __attribute__((vector_size(DF_VEC_BYTES / 2)));

DF_INLINE df_wide widen(v_f32 x)
{
    h_f32 half[2];
    memcpy(half, &x, sizeof x);
    return (df_wide){__builtin_convertvector(half[0], v_f64),
                     __builtin_convertvector(half[1], v_f64)};
}

DF_INLINE v_f32 narrow(df_wide x)
{
    h_f32 half[2] = {__builtin_convertvector(x.lo, h_f32), __builtin_convertvector(x.hi, h_f32)};
    v_f32 y;
    memcpy(&y, half, sizeof y);
    return y;
}

#define DTYPE f64
#include "vmath_short.h"
#undef DTYPE

DF_INLINE v_f32 pow_f32(v_f32 x, v_f32 y)
{
    df_wide a = widen(x), b = widen(y);
    return narrow((df_wide){short_pow_f64(a.lo, b.lo), short_pow_f64(a.hi, b.hi)});
}
DF_INLINE v_f64 pow_f64(v_f64 x, v_f64 y) { return by_lane2_f64(pow, x, y); }
