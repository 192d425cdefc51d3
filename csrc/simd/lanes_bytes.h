/* int8 and uint8 as vectors of int16, and sums of products of int16 pairs in int32. Include after
 * lanes.h. `is_signed` is a constant at every call. */
#ifndef DF_LANES_BYTES_H
#define DF_LANES_BYTES_H

#include "simd/lanes.h"

#define PAIR_LANES (DF_VEC_BYTES / 4) /* pairs in a vector */
#define WIDE_LANES (DF_VEC_BYTES / 2) /* int16 in a vector */

DF_INLINE int32_t byte_at(const bool is_signed, const uint8_t *x, int64_t i)
{
    return is_signed ? (int8_t)x[i] : x[i];
}

#if defined(DF_X86) && !defined(__AVX2__)
DF_INLINE v_i16 widen_low_bytes(const bool is_signed, __m128i x)
{
    return (v_i16)(is_signed ? _mm_srai_epi16(_mm_unpacklo_epi8(x, x), 8)
                             : _mm_unpacklo_epi8(x, _mm_setzero_si128()));
}
#endif

/* Loads WIDE_LANES bytes. */
DF_INLINE v_i16 widen_bytes(const bool is_signed, const uint8_t *x)
{
#if defined(__AVX512BW__)
    const __m256i bytes = _mm256_loadu_si256((const __m256i *)x);
    return (v_i16)(is_signed ? _mm512_cvtepi8_epi16(bytes) : _mm512_cvtepu8_epi16(bytes));
#elif defined(__AVX2__)
    const __m128i bytes = _mm_loadu_si128((const __m128i *)x);
    return (v_i16)(is_signed ? _mm256_cvtepi8_epi16(bytes) : _mm256_cvtepu8_epi16(bytes));
#elif defined(DF_X86)
    return widen_low_bytes(is_signed, _mm_loadl_epi64((const __m128i *)x));
#else
    v_i16 y;
    for (int i = 0; i < WIDE_LANES; i++) y[i] = (int16_t)byte_at(is_signed, x, i);
    return y;
#endif
}

/* Loads PAIR_LANES bytes of each operand; lane i is the pair (even[i], odd[i]). */
DF_INLINE v_i32 pair_bytes(const bool is_signed, const uint8_t *even, const uint8_t *odd)
{
#if defined(__AVX512BW__)
    const __m128i a = _mm_loadu_si128((const __m128i *)even);
    const __m128i b = _mm_loadu_si128((const __m128i *)odd);
    const __m256i bytes = _mm256_set_m128i(_mm_unpackhi_epi8(a, b), _mm_unpacklo_epi8(a, b));
    return (v_i32)(is_signed ? _mm512_cvtepi8_epi16(bytes) : _mm512_cvtepu8_epi16(bytes));
#elif defined(__AVX2__)
    const __m128i bytes = _mm_unpacklo_epi8(_mm_loadl_epi64((const __m128i *)even),
                                            _mm_loadl_epi64((const __m128i *)odd));
    return (v_i32)(is_signed ? _mm256_cvtepi8_epi16(bytes) : _mm256_cvtepu8_epi16(bytes));
#elif defined(DF_X86)
    int32_t a, b;
    memcpy(&a, even, sizeof a);
    memcpy(&b, odd, sizeof b);
    return (v_i32)widen_low_bytes(is_signed,
                                  _mm_unpacklo_epi8(_mm_cvtsi32_si128(a), _mm_cvtsi32_si128(b)));
#else
    v_i16 y;
    for (int i = 0; i < PAIR_LANES; i++) {
        y[2 * i] = (int16_t)byte_at(is_signed, even, i);
        y[2 * i + 1] = (int16_t)byte_at(is_signed, odd, i);
    }
    return (v_i32)y;
#endif
}

/* Loads the first n lanes only, the others are zero. */
DF_INLINE v_i16 widen_bytes_n(const bool is_signed, const uint8_t *x, int64_t n)
{
    uint8_t all[WIDE_LANES] = {0};
    memcpy(all, x, (size_t)n);
    return widen_bytes(is_signed, all);
}

DF_INLINE v_i32 pair_bytes_n(const bool is_signed, const uint8_t *even, const uint8_t *odd,
                             int64_t n)
{
    uint8_t all[2][PAIR_LANES] = {{0}};
    memcpy(all[0], even, (size_t)n);
    memcpy(all[1], odd, (size_t)n);
    return pair_bytes(is_signed, all[0], all[1]);
}

/* A pair as one element. */
DF_INLINE int32_t pair_of(int32_t even, int32_t odd)
{
    return (int32_t)((uint32_t)even & 0xffff) | (int32_t)((uint32_t)odd << 16);
}

/* c plus the sum of the two products of each pair. Exact, except that sums wrap around. */
DF_INLINE v_i32 add_pairs(v_i32 a, v_i32 b, v_i32 c)
{
#if defined(__AVX512BW__)
    return c + (v_i32)_mm512_madd_epi16((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
    return c + (v_i32)_mm256_madd_epi16((__m256i)a, (__m256i)b);
#elif defined(DF_X86)
    return c + (v_i32)_mm_madd_epi16((__m128i)a, (__m128i)b);
#else
    return c + (a << 16 >> 16) * (b << 16 >> 16) + (a >> 16) * (b >> 16);
#endif
}

#endif
