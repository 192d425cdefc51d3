/* Included once per dtype: turns a formula over vectors into a loop over n elements. The formula is
 * a constant argument of an always-inlined function, so each loop is compiled for its formula. */

DF_INLINE void FN(map1)(int64_t n, T *out, const T *x, V (*f)(V))
{
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) FN(store)(out + i, f(FN(load)(x + i)));
    if (i < n) FN(store_n)(out + i, f(FN(load_n)(x + i, n - i)), n - i);
}

DF_INLINE void FN(map2)(int64_t n, T *out, const T *a, const T *b, V (*f)(V, V))
{
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) FN(store)(out + i, f(FN(load)(a + i), FN(load)(b + i)));
    if (i < n)
        FN(store_n)(out + i, f(FN(load_n)(a + i, n - i), FN(load_n)(b + i, n - i)), n - i);
}

/* Same, with one operand that is a single element. */
DF_INLINE void FN(map2_one0)(int64_t n, T *out, const T *a, const T *b, V (*f)(V, V))
{
    const V one = FN(splat)(*a);
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) FN(store)(out + i, f(one, FN(load)(b + i)));
    if (i < n) FN(store_n)(out + i, f(one, FN(load_n)(b + i, n - i)), n - i);
}

DF_INLINE void FN(map2_one1)(int64_t n, T *out, const T *a, const T *b, V (*f)(V, V))
{
    const V one = FN(splat)(*b);
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) FN(store)(out + i, f(FN(load)(a + i), one));
    if (i < n) FN(store_n)(out + i, f(FN(load_n)(a + i, n - i), one), n - i);
}

DF_INLINE void FN(map3)(int64_t n, T *out, const T *a, const T *b, const T *c, V (*f)(V, V, V))
{
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        FN(store)(out + i, f(FN(load)(a + i), FN(load)(b + i), FN(load)(c + i)));
    if (i < n)
        FN(store_n)(out + i, f(FN(load_n)(a + i, n - i), FN(load_n)(b + i, n - i),
                               FN(load_n)(c + i, n - i)), n - i);
}

DF_INLINE void FN(map4)(int64_t n, T *out, const T *a, const T *b, const T *c, const T *d,
                        V (*f)(V, V, V, V))
{
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        FN(store)(out + i, f(FN(load)(a + i), FN(load)(b + i), FN(load)(c + i), FN(load)(d + i)));
    if (i < n)
        FN(store_n)(out + i, f(FN(load_n)(a + i, n - i), FN(load_n)(b + i, n - i),
                               FN(load_n)(c + i, n - i), FN(load_n)(d + i, n - i)), n - i);
}

/* Same, with one attribute broadcast to all lanes. */
DF_INLINE void FN(map1_with)(int64_t n, T *out, const T *x, V s, V (*f)(V, V))
{
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) FN(store)(out + i, f(FN(load)(x + i), s));
    if (i < n) FN(store_n)(out + i, f(FN(load_n)(x + i, n - i), s), n - i);
}

DF_INLINE void FN(map2_with)(int64_t n, T *out, const T *a, const T *b, V s, V (*f)(V, V, V))
{
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) FN(store)(out + i, f(FN(load)(a + i), FN(load)(b + i), s));
    if (i < n)
        FN(store_n)(out + i, f(FN(load_n)(a + i, n - i), FN(load_n)(b + i, n - i), s), n - i);
}

/* Formulas whose result is a mask; writes bool bytes. */
DF_INLINE void FN(test1)(int64_t n, uint8_t *out, const T *x, M (*f)(V))
{
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) FN(store_mask)(out + i, f(FN(load)(x + i)));
    if (i < n) FN(store_mask_n)(out + i, f(FN(load_n)(x + i, n - i)), n - i);
}

DF_INLINE void FN(test2)(int64_t n, uint8_t *out, const T *a, const T *b, M (*f)(V, V))
{
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        FN(store_mask)(out + i, f(FN(load)(a + i), FN(load)(b + i)));
    if (i < n)
        FN(store_mask_n)(out + i, f(FN(load_n)(a + i, n - i), FN(load_n)(b + i, n - i)), n - i);
}

/* A formula whose first operand is a mask of bool bytes. */
DF_INLINE void FN(choice)(int64_t n, T *out, const uint8_t *mask, const T *a, const T *b,
                          V (*f)(M, V, V))
{
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        FN(store)(out + i, f(FN(load_mask)(mask + i), FN(load)(a + i), FN(load)(b + i)));
    if (i < n)
        FN(store_n)(out + i, f(FN(load_mask_n)(mask + i, n - i), FN(load_n)(a + i, n - i),
                               FN(load_n)(b + i, n - i)), n - i);
}

#if !DTYPE_FLOAT
/* Avoids a comparison that is always false for an unsigned T. */
DF_INLINE bool FN(is_negative)(T x)
{
    const int64_t wide = (int64_t)x;
    return (T)-1 < (T)1 && wide < 0;
}
DF_INLINE bool FN(is_minus_one)(T x)
{
    const int64_t wide = (int64_t)x;
    return (T)-1 < (T)1 && wide == -1;
}

/* Index of the first element that passes the test, or -1. Blocks have no early exit, so that their
 * loops vectorise. */
DF_INLINE int64_t FN(first1)(int64_t n, const T *x, bool (*test)(T))
{
    for (int64_t begin = 0; begin < n; begin += 1024) {
        const int64_t end = df_min(begin + 1024, n);
        T found = 0;
        for (int64_t i = begin; i < end; i++) found = (T)(found | (T)test(x[i]));
        for (int64_t i = begin; found && i < end; i++)
            if (test(x[i])) return i;
    }
    return -1;
}
#endif

/* Applies a formula lane by lane, where vectors do not help (integer division). */
DF_INLINE V FN(lanewise2)(V a, V b, T (*f)(T, T))
{
    T x[DF_VEC_BYTES / sizeof(T)], y[DF_VEC_BYTES / sizeof(T)];
    memcpy(x, &a, sizeof a);
    memcpy(y, &b, sizeof b);
    for (int64_t i = 0; i < LANES; i++) x[i] = f(x[i], y[i]);
    memcpy(&a, x, sizeof a);
    return a;
}
