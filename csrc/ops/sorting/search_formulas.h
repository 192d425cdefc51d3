/* Loops of search.c for one dtype. NaN counts as larger than every number. */
#if DTYPE_FLOAT
DF_INLINE bool FN(before)(T a, T b) { return (a < b) | ((b != b) & (a == a)); }
DF_INLINE bool FN(finite)(T x) { return x - x == 0; }
#else
DF_INLINE bool FN(before)(T a, T b) { return a < b; }
DF_INLINE bool FN(finite)(T x) { (void)x; return true; }
#endif

/* Number of elements of the sorted x[0..n) that are before v; with `right`, that are not after it.
 * A branch-free binary search. */
DF_INLINE int64_t FN(bound)(const T *x, int64_t n, T v, bool right)
{
    const T *base = x;
    if (n == 0) return 0;
    while (n > 1) {
        const int64_t half = n / 2;
        const bool up = right ? !FN(before)(v, base[half - 1]) : FN(before)(base[half - 1], v);
        base += up ? half : 0;
        n -= half;
    }
    return base - x + (right ? !FN(before)(v, *base) : FN(before)(*base, v));
}

static void FN(search)(const void *row, int64_t n, const void *values, int64_t m, bool right,
                       int64_t *out)
{
    const T *x = row, *v = values;
    for (int64_t j = 0; j < m; j++) out[j] = FN(bound)(x, n, v[j], right);
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
