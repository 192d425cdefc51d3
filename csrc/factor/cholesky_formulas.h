/* Part of cholesky.c, included once per dtype: the factor of a block, in a dense copy. */

/* Rows [begin, end) of the negative lower triangle, and zeros above it. */
static void FN(negate_lower)(const lower_copy *of, int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end; i++) {
        const int64_t n = of->n * of->parts, some = (i + 1) * of->parts;
        const T *from = (const T *)of->from + i * n;
        T *to = (T *)of->to + i * n;
        for (int64_t j = 0; j < some; j++) to[j] = -from[j];
        memset(to + some, 0, (size_t)(n - some) * sizeof(T));
    }
}

/* Factors the n x n lower triangle `at`, rows `ld` elements apart, which is negated; the elements
 * above it are set to 0. The factor is also written to `columns`, FACTOR_BLOCK elements each, where
 * elements above the diagonal in the same vector are scratch. Returns the row of a pivot that is
 * not positive, or -1. */
static int64_t FN(cholesky_block)(void *at, int64_t ld, int64_t n, void *columns)
{
    T *a = at, *l = columns;
    memset(l, 0, (size_t)(n * FACTOR_BLOCK) * sizeof(T));
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) l[j * FACTOR_BLOCK + i] = a[i * ld + j];
    for (int64_t j = 0; j < n; j++) {
        T *column = l + j * FACTOR_BLOCK;
        const T pivot = -column[j];
        if (!(pivot > 0)) return j;
        const V root = FN(sqrt)(FN(splat)(pivot));
        for (int64_t i = j - j % LANES; i < n; i += LANES)
            FN(store)(column + i, (0 - FN(load)(column + i)) / root);
        column[j] = root[0];
        for (int64_t r = j + 1; r < n; r++) {
            T *next = l + r * FACTOR_BLOCK;
            const V factor = FN(splat)(column[r]);
            for (int64_t i = r - r % LANES; i < n; i += LANES)
                FN(store)(next + i, FN(fma)(factor, FN(load)(column + i), FN(load)(next + i)));
        }
    }
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j <= i; j++) a[i * ld + j] = l[j * FACTOR_BLOCK + i];
        memset(a + i * ld + i + 1, 0, (size_t)(n - i - 1) * sizeof(T));
    }
    return -1;
}
