/* Included once per dtype: y = M x, by dot products with the rows of M or by combining the rows.
 * The elements of M have type STORED; load_m and load_m_n convert them to vectors. */

/* y[j + r] = sum over p of M[j + r][p] x[p] for r < rows (a constant at every call). Each row has
 * two vectors of partial sums, so that consecutive adds are independent. */
DF_INLINE void FN(dot_rows)(const int rows, const gemv *g, int64_t j)
{
    const T *x = g->x;
    const STORED *m = (const STORED *)g->matrix + j * g->ld;
    T *y = (T *)g->y + j * g->y_step;
    V even[DOT_ROWS], odd[DOT_ROWS];
    UNROLL for (int r = 0; r < rows; r++) even[r] = odd[r] = (V){0};
    int64_t p = 0;
    for (; p + 2 * LANES <= g->depth; p += 2 * LANES) {
        const V x0 = FN(load)(x + p), x1 = FN(load)(x + p + LANES);
        UNROLL for (int r = 0; r < rows; r++) {
            even[r] = FN(fma)(FN(load_m)(m + r * g->ld + p), x0, even[r]);
            odd[r] = FN(fma)(FN(load_m)(m + r * g->ld + p + LANES), x1, odd[r]);
        }
    }
    if (p + LANES <= g->depth) {
        const V x0 = FN(load)(x + p);
        UNROLL for (int r = 0; r < rows; r++)
            even[r] = FN(fma)(FN(load_m)(m + r * g->ld + p), x0, even[r]);
        p += LANES;
    }
    if (p < g->depth) {
        const V x0 = FN(load_n)(x + p, g->depth - p);
        UNROLL for (int r = 0; r < rows; r++)
            odd[r] = FN(fma)(FN(load_m_n)(m + r * g->ld + p, g->depth - p), x0, odd[r]);
    }
    UNROLL for (int r = 0; r < rows; r++) {
        T dot = FN(sum)(even[r] + odd[r]);
        y[r * g->y_step] = g->accumulate ? y[r * g->y_step] + dot : dot;
    }
}

static void FN(dots)(const gemv *g, int64_t begin, int64_t end)
{
    int64_t j = begin;
    for (; j + DOT_ROWS <= end; j += DOT_ROWS) FN(dot_rows)(DOT_ROWS, g, j);
    for (; j < end; j++) FN(dot_rows)(1, g, j);
}

#if STORED_AS_T

/* Dot products of a short depth of at least 1, added up term by term: adding up the lanes of
 * vectors would take longer than the products. */
static void FN(short_dots)(const gemv *g, int64_t begin, int64_t end)
{
    const T *x = g->x, *m = (const T *)g->matrix + begin * g->ld;
    T *y = (T *)g->y + begin * g->y_step;
    const int64_t depth = g->depth;
    for (int64_t j = begin; j < end; j++, m += g->ld, y += g->y_step) {
        T dot = m[0] * x[0];
        for (int64_t p = 1; p < depth; p++) dot = MULTIPLY_ADD(m[p], x[p], dot);
        *y = g->accumulate ? *y + dot : dot;
    }
}

#endif

/* Returns part plus the vector of sums over r of m[r][j] x[r] for r < rows, with CHAINS independent
 * sums. `n` is LANES, or less for a partial vector. */
DF_INLINE V FN(combine_vector)(const int rows, const STORED *m, int64_t ld, const T *x, V part,
                               int64_t n)
{
    V sum[CHAINS] = {part};
    UNROLL for (int r = 0; r < rows; r++)
        sum[r % CHAINS] = FN(fma)(FN(splat)(x[r]),
                                  n < LANES ? FN(load_m_n)(m + r * ld, n)
                                            : FN(load_m)(m + r * ld),
                                  sum[r % CHAINS]);
    UNROLL for (int i = 1; i < CHAINS && i < rows; i++) sum[0] += sum[i];
    return sum[0];
}

/* part[j] += sum over r of m[r][j] x[r] for r < rows and j < n; m has row stride ld. */
DF_INLINE void FN(combine_rows)(const int rows, const STORED *m, int64_t ld, const T *x, T *part,
                                int64_t n)
{
    int64_t j = 0;
    for (; j + LANES <= n; j += LANES)
        FN(store)(part + j, FN(combine_vector)(rows, m + j, ld, x, FN(load)(part + j), LANES));
    if (j < n)
        FN(store)(part + j, FN(combine_vector)(rows, m + j, ld, x, FN(load)(part + j), n - j));
}

/* y[j] = sum over p of M[p][j] x[p] for begin <= j < end, at most SLICE elements. The slice of y
 * stays in L1, in two levels of sums, so that no sum has more than DEPTH or depth / DEPTH terms. */
static void FN(combined)(const gemv *g, int64_t begin, int64_t end)
{
    const T *x = g->x;
    const STORED *m = (const STORED *)g->matrix + begin;
    const int64_t n = end - begin;
    const size_t bytes = (size_t)(df_ceil_div(n, LANES) * LANES) * sizeof(T);
    T total[SLICE], part[SLICE];
    memset(total, 0, bytes);
    for (int64_t p = 0; p < g->depth;) {
        const int64_t stop = df_min(p + DEPTH, g->depth);
        memset(part, 0, bytes);
        for (; p + 8 <= stop; p += 8)
            FN(combine_rows)(8, m + p * g->ld, g->ld, x + p, part, n);
        for (; p < stop; p++) FN(combine_rows)(1, m + p * g->ld, g->ld, x + p, part, n);
        for (int64_t j = 0; j < n; j++) total[j] += part[j];
    }
    T *y = (T *)g->y + begin * g->y_step;
    for (int64_t j = 0; j < n; j++)
        y[j * g->y_step] = g->accumulate ? y[j * g->y_step] + total[j] : total[j];
}
