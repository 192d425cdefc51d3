/* Part of softmax.c, included once per floating dtype: one row, or one block of columns. */

DF_INLINE V FN(exp_from)(V x, V top) { return FN(exp)(x - top); }

/* out = e^(x - top); the sum of that. */
DF_INLINE T FN(exp_and_sum)(T *out, const T *x, int64_t n, T top)
{
    const V from = FN(splat)(top);
    V sum[4] = {{0}, {0}, {0}, {0}};
    int64_t i = 0;
    for (; i + 4 * LANES <= n; i += 4 * LANES)
#pragma GCC unroll 4
        for (int k = 0; k < 4; k++) {
            const V e = FN(exp_from)(FN(load)(x + i + k * LANES), from);
            FN(store)(out + i + k * LANES, e);
            sum[k] += e;
        }
    for (; i < n; i += LANES) {
        const int64_t rest = df_min(LANES, n - i);
        const bool whole = rest == LANES;
        const V e = FN(exp_from)(whole ? FN(load)(x + i) : FN(load_n)(x + i, rest), from);
        if (whole) FN(store)(out + i, e);
        else FN(store_n)(out + i, e, rest);
        sum[0] += whole ? e : FN(select)(FN(first_lanes)(rest), e, (V){0});
    }
    return FN(reduce_lanes)((sum[0] + sum[1]) + (sum[2] + sum[3]), FN(plus));
}

DF_INLINE T FN(row_max)(const T *x, int64_t n)
{
    return FN(reduce_row)(x, n, (V){0}, FN(splat)(FN(lowest)()), FN(plain), FN(max));
}

DF_INLINE V FN(scaled)(V x, V by) { return x * by; }
DF_INLINE V FN(lowered)(V x, V top, V log_sum) { return (x - top) - log_sum; }

static void FN(softmax_rows)(void *out, const void *in, int64_t rows, int64_t n)
{
    T *y = out;
    const T *x = in;
    for (int64_t i = 0; i < rows; i++, x += n, y += n) {
        const T sum = FN(exp_and_sum)(y, x, n, FN(row_max)(x, n));
        FN(map1_with)(n, y, y, FN(splat)(1 / sum), FN(scaled));
    }
}

/* log(sum(e^x)) as its two terms: the maximum and the rest. */
DF_INLINE T FN(log_sum)(const T *x, int64_t n, T top)
{
    const T sum = FN(reduce_row)(x, n, FN(splat)(top), (V){0}, FN(exp_from), FN(plus));
    return FN(log)(FN(splat)(sum))[0];
}

static void FN(log_softmax_rows)(void *out, const void *in, int64_t rows, int64_t n)
{
    T *y = out;
    const T *x = in;
    for (int64_t i = 0; i < rows; i++, x += n, y += n) {
        const T top = FN(row_max)(x, n), rest = FN(log_sum)(x, n, top);
        const V tops = FN(splat)(top), rests = FN(splat)(rest);
        int64_t c = 0;
        for (; c + LANES <= n; c += LANES)
            FN(store)(y + c, FN(lowered)(FN(load)(x + c), tops, rests));
        if (c < n)
            FN(store_n)(y + c, FN(lowered)(FN(load_n)(x + c, n - c), tops, rests), n - c);
    }
}

/* Columns of (n, cols), rows `stride` apart; cols <= SOFTMAX_COLUMNS. */
static void FN(softmax_columns)(void *out, const void *in, int64_t n, int64_t cols, int64_t stride)
{
    T *y = out, top[SOFTMAX_COLUMNS], sum[SOFTMAX_COLUMNS] = {0}, part[SOFTMAX_COLUMNS];
    const T *x = in;
    FN(reduce_columns)(top, x, NULL, n, cols, stride, FN(lowest)(), FN(plain), FN(max));
    for (int64_t first = 0; first < n; first += SOFTMAX_ROWS) {
        memset(part, 0, sizeof part);
        for (int64_t r = first; r < df_min(first + SOFTMAX_ROWS, n); r++) {
            FN(map2)(cols, y + r * stride, x + r * stride, top, FN(exp_from));
            FN(map2)(cols, part, part, y + r * stride, FN(plus));
        }
        FN(map2)(cols, sum, sum, part, FN(plus));
    }
    for (int64_t c = 0; c < cols; c++) sum[c] = 1 / sum[c];
    for (int64_t r = 0; r < n; r++)
        FN(map2)(cols, y + r * stride, y + r * stride, sum, FN(scaled));
}

static void FN(log_softmax_columns)(void *out, const void *in, int64_t n, int64_t cols,
                                    int64_t stride)
{
    T *y = out, top[SOFTMAX_COLUMNS], sum[SOFTMAX_COLUMNS];
    const T *x = in;
    FN(reduce_columns)(top, x, NULL, n, cols, stride, FN(lowest)(), FN(plain), FN(max));
    FN(reduce_columns)(sum, x, top, n, cols, stride, 0, FN(exp_from), FN(plus));
    FN(map1)(cols, sum, sum, FN(log));
    for (int64_t r = 0; r < n; r++)
        FN(map3)(cols, y + r * stride, x + r * stride, top, sum, FN(lowered));
}

/* Loss of rows: log(sum(e^x)) - x[label]. */
static void FN(sparse_rows)(void *out, const void *in, const int64_t *labels, int64_t rows,
                            int64_t n)
{
    T *y = out;
    const T *x = in;
    for (int64_t i = 0; i < rows; i++, x += n) {
        const T top = FN(row_max)(x, n);
        y[i] = FN(log_sum)(x, n, top) + (top - x[labels[i]]);
    }
}

/* (e^(x - top) / sum - [label]) * g per row: the gradient of that. */
static void FN(sparse_grad_rows)(void *out, const void *in, const int64_t *labels, const void *gs,
                                 int64_t rows, int64_t n)
{
    T *y = out;
    const T *x = in, *g = gs;
    for (int64_t i = 0; i < rows; i++, x += n, y += n) {
        const T sum = FN(exp_and_sum)(y, x, n, FN(row_max)(x, n));
        FN(map1_with)(n, y, y, FN(splat)(g[i] / sum), FN(scaled));
        y[labels[i]] -= g[i];
    }
}
