/* Part of lanes.h, included once per dtype: functions of every dtype. */

DF_INLINE V FN(load)(const T *p)
{
    V v;
    memcpy(&v, p, sizeof v);
    return v;
}

DF_INLINE void FN(store)(T *p, V v) { memcpy(p, &v, sizeof v); }

DF_INLINE V FN(splat)(T x) { return x - (V){0}; }

/* -1 in the first n lanes. */
DF_INLINE M FN(first_lanes)(int64_t n)
{
    return (M){LANE_NUMBERS} < (__typeof__(((M){0})[0]))n - (M){0};
}

#if !defined(__AVX2__)
/* Parts of a vector of up to 4 lanes, through registers: a load of data that several stores wrote
 * waits for the cache. Not inlined, which would enlarge the code of every formula. */
DF_NOINLINE V FN(load_few)(const T *p, int64_t n)
{
    V v = {0};
#pragma GCC unroll 3
    for (int64_t i = 0; i < LANES - 1; i++)
        if (i < n) v[i] = p[i];
    return v;
}

DF_NOINLINE void FN(store_few)(T *p, V v, int64_t n)
{
#pragma GCC unroll 3
    for (int64_t i = 0; i < LANES - 1; i++)
        if (i < n) p[i] = v[i];
}
#endif

/* Loads the first n lanes, 0 <= n < LANES, the others are zero. Accesses [p, p + n) only.
 *
 * One lane is loaded as a scalar: a masked store cannot be forwarded to a load, which then waits
 * some 15 cycles for the cache, and a chain of scalar ops consists of such steps. */
DF_INLINE V FN(load_n)(const T *p, int64_t n)
{
#if defined(__AVX512BW__)
    if (n == 1) return (V){*p};
    uint64_t lanes = (UINT64_C(1) << n) - 1;
    if (sizeof(T) == 8) return (V)_mm512_maskz_loadu_epi64((__mmask8)lanes, p);
    if (sizeof(T) == 4) return (V)_mm512_maskz_loadu_epi32((__mmask16)lanes, p);
    if (sizeof(T) == 2) return (V)_mm512_maskz_loadu_epi16((__mmask32)lanes, p);
    return (V)_mm512_maskz_loadu_epi8(lanes, p);
#else
#if defined(__AVX2__)
    const __m256i lanes = (__m256i)FN(first_lanes)(n);
    if (sizeof(T) >= 4 && n == 1) return (V){*p};
    if (sizeof(T) == 8) return (V)_mm256_maskload_epi64((const long long *)p, lanes);
    if (sizeof(T) == 4) return (V)_mm256_maskload_epi32((const int *)p, lanes);
#else
    if (LANES <= 4) return FN(load_few)(p, n);
#endif
    V v = {0};
    memcpy(&v, p, (size_t)n * sizeof(T));
    return v;
#endif
}

DF_INLINE void FN(store_n)(T *p, V v, int64_t n)
{
#if defined(__AVX512BW__)
    uint64_t lanes = (UINT64_C(1) << n) - 1;
    if (n == 1)
        *p = v[0];
    else if (sizeof(T) == 8)
        _mm512_mask_storeu_epi64(p, (__mmask8)lanes, (__m512i)v);
    else if (sizeof(T) == 4)
        _mm512_mask_storeu_epi32(p, (__mmask16)lanes, (__m512i)v);
    else if (sizeof(T) == 2)
        _mm512_mask_storeu_epi16(p, (__mmask32)lanes, (__m512i)v);
    else
        _mm512_mask_storeu_epi8(p, lanes, (__m512i)v);
#else
#if defined(__AVX2__)
    const __m256i lanes = (__m256i)FN(first_lanes)(n);
    if (sizeof(T) >= 4 && n == 1) {
        *p = v[0];
        return;
    }
    if (sizeof(T) == 8) {
        _mm256_maskstore_epi64((long long *)p, lanes, (__m256i)v);
        return;
    }
    if (sizeof(T) == 4) {
        _mm256_maskstore_epi32((int *)p, lanes, (__m256i)v);
        return;
    }
#else
    if (LANES <= 4) {
        FN(store_few)(p, v, n);
        return;
    }
#endif
    memcpy(p, &v, (size_t)n * sizeof(T));
#endif
}

/* Loads or stores the first n lanes, 1 <= n <= LANES. */
DF_INLINE V FN(load_upto)(const T *p, int64_t n)
{
    return n == LANES ? FN(load)(p) : FN(load_n)(p, n);
}

DF_INLINE void FN(store_upto)(T *p, V v, int64_t n)
{
    if (n == LANES) FN(store)(p, v);
    else FN(store_n)(p, v, n);
}

/* a where mask is -1, b where it is 0. GCC and Clang compile it to the blend of the level. */
DF_INLINE V FN(select)(M mask, V a, V b) { return (V)((mask & (M)a) | (~mask & (M)b)); }

/* The bytes of a mask, 0 or 1. Below AVX-512, GCC 12 narrows one lane at a time; masks are narrowed
 * by the saturating instructions, with both halves of a vector, or a short vector twice. */
DF_INLINE B FN(mask_bytes)(M mask)
{
#if defined(DF_X86) && !defined(__AVX512BW__)
    __m128i low, high;
    B bytes;
    memcpy(&bytes, &mask, sizeof bytes);
    if (sizeof(T) == 1) return bytes & 1;
    memcpy(&low, &mask, sizeof low);
    memcpy(&high, (const char *)&mask + sizeof mask - sizeof high, sizeof high);
    if (sizeof(T) == 8) low = high = _mm_packs_epi32(low, high); /* each lane is two of 4 bytes */
    if (sizeof(T) >= 4) low = high = _mm_packs_epi32(low, high);
    low = _mm_packs_epi16(low, high);
    memcpy(&bytes, &low, sizeof bytes < sizeof low ? sizeof bytes : sizeof low);
    return bytes & 1;
#else
    return __builtin_convertvector(mask, B) & 1;
#endif
}

/* Bool bytes of the result of a comparison, and back: any nonzero byte is true. */
DF_INLINE void FN(store_mask)(uint8_t *p, M mask)
{
    const B bytes = FN(mask_bytes)(mask);
    memcpy(p, &bytes, sizeof bytes);
}

DF_INLINE void FN(store_mask_n)(uint8_t *p, M mask, int64_t n)
{
    const B bytes = FN(mask_bytes)(mask);
    memcpy(p, &bytes, (size_t)n);
}

/* Unsigned bytes, one per lane. GCC 12 widens by more than a factor of two one lane at a time. */
DF_INLINE M FN(load_bytes)(const uint8_t *p)
{
    B bytes;
    memcpy(&bytes, p, sizeof bytes);
#if defined(__AVX2__)
    __m256i x = {0};
    memcpy(&x, &bytes, sizeof bytes < sizeof x ? sizeof bytes : sizeof x);
    const __m128i low = _mm256_castsi256_si128(x);
#if defined(__AVX512BW__)
    if (sizeof(T) == 8) return (M)_mm512_cvtepu8_epi64(low);
    if (sizeof(T) == 4) return (M)_mm512_cvtepu8_epi32(low);
    if (sizeof(T) == 2) return (M)_mm512_cvtepu8_epi16(x);
#else
    if (sizeof(T) == 8) return (M)_mm256_cvtepu8_epi64(low);
    if (sizeof(T) == 4) return (M)_mm256_cvtepu8_epi32(low);
    if (sizeof(T) == 2) return (M)_mm256_cvtepu8_epi16(low);
#endif
#endif
    return __builtin_convertvector(bytes, M);
}

DF_INLINE M FN(load_bytes_n)(const uint8_t *p, int64_t n)
{
    uint8_t bytes[sizeof(B)] = {0};
    memcpy(bytes, p, (size_t)n);
    return FN(load_bytes)(bytes);
}

DF_INLINE M FN(load_mask)(const uint8_t *p) { return FN(load_bytes)(p) != 0; }
DF_INLINE M FN(load_mask_n)(const uint8_t *p, int64_t n) { return FN(load_bytes_n)(p, n) != 0; }

/* True if any lane of the result of a comparison is true. */
DF_INLINE bool FN(any)(M mask)
{
#if defined(__AVX512F__)
    return _mm512_test_epi64_mask((__m512i)mask, (__m512i)mask) != 0;
#elif defined(__AVX2__)
    return _mm256_movemask_epi8((__m256i)mask) != 0;
#else
    uint64_t words[2];
    memcpy(words, &mask, sizeof words);
    return (words[0] | words[1]) != 0;
#endif
}

/* Adds lane i + w to lane i for w = LANES/2, LANES/4, ..., 1: a fixed order. */
DF_INLINE T FN(sum)(V v)
{
    T a[DF_VEC_BYTES / sizeof(T)];
    memcpy(a, &v, sizeof v);
#pragma GCC unroll 8
    for (int64_t w = LANES / 2; w > 0; w /= 2)
#pragma GCC unroll 64
        for (int64_t i = 0; i < w; i++) a[i] = (T)(a[i] + a[i + w]);
    return a[0];
}
