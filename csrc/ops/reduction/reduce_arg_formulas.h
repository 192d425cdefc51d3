/* Part of reduce_arg.c, included once per dtype: the indices of the extremes of a block. */

DF_INLINE bool FN(is_nan)(T x)
{
#if DTYPE_FLOAT
    return x != x;
#else
    (void)x;
    return false;
#endif
}

/* NaN beats every number; equal numbers do not beat each other, so the first one is found. */
DF_INLINE bool FN(beats)(T a, T b, bool lowest)
{
    return (lowest ? a < b : a > b) || (FN(is_nan)(a) && !FN(is_nan)(b));
}

/* The lanes in which v is the extreme of a block; the extreme of a block with a NaN is NaN. */
DF_INLINE M FN(hits)(V v, V extreme)
{
#if DTYPE_FLOAT
    return (v == extreme) | (v != v);
#else
    return v == extreme;
#endif
}

/* The first lane whose mask is -1; LANES if there is none. */
DF_INLINE int64_t FN(first_lane)(M mask)
{
    uint8_t bytes[LANES < 8 ? 8 : LANES] = {0};
    FN(store_mask)(bytes, mask);
    for (int64_t i = 0; i < LANES; i += 8) {
        uint64_t eight;
        memcpy(&eight, bytes + i, sizeof eight);
        if (eight) return i + __builtin_ctzll(eight) / 8;
    }
    return LANES;
}

/* The first index of the extreme of a block; the last index if another thread has overwritten
 * shared memory in between. */
DF_INLINE int64_t FN(first_hit)(const T *x, int64_t n, T extreme)
{
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        const M hits = FN(hits)(FN(load)(x + i), FN(splat)(extreme));
        if (FN(any)(hits)) return i + FN(first_lane)(hits);
    }
    const M rest = FN(hits)(FN(load_n)(x + i, n - i), FN(splat)(extreme)) & FN(first_lanes)(n - i);
    return df_min(i + FN(first_lane)(rest), n - 1);
}

/* For a few elements; the result depends on data, so there are no branches on it. */
DF_INLINE int64_t FN(arg_few)(const T *x, int64_t n, bool lowest)
{
    T best = x[0];
    int64_t at = 0;
    for (int64_t i = 1; i < n; i++) {
        const bool better = FN(beats)(x[i], best, lowest);
        best = better ? x[i] : best;
        at = better ? i : at;
    }
    return at;
}

#define MATCH_BLOCK 4096 /* elements searched for the extreme, then for its index, both from L1 */

DF_INLINE int64_t FN(arg_row)(const T *x, int64_t n, bool lowest)
{
    T best = x[0];
    int64_t block = 0;
    for (int64_t i = 0; i < n; i += MATCH_BLOCK) {
        const int64_t m = df_min(MATCH_BLOCK, n - i);
        const V none = {0}, start = FN(splat)(lowest ? FN(highest)() : FN(lowest)());
        const T top = lowest ? FN(reduce_row)(x + i, m, none, start, FN(plain), FN(min))
                             : FN(reduce_row)(x + i, m, none, start, FN(plain), FN(max));
        if (i > 0 && !FN(beats)(top, best, lowest)) continue;
        best = top;
        block = i;
    }
    return block + FN(first_hit)(x + block, df_min(MATCH_BLOCK, n - block), best);
}

#define FEW 16

/* at[r] = index of the extreme of row r of x (rows, n). */
DF_INLINE void FN(arg_rows)(int64_t *at, const T *x, int64_t rows, int64_t n, bool lowest)
{
    for (int64_t r = 0; r < rows; r++)
        at[r] = n <= FEW ? FN(arg_few)(x + r * n, n, lowest) : FN(arg_row)(x + r * n, n, lowest);
}

/* index[c] = row of the extreme of column c of x (rows, cols), with rows `stride` apart. */
DF_INLINE void FN(arg_columns)(int64_t *index, const T *x, int64_t rows, int64_t cols,
                               int64_t stride, bool lowest)
{
    T best[ARG_COLUMNS];
    FN(row_number) at[ARG_COLUMNS];
    for (int64_t c = 0; c < cols; c++) {
        best[c] = x[c];
        at[c] = 0;
    }
    for (FN(row_number) r = 1; r < rows; r++) {
        const T *row = x + r * stride;
        for (int64_t c = 0; c < cols; c++) {
            const bool better = FN(beats)(row[c], best[c], lowest);
            best[c] = better ? row[c] : best[c];
            at[c] = better ? r : at[c];
        }
    }
    for (int64_t c = 0; c < cols; c++) index[c] = at[c];
}

/* The best of one index per chunk of a column, `n` chunks: at[k * step] is a row of chunk k. */
DF_INLINE int64_t FN(arg_best)(const T *x, const int64_t *at, int64_t n, int64_t step,
                               int64_t chunk, int64_t inner, bool lowest)
{
    int64_t best = at[0];
    for (int64_t k = 1; k < n; k++) {
        const int64_t row = k * chunk + at[k * step];
        if (FN(beats)(x[row * inner], x[best * inner], lowest)) best = row;
    }
    return best;
}

#define ARG(name, lowest)                                                                        \
    static void FN(name##_rows)(int64_t *at, const void *x, int64_t rows, int64_t n)              \
    { FN(arg_rows)(at, x, rows, n, lowest); }                                                     \
    static void FN(name##_columns)(int64_t *index, const void *x, int64_t rows, int64_t cols,     \
                                   int64_t stride)                                                \
    { FN(arg_columns)(index, x, rows, cols, stride, lowest); }                                    \
    static int64_t FN(name##_best)(const void *x, const int64_t *at, int64_t n, int64_t step,     \
                                   int64_t chunk, int64_t inner)                                  \
    { return FN(arg_best)(x, at, n, step, chunk, inner, lowest); }

ARG(argmax, false)
ARG(argmin, true)
#undef ARG
#undef MATCH_BLOCK
#undef FEW
