/* int8 and uint8 as vectors of int16, and sums of products of int16 pairs in int32. Include after
 * lanes.h.
 *
 * Both dtypes share the code: bytes are extended by their sign, and `low`, which is byte_mask of
 * the dtype, removes the sign of uint8. */
#ifndef DF_LANES_BYTES_H
#define DF_LANES_BYTES_H

#include "base/dtype.h"
#include "simd/lanes.h"

#define PAIR_LANES (DF_VEC_BYTES / 4) /* pairs in a vector */
#define WIDE_LANES (DF_VEC_BYTES / 2) /* int16 in a vector */

DF_INLINE int16_t byte_mask(df_dtype dtype) { return dtype == DF_I8 ? -1 : 0xff; }

DF_INLINE int16_t byte_at(int16_t low, const uint8_t *x, int64_t i)
{
    return (int16_t)((int8_t)x[i] & low);
}

/* Loads WIDE_LANES bytes. */
DF_INLINE v_i16 widen_bytes(int16_t low, const uint8_t *x)
{
    v_i16 y;
#if defined(__AVX512BW__)
    y = (v_i16)_mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)x));
#elif defined(__AVX2__)
    y = (v_i16)_mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)x));
#elif defined(DF_X86)
    const __m128i bytes = _mm_loadl_epi64((const __m128i *)x);
    y = (v_i16)_mm_srai_epi16(_mm_unpacklo_epi8(bytes, bytes), 8);
#else
    for (int i = 0; i < WIDE_LANES; i++) y[i] = (int8_t)x[i];
#endif
    return y & splat_i16(low);
}

/* Loads PAIR_LANES bytes of each operand; lane i is the pair (even[i], odd[i]). */
DF_INLINE v_i32 pair_bytes(int16_t low, const uint8_t *even, const uint8_t *odd)
{
    v_i16 y;
#if defined(__AVX512BW__)
    const __m128i a = _mm_loadu_si128((const __m128i *)even);
    const __m128i b = _mm_loadu_si128((const __m128i *)odd);
    y = (v_i16)_mm512_cvtepi8_epi16(
        _mm256_set_m128i(_mm_unpackhi_epi8(a, b), _mm_unpacklo_epi8(a, b)));
#elif defined(__AVX2__)
    y = (v_i16)_mm256_cvtepi8_epi16(_mm_unpacklo_epi8(_mm_loadl_epi64((const __m128i *)even),
                                                      _mm_loadl_epi64((const __m128i *)odd)));
#elif defined(DF_X86)
    int32_t a, b;
    memcpy(&a, even, sizeof a);
    memcpy(&b, odd, sizeof b);
    const __m128i bytes = _mm_unpacklo_epi8(_mm_cvtsi32_si128(a), _mm_cvtsi32_si128(b));
    y = (v_i16)_mm_srai_epi16(_mm_unpacklo_epi8(bytes, bytes), 8);
#else
    for (int i = 0; i < PAIR_LANES; i++) {
        y[2 * i] = (int8_t)even[i];
        y[2 * i + 1] = (int8_t)odd[i];
    }
#endif
    return (v_i32)(y & splat_i16(low));
}

/* Loads the first n lanes only, the others are zero. Not inlined, which would enlarge the code. */
DF_NOINLINE v_i16 widen_bytes_n(int16_t low, const uint8_t *x, int64_t n)
{
    uint8_t all[WIDE_LANES] = {0};
    memcpy(all, x, (size_t)n);
    return widen_bytes(low, all);
}

DF_NOINLINE v_i32 pair_bytes_n(int16_t low, const uint8_t *even, const uint8_t *odd, int64_t n)
{
    uint8_t all[2][PAIR_LANES] = {{0}};
    memcpy(all[0], even, (size_t)n);
    memcpy(all[1], odd, (size_t)n);
    return pair_bytes(low, all[0], all[1]);
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
