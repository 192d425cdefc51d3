/* Sorting of uint32 by vectors of 16, AVX-512 only: quicksort with compress instructions, down to
 * blocks that are sorted as the 16 columns of a square, by the network of sort_network_formulas.h,
 * and merged. Equal elements are indistinguishable, so the result does not depend on the method. */

#include "simd/intrinsics.h"

enum { SQUARE = 16, VECTOR_BLOCK = SQUARE * SQUARE };

/* Orders lanes i and i ^ d of each vector, which splits a bitonic run into two halves. */
DF_INLINE __m512i exchange_lanes(__m512i v, int d)
{
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i other = _mm512_permutexvar_epi32(_mm512_xor_epi32(lane, _mm512_set1_epi32(d)), v);
    const __mmask16 upper = _mm512_test_epi32_mask(lane, _mm512_set1_epi32(d));
    return _mm512_mask_max_epu32(_mm512_min_epu32(v, other), upper, v, other);
}

/* Sorts a bitonic vector: lanes i and i ^ 8, 4, 2, 1. */
DF_INLINE __m512i sort_bitonic(__m512i v)
{
    return exchange_lanes(exchange_lanes(exchange_lanes(exchange_lanes(v, 8), 4), 2), 1);
}

DF_INLINE __m512i reversed(__m512i v)
{
    const __m512i order = _mm512_setr_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    return _mm512_permutexvar_epi32(order, v);
}

/* Merges the sorted runs a[0..n) and a[n..2n) in place; n is a power of 2. */
DF_INLINE void merge_runs(__m512i *a, int n)
{
    __m512i high[SQUARE / 2];
#pragma GCC unroll 8
    for (int i = 0; i < n; i++) {
        const __m512i b = reversed(a[2 * n - 1 - i]);
        high[i] = _mm512_max_epu32(a[i], b);
        a[i] = _mm512_min_epu32(a[i], b);
    }
#pragma GCC unroll 8
    for (int i = 0; i < n; i++) a[n + i] = high[i];
#pragma GCC unroll 8
    for (int d = n / 2; d > 0; d /= 2)
#pragma GCC unroll 16
        for (int i = 0; i < 2 * n; i++) {
            if (i & d) continue;
            const __m512i low = _mm512_min_epu32(a[i], a[i + d]);
            a[i + d] = _mm512_max_epu32(a[i], a[i + d]);
            a[i] = low;
        }
#pragma GCC unroll 16
    for (int i = 0; i < 2 * n; i++) a[i] = sort_bitonic(a[i]);
}

DF_INLINE void transpose_square(__m512i *a)
{
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
#pragma GCC unroll 4
    for (int d = 1; d < SQUARE; d *= 2) {
        const __mmask16 upper = _mm512_test_epi32_mask(lane, _mm512_set1_epi32(d));
        const __m512i down = _mm512_sub_epi32(lane, _mm512_set1_epi32(d));
        const __m512i up = _mm512_add_epi32(lane, _mm512_set1_epi32(d));
#pragma GCC unroll 16
        for (int i = 0; i < SQUARE; i++) {
            if (i & d) continue;
            const __m512i x = a[i], y = a[i + d];
            a[i] = _mm512_mask_permutexvar_epi32(x, upper, down, y);
            a[i + d] = _mm512_mask_permutexvar_epi32(y, (__mmask16)~upper, up, x);
        }
    }
}

/* Sorts up to VECTOR_BLOCK / 2 elements as columns of 8, two per vector. */
static void sort_half_square(uint32_t *x, int64_t n)
{
    __m512i a[SQUARE];
    memset(a, 0xff, sizeof a);
    memcpy(a, x, (size_t)n * sizeof *x);
    network_narrow((uint32_t *)a, SQUARE / 2);
    transpose_square(a);
#pragma GCC unroll 8
    for (int i = 0; i < SQUARE / 2; i++)
        a[i] = sort_bitonic(_mm512_mask_mov_epi32(reversed(a[2 * i + 1]), 0x00ff, a[2 * i]));
    for (int i = 0; i < SQUARE / 2; i += 2) merge_runs(a + i, 1);
    for (int i = 0; i < SQUARE / 2; i += 4) merge_runs(a + i, 2);
    merge_runs(a, 4);
    memcpy(x, a, (size_t)n * sizeof *x);
}

/* Sorts up to VECTOR_BLOCK elements. */
static void sort_square(uint32_t *x, int64_t n)
{
    if (n <= VECTOR_BLOCK / 2) {
        sort_half_square(x, n);
        return;
    }
    __m512i a[SQUARE];
    memset(a, 0xff, sizeof a);
    memcpy(a, x, (size_t)n * sizeof *x);
    network_narrow((uint32_t *)a, SQUARE);
    transpose_square(a);
    for (int i = 0; i < SQUARE; i += 2) merge_runs(a + i, 1);
    for (int i = 0; i < SQUARE; i += 4) merge_runs(a + i, 2);
    for (int i = 0; i < SQUARE; i += 8) merge_runs(a + i, 4);
    merge_runs(a, 8);
    memcpy(x, a, (size_t)n * sizeof *x);
}

/* Moves elements below the pivot, or with `equal` up to the pivot, to the front; returns their
 * number. Writing in place is safe, as no more elements are written than were read. */
static int64_t partition(uint32_t *x, uint32_t *tmp, int64_t n, uint32_t pivot, bool equal)
{
    const __m512i p = _mm512_set1_epi32((int)pivot);
    int64_t low = 0, high = 0;
    for (int64_t i = 0; i < n; i += 16) {
        const __mmask16 valid = (__mmask16)(n - i < 16 ? (1u << (n - i)) - 1 : 0xffff);
        const __m512i v = _mm512_maskz_loadu_epi32(valid, x + i);
        const __mmask16 below = equal ? _mm512_mask_cmple_epu32_mask(valid, v, p)
                                      : _mm512_mask_cmplt_epu32_mask(valid, v, p);
        const __mmask16 above = valid & (__mmask16)~below;
        _mm512_mask_storeu_epi32(x + low, valid, _mm512_maskz_compress_epi32(below, v));
        _mm512_mask_storeu_epi32(tmp + high, valid, _mm512_maskz_compress_epi32(above, v));
        low += __builtin_popcount(below);
        high += __builtin_popcount(above);
    }
    memcpy(x + low, tmp, (size_t)high * sizeof *x);
    return low;
}

static uint32_t median_of_3(uint32_t a, uint32_t b, uint32_t c)
{
    const uint32_t least = df_min(a, b), most = df_max(a, b);
    return df_max(least, df_min(most, c));
}

static uint32_t choose_pivot(const uint32_t *x, int64_t n)
{
    uint32_t m[3];
    for (int i = 0; i < 3; i++) {
        const uint32_t *at = x + n / 16 + i * (n / 3);
        m[i] = median_of_3(at[0], at[n / 16], at[n / 8]);
    }
    return median_of_3(m[0], m[1], m[2]);
}

/* Sorts x, with n elements of scratch memory in `tmp`. Returns false, with x permuted, if n is
 * still large after `depth` partitions; another method is faster then. */
static bool sort_vectors(uint32_t *x, uint32_t *tmp, int64_t n, int depth)
{
    while (n > VECTOR_BLOCK) {
        if (depth-- == 0) return false;
        const uint32_t pivot = choose_pivot(x, n);
        int64_t low = partition(x, tmp, n, pivot, false);
        if (low == 0) { /* the pivot is the minimum: elements equal to it are done */
            low = partition(x, tmp, n, pivot, true);
        } else if (!sort_vectors(x, tmp, low, depth)) {
            return false;
        }
        x += low;
        n -= low;
    }
    sort_square(x, n);
    return true;
}
