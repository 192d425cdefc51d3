/* Conversion of numbers of one dtype to unsigned keys of the same order, and back. NaN becomes the
 * largest key in either direction, so it sorts last. Keys of up to 32 bits are uint32, others
 * uint64. */
#if DTYPE_FLOAT
typedef FN(b_unsigned) FN(key);

DF_INLINE FN(key) FN(to_key)(T x, bool descending)
{
    const FN(key) sign = (FN(key))1 << (8 * sizeof(T) - 1);
    FN(key) u;
    memcpy(&u, &x, sizeof u);
    u = u & sign ? ~u : u | sign;
    if (descending) u = ~u;
    return x != x ? ~(FN(key))0 : u;
}

DF_INLINE T FN(from_key)(FN(key) u, bool descending)
{
    const FN(key) sign = (FN(key))1 << (8 * sizeof(T) - 1);
    T x;
    if (descending) u = ~u;
    u = u & sign ? u ^ sign : ~u;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* Maps -0 to 0, for sorts in which equal numbers must keep their order. */
DF_INLINE T FN(plain_zero)(T x) { return x + 0; }
#else
typedef FN(b_unsigned) FN(key);

DF_INLINE FN(key) FN(to_key)(T x, bool descending)
{
    const FN(key) low = (FN(key))((T)-1 < (T)1 ? (FN(key))1 << (8 * sizeof(T) - 1) : 0);
    const FN(key) mask = ~(FN(key))0 >> (8 * (sizeof(FN(key)) - sizeof(T)));
    const FN(key) u = ((FN(key))x + low) & mask;
    return descending ? mask - u : u;
}

DF_INLINE T FN(from_key)(FN(key) u, bool descending)
{
    const FN(key) low = (FN(key))((T)-1 < (T)1 ? (FN(key))1 << (8 * sizeof(T) - 1) : 0);
    const FN(key) mask = ~(FN(key))0 >> (8 * (sizeof(FN(key)) - sizeof(T)));
    return (T)((descending ? mask - u : u) - low);
}

DF_INLINE T FN(plain_zero)(T x) { return x; }
#endif

static void FN(load_keys)(const void *from, int64_t n, bool descending, bool stable, void *keys)
{
    const T *x = from;
    FN(key) *k = keys;
    if (stable)
        for (int64_t i = 0; i < n; i++) k[i] = FN(to_key)(FN(plain_zero)(x[i]), descending);
    else
        for (int64_t i = 0; i < n; i++) k[i] = FN(to_key)(x[i], descending);
}

static void FN(store_keys)(const void *keys, int64_t n, bool descending, void *to)
{
    const FN(key) *k = keys;
    T *x = to;
    for (int64_t i = 0; i < n; i++) x[i] = FN(from_key)(k[i], descending);
}
