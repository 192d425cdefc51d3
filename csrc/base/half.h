/* Conversion of float16 and bfloat16 to float32, and back with one rounding to nearest, ties to
 * even. Done with integer arithmetic on the bits, so that every machine and SIMD level agrees.
 * Selects instead of branches, so that loops vectorise. */
#ifndef DF_HALF_H
#define DF_HALF_H

#include "base/dtype.h"
#include <math.h>
#include <string.h>

#define DF_HALF_INLINE static inline __attribute__((always_inline, unused))

DF_HALF_INLINE uint32_t df_float_bits(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, 4);
    return bits;
}

DF_HALF_INLINE float df_float_of(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, 4);
    return f;
}

/* IEEE binary16. Source: IEEE 754-2008, 3.4; NaNs become quiet. */
DF_HALF_INLINE float df_f16_to_f32(uint16_t h)
{
    uint32_t rest = h & 0x7fff, bits = df_float_bits(df_float_of(rest << 13) * 0x1p112f);
    bits = rest >= 0x7c00 ? bits | 0x7f800000 : bits;
    bits = rest > 0x7c00 ? bits | 0x400000 : bits;
    return df_float_of(bits | (uint32_t)(h & 0x8000) << 16);
}

DF_HALF_INLINE uint16_t df_f32_to_f16(float f)
{
    uint32_t bits = df_float_bits(f), sign = bits >> 16 & 0x8000;
    bits &= 0x7fffffff;
    uint32_t normal = (bits + 0xfff + (bits >> 13 & 1) - 0x38000000) >> 13;
    /* rounded to 2^-24 */
    uint32_t subnormal = df_float_bits(df_float_of(bits) + 0.5f) - 0x3f000000;
    uint32_t h = bits < 0x38800000 ? subnormal : normal;
    h = bits >= 0x477ff000 ? 0x7c00 : h; /* 65520 and above round to inf */
    h = bits > 0x7f800000 ? 0x7e00 | (bits >> 13 & 0x3ff) : h;
    return (uint16_t)(sign | h);
}

DF_HALF_INLINE float df_bf16_to_f32(uint16_t h) { return df_float_of((uint32_t)h << 16); }

DF_HALF_INLINE uint16_t df_f32_to_bf16(float f)
{
    uint32_t bits = df_float_bits(f);
    uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? bits >> 16 | 0x40 : rounded);
}

DF_HALF_INLINE float df_half_to_f32(uint16_t h, df_dtype half)
{
    return half == DF_F16 ? df_f16_to_f32(h) : df_bf16_to_f32(h);
}

/* Rounds to odd: a float between x and its neighbour towards zero, odd unless it equals x. Rounding
 * the result to fewer digits rounds x correctly (Boldo and Melquiond 2008). */
DF_HALF_INLINE float df_f64_to_odd_f32(double x)
{
    float f = (float)x;
    double back = (double)f;
    uint32_t bits = df_float_bits(f), beyond = fabs(back) > fabs(x), inexact = back != x;
    return df_float_of((bits - beyond) | inexact);
}

DF_HALF_INLINE uint16_t df_f64_to_half(double x, df_dtype half)
{
    const float f = df_f64_to_odd_f32(x);
    return half == DF_F16 ? df_f32_to_f16(f) : df_f32_to_bf16(f);
}

#endif
