/* float16 and bfloat16 as float32 vectors, and back with one rounding. Bit-identical to
 * base/half.h; uses instructions of the level where they exist. Include after lanes.h. */
#ifndef DF_LANES_HALF_H
#define DF_LANES_HALF_H

#include "base/half.h"
#include "simd/lanes.h"

#define HALF_LANES (DF_VEC_BYTES / 4)

DF_INLINE v_f32 widen_bf16(const uint16_t *x)
{
#if defined(__AVX512BW__)
    const __m256i half = _mm256_loadu_si256((const __m256i *)x);
    return (v_f32)_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16);
#elif defined(__AVX2__)
    const __m128i half = _mm_loadu_si128((const __m128i *)x);
    return (v_f32)_mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 16);
#else
    float y[HALF_LANES];
    for (int i = 0; i < HALF_LANES; i++) y[i] = df_bf16_to_f32(x[i]);
    return load_f32(y);
#endif
}

DF_INLINE v_f32 widen_f16(const uint16_t *x)
{
#if defined(__AVX512BW__)
    return (v_f32)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)x));
#elif defined(__F16C__)
    return (v_f32)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)x));
#else
    float y[HALF_LANES];
    for (int i = 0; i < HALF_LANES; i++) y[i] = df_f16_to_f32(x[i]);
    return load_f32(y);
#endif
}

/* Loads the first n lanes, the others are zero. Accesses [x, x + n) only. */
DF_INLINE v_f32 widen_n_bf16(const uint16_t *x, int64_t n)
{
    uint16_t all[HALF_LANES] = {0};
    memcpy(all, x, (size_t)n * 2);
    return widen_bf16(all);
}

DF_INLINE v_f32 widen_n_f16(const uint16_t *x, int64_t n)
{
    uint16_t all[HALF_LANES] = {0};
    memcpy(all, x, (size_t)n * 2);
    return widen_f16(all);
}

#if defined(__AVX2__)
/* df_f32_to_bf16 of each lane. */
DF_INLINE void narrow_bf16(uint16_t *y, v_f32 x)
{
    const v_i32 bits = (v_i32)x, rounded = bits + 0x7fff + (bits >> 16 & 1);
    const v_i32 high = select_i32((m_i32)(x != x), bits | 0x400000, rounded) >> 16;
#if defined(__AVX512BW__)
    _mm256_storeu_si256((__m256i *)y, _mm512_cvtepi32_epi16((__m512i)high));
#else
    const __m256i packed = _mm256_packs_epi32((__m256i)high, (__m256i)high);
    const __m256i ordered = _mm256_permute4x64_epi64(packed, 8);
    _mm_storeu_si128((__m128i *)y, _mm256_castsi256_si128(ordered));
#endif
}
#endif

#if defined(__AVX2__) && !defined(__AVX512BW__)
/* narrow_bf16 of two vectors. Lanes are the high and the low 16 bits of each element: an average
 * with 0x7ffe or, if the high part is odd, 0x7fff, has the carry of the rounding as its top bit. */
DF_INLINE void narrow_two_bf16(uint16_t *y, v_f32 a, v_f32 b)
{
    const __m256i zero = _mm256_setzero_si256(), x = (__m256i)a, z = (__m256i)b;
    const v_u16 high = (v_u16)_mm256_packus_epi32(_mm256_srli_epi32(x, 16),
                                                  _mm256_srli_epi32(z, 16));
    const __m256i low = _mm256_packus_epi32(_mm256_blend_epi16(x, zero, 0xaa),
                                            _mm256_blend_epi16(z, zero, 0xaa));
    const v_u16 sum = (v_u16)_mm256_avg_epu16(low, (__m256i)((high & 1) + 0x7ffe));
    if (_mm256_movemask_ps(_mm256_cmp_ps((__m256)a, (__m256)b, _CMP_UNORD_Q))) {
        narrow_bf16(y, a);
        narrow_bf16(y + HALF_LANES, b);
        return;
    }
    _mm256_storeu_si256((__m256i *)y,
                        _mm256_permute4x64_epi64((__m256i)(high + (sum >> 15)), 0xd8));
}
#endif

/* Without instructions for a conversion, compilers vectorise the loops over elements. */
DF_INLINE void df_widen(df_dtype half, int64_t n, float *y, const uint16_t *x)
{
    int64_t i = 0;
    if (half == DF_BF16) {
#if defined(__AVX2__)
        for (; i + HALF_LANES <= n; i += HALF_LANES) store_f32(y + i, widen_bf16(x + i));
#endif
        for (; i < n; i++) y[i] = df_bf16_to_f32(x[i]);
        return;
    }
#if defined(__F16C__)
    for (; i + HALF_LANES <= n; i += HALF_LANES) store_f32(y + i, widen_f16(x + i));
#endif
    for (; i < n; i++) y[i] = df_f16_to_f32(x[i]);
}

DF_INLINE void df_narrow(df_dtype half, int64_t n, uint16_t *y, const float *x)
{
    int64_t i = 0;
    if (half == DF_BF16) {
#if defined(__AVX2__) && !defined(__AVX512BW__)
        for (; i + 2 * HALF_LANES <= n; i += 2 * HALF_LANES)
            narrow_two_bf16(y + i, load_f32(x + i), load_f32(x + i + HALF_LANES));
#endif
#if defined(__AVX2__)
        for (; i + HALF_LANES <= n; i += HALF_LANES) narrow_bf16(y + i, load_f32(x + i));
#endif
        for (; i < n; i++) y[i] = df_f32_to_bf16(x[i]);
        return;
    }
#if defined(__AVX512BW__)
    for (; i + 16 <= n; i += 16)
        _mm256_storeu_si256((__m256i *)(y + i), _mm512_cvtps_ph(_mm512_loadu_ps(x + i),
                                                                _MM_FROUND_TO_NEAREST_INT));
#elif defined(__F16C__)
    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((__m128i *)(y + i), _mm256_cvtps_ph(_mm256_loadu_ps(x + i),
                                                             _MM_FROUND_TO_NEAREST_INT));
#endif
    for (; i < n; i++) y[i] = df_f32_to_f16(x[i]);
}

#endif
