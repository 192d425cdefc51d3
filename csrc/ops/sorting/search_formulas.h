/* Loops of search.c for one dtype. NaN counts as larger than every number. */
#if DTYPE_FLOAT
DF_INLINE bool FN(finite)(T x) { return x - x == 0; }
#else
DF_INLINE bool FN(finite)(T x) { (void)x; return true; }
#endif

/* Number of elements of the sorted x[0..n), n > 0, that are less than v, or with `equal` at most v;
 * v is not NaN. A binary search whose steps depend on data by arithmetic alone: a branch is
 * mispredicted in every second step, and GCC turns the choice between two numbers into one. */
DF_INLINE int64_t FN(bound)(const T *x, int64_t n, T v, bool equal)
{
    const T *base = x;
    while (n > 1) {
        const int64_t half = n / 2, up = equal ? base[half - 1] <= v : base[half - 1] < v;
        base += half & -up;
        n -= half;
    }
    return base - x + (equal ? *base <= v : *base < v);
}

/* Same for several numbers v. Their steps are independent, so a processor overlaps them. */
DF_INLINE void FN(bounds)(const T *x, int64_t n, const T v[TOGETHER], bool equal,
                          int64_t out[TOGETHER])
{
    const T *base[TOGETHER];
    for (int k = 0; k < TOGETHER; k++) base[k] = x;
    while (n > 1) {
        const int64_t half = n / 2;
        for (int k = 0; k < TOGETHER; k++) {
            const T at = base[k][half - 1];
            const int64_t up = equal ? at <= v[k] : at < v[k];
            base[k] += half & -up;
        }
        n -= half;
    }
    for (int k = 0; k < TOGETHER; k++)
        out[k] = base[k] - x + (equal ? *base[k] <= v[k] : *base[k] < v[k]);
}

/* Number of elements that are before v; with `right`, that are not after it. */
DF_INLINE int64_t FN(position)(const T *x, int64_t n, T v, bool right)
{
    if (n == 0) return 0;
#if DTYPE_FLOAT
    if (v != v) return right ? n : FN(bound)(x, n, (T)INFINITY, true);
#endif
    return right ? FN(bound)(x, n, v, true) : FN(bound)(x, n, v, false);
}

/* Scalar code, so one level suffices. */
DF_ONCE(void, FN(search), (const void *row, int64_t n, const void *values, int64_t m, bool right,
                           int64_t *out))
{
    const T *x = row, *v = values;
    int64_t j = 0;
    for (; n > 0 && j + TOGETHER <= m; j += TOGETHER) {
        bool numbers = true;
        for (int k = 0; k < TOGETHER; k++) numbers &= v[j + k] == v[j + k];
        if (!numbers)
            for (int64_t k = j; k < j + TOGETHER; k++) out[k] = FN(position)(x, n, v[k], right);
        else if (right)
            FN(bounds)(x, n, v + j, true, out + j);
        else
            FN(bounds)(x, n, v + j, false, out + j);
    }
    for (; j < m; j++) out[j] = FN(position)(x, n, v[j], right);
}

/* Number of the n elements that are greater than element `target`; n if one is not finite. */
static int64_t FN(rank)(const void *row, int64_t n, int64_t target)
{
    const T *x = row;
    const T v = x[target];
    int64_t larger = 0;
    bool all_finite = true;
    for (int64_t i = 0; i < n; i++) {
        larger += x[i] > v;
        all_finite &= FN(finite)(x[i]);
    }
    return all_finite ? larger : INT64_MAX;
}
