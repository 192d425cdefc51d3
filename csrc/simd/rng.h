/* Philox4x32-10, the counter-based generator of Salmon, Moraes, Dror and Shaw, "Parallel random
 * numbers: as easy as 1, 2, 3", SC 2011: 128 random bits per (64-bit key, 128-bit counter).
 *
 * Words come in groups of 8 counters, 32 words: first words 0 and 1 of each counter, then words 2
 * and 3. The order is the same at every SIMD level. Independent of tensors and distributions. */
#ifndef DF_RNG_H
#define DF_RNG_H

#include "simd/simd.h"

#if defined(__x86_64__)
#include "simd/intrinsics.h"
#endif

#define PHILOX_COUNTERS 8 /* per group */
#define PHILOX_WORDS 32   /* per group */
#define PHILOX_ROUNDS 10

/* Product of the low 32 bits of each lane. */
DF_INLINE v_u64 mul_low_words(v_u64 a, v_u64 b)
{
#if defined(__AVX512F__)
    return (v_u64)_mm512_mul_epu32((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
    return (v_u64)_mm256_mul_epu32((__m256i)a, (__m256i)b);
#elif defined(__x86_64__)
    return (v_u64)_mm_mul_epu32((__m128i)a, (__m128i)b);
#else
    return (a & 0xffffffff) * (b & 0xffffffff);
#endif
}

/* The block of counter `first` + lane. Each word of the state is the low half of a lane; the high
 * half is ignored, so a whole product may be used in place of its low word. */
DF_INLINE void philox_lanes(uint64_t key, v_u64 counter, v_u64 *words01, v_u64 *words23)
{
    const v_u64 zero = {0};
    v_u64 c0 = counter, c1 = counter >> 32, c2 = zero, c3 = zero;
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
#pragma GCC unroll 10
    for (int round = 0; round < PHILOX_ROUNDS; round++) {
        v_u64 p0 = mul_low_words(c0, zero + 0xD2511F53u);
        v_u64 p1 = mul_low_words(c2, zero + 0xCD9E8D57u);
        c0 = (p1 >> 32) ^ c1 ^ k0;
        c2 = (p0 >> 32) ^ c3 ^ k1;
        c1 = p1;
        c3 = p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    *words01 = (c0 & 0xffffffff) | c1 << 32;
    *words23 = (c2 & 0xffffffff) | c3 << 32;
}

/* One block. A nonzero `high`, the upper half of the counter, is distinct from all lane blocks. */
static inline void philox_block(uint64_t key, uint64_t low, uint64_t high, uint64_t words[2])
{
    uint32_t c0 = (uint32_t)low, c1 = (uint32_t)(low >> 32);
    uint32_t c2 = (uint32_t)high, c3 = (uint32_t)(high >> 32);
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int round = 0; round < PHILOX_ROUNDS; round++) {
        uint64_t p0 = (uint64_t)c0 * 0xD2511F53u, p1 = (uint64_t)c2 * 0xCD9E8D57u;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    words[0] = c0 | (uint64_t)c1 << 32;
    words[1] = c2 | (uint64_t)c3 << 32;
}

/* Writes `n_groups` groups of words, for the counters from `counter` on. */
static inline void philox_fill(uint64_t key, uint64_t counter, int64_t n_groups, uint64_t *out)
{
    enum { LANES_U64 = DF_VEC_BYTES / 8 };
    v_u64 lane;
    for (int i = 0; i < LANES_U64; i++) lane[i] = (uint64_t)i;
    for (int64_t g = 0; g < n_groups; g++, out += PHILOX_WORDS / 2, counter += PHILOX_COUNTERS) {
        for (int i = 0; i < PHILOX_COUNTERS; i += LANES_U64) {
            v_u64 a, b;
            philox_lanes(key, lane + (counter + (uint64_t)i), &a, &b);
            memcpy(out + i, &a, sizeof a);
            memcpy(out + PHILOX_COUNTERS + i, &b, sizeof b);
        }
    }
}

/* Derives the stream of a pair of words, which may be as similar as successive values of a counter:
 * the block with one word as key and the other as counter yields the key and first counter of the
 * stream. So two streams of one seed never have the same start, and two streams overlap no more
 * often than independent ones. */
static inline void philox_stream(uint64_t seed, uint64_t number, uint64_t *key, uint64_t *counter)
{
    v_u64 words01, words23;
    philox_lanes(seed, (v_u64){0} + number, &words01, &words23);
    *key = words01[0];
    *counter = words23[0];
}

#endif
