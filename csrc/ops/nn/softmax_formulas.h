/* Part of softmax.c, included once per floating dtype: one row, or one block of columns. */

DF_INLINE V FN(exp_from)(V x, V top) { return FN(exp)(x - top); }

/* The sum of e^(x - top); the terms are stored in `out` unless it is NULL. Prefetches elements of
 * the next row, `ahead` elements away: this pass is compute-bound, the previous one
 * memory-bound. */
DF_INLINE T FN(exp_and_sum_chunk)(T *out, const T *x, int64_t n, T top, int64_t ahead)
{
    const V from = FN(splat)(top);
    V sum[4] = {{0}, {0}, {0}, {0}};
    int64_t i = 0;
    for (; i + 4 * LANES <= n; i += 4 * LANES)
#pragma GCC unroll 4
        for (int k = 0; k < 4; k++) {
            __builtin_prefetch(x + ahead + i + k * LANES);
            const V e = FN(exp_from)(FN(load)(x + i + k * LANES), from);
            if (out) FN(store)(out + i + k * LANES, e);
            sum[k] += e;
        }
    for (; i < n; i += LANES) {
        const int64_t rest = df_min(LANES, n - i);
        const bool whole = rest == LANES;
        const V e = FN(exp_from)(whole ? FN(load)(x + i) : FN(load_n)(x + i, rest), from);
        if (out && whole) FN(store)(out + i, e);
        else if (out) FN(store_n)(out + i, e, rest);
        sum[0] += whole ? e : FN(select)(FN(first_lanes)(rest), e, (V){0});
    }
    return FN(reduce_lanes)((sum[0] + sum[1]) + (sum[2] + sum[3]), FN(plus));
}

/* Same, for long rows chunk by chunk, so that sums stay accurate. */
DF_INLINE T FN(exp_and_sum)(T *out, const T *x, int64_t n, T top)
{
    T sum = 0;
    for (int64_t i = 0; i < n; i += SOFTMAX_CHUNK)
        sum += FN(exp_and_sum_chunk)(out ? out + i : NULL, x + i, df_min(SOFTMAX_CHUNK, n - i), top,
                                     n);
    return sum;
}

DF_INLINE T FN(row_max)(const T *x, int64_t n)
{
    return FN(reduce_row)(x, n, (V){0}, FN(splat)(FN(lowest)()), FN(plain), FN(max));
}

DF_INLINE V FN(scaled)(V x, V by) { return x * by; }
DF_INLINE V FN(lowered)(V x, V top, V log_sum) { return (x - top) - log_sum; }

static void FN(softmax_rows)(void *out, const void *in, const void *b, const void *g, int64_t rows,
                             int64_t n)
{
    T *y = out;
    const T *x = in;
    (void)b, (void)g;
    for (int64_t i = 0; i < rows; i++, x += n, y += n) {
        const T sum = FN(exp_and_sum)(y, x, n, FN(row_max)(x, n));
        FN(map1_with)(n, y, y, FN(splat)(1 / sum), FN(scaled));
    }
}

/* The second term of log(sum(e^x)) = top + log(sum(e^(x - top))). */
DF_INLINE T FN(log_sum)(const T *x, int64_t n, T top)
{
    return FN(log)(FN(splat)(FN(exp_and_sum)(NULL, x, n, top)))[0];
}

static void FN(log_softmax_rows)(void *out, const void *in, const void *b, const void *g,
                                 int64_t rows, int64_t n)
{
    T *y = out;
    const T *x = in;
    (void)b, (void)g;
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

/* The maximum of each column, the log of the sum of e^(x - top) of each column, and the sum of each
 * column. Not inlined: several functions use them, and they are large. */
DF_NOINLINE void FN(column_max)(T *top, const T *x, int64_t n, int64_t cols, int64_t stride)
{
    FN(reduce_columns)(top, x, NULL, n, cols, stride, FN(lowest)(), FN(plain), FN(max));
}

DF_NOINLINE void FN(column_log_sum)(T *log_sum, const T *x, const T *top, int64_t n, int64_t cols,
                                    int64_t stride)
{
    FN(reduce_columns)(log_sum, x, top, n, cols, stride, 0, FN(exp_from), FN(plus));
    FN(map1)(cols, log_sum, log_sum, FN(log));
}

DF_NOINLINE void FN(column_sum)(T *sum, const T *x, int64_t n, int64_t cols, int64_t stride)
{
    FN(reduce_columns)(sum, x, NULL, n, cols, stride, 0, FN(plain), FN(plus));
}

/* Columns of (n, cols), rows `stride` apart; cols <= SOFTMAX_COLUMNS. */
static void FN(softmax_columns)(void *out, const void *in, const void *b, const void *g, int64_t n,
                                int64_t cols, int64_t stride)
{
    (void)b, (void)g;
    T *y = out, top[SOFTMAX_COLUMNS], sum[SOFTMAX_COLUMNS] = {0}, part[SOFTMAX_COLUMNS];
    const T *x = in;
    FN(column_max)(top, x, n, cols, stride);
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

static void FN(log_softmax_columns)(void *out, const void *in, const void *b, const void *g,
                                    int64_t n, int64_t cols, int64_t stride)
{
    (void)b, (void)g;
    T *y = out, top[SOFTMAX_COLUMNS], sum[SOFTMAX_COLUMNS];
    const T *x = in;
    FN(column_max)(top, x, n, cols, stride);
    FN(column_log_sum)(sum, x, top, n, cols, stride);
    for (int64_t r = 0; r < n; r++)
        FN(map3)(cols, y + r * stride, x + r * stride, top, sum, FN(lowered));
}

/* --- backward: from the cotangent g and the result y --- */

DF_INLINE V FN(product)(V a, V b, V p, V q)
{
    (void)p, (void)q;
    return a * b;
}
DF_INLINE V FN(softmax_slope)(V g, V y, V dot) { return y * (g - dot); }
DF_INLINE V FN(log_softmax_slope)(V g, V y, V sum) { return g - FN(exp)(y) * sum; }

static void FN(softmax_grad_rows)(void *out, const void *gs, const void *ys, const void *unused,
                                  int64_t rows, int64_t n)
{
    (void)unused;
    T *d = out;
    const T *g = gs, *y = ys;
    const V none = {0};
    for (int64_t i = 0; i < rows; i++, g += n, y += n, d += n) {
        const T dot = FN(sum_of_pairs)(g, y, n, none, none, FN(product));
        FN(map2_with)(n, d, g, y, FN(splat)(dot), FN(softmax_slope));
    }
}

static void FN(log_softmax_grad_rows)(void *out, const void *gs, const void *ys,
                                      const void *unused, int64_t rows, int64_t n)
{
    (void)unused;
    T *d = out;
    const T *g = gs, *y = ys;
    for (int64_t i = 0; i < rows; i++, g += n, y += n, d += n) {
        const T sum = FN(reduce_row)(g, n, (V){0}, (V){0}, FN(plain), FN(plus));
        FN(map2_with)(n, d, g, y, FN(splat)(sum), FN(log_softmax_slope));
    }
}

/* sum[c] = the sum of f(a, b, p, q) over column c, SOFTMAX_ROWS rows at a time. */
DF_INLINE void FN(sum_columns_of_pairs)(T *sum, const T *a, const T *b, const T *p, const T *q,
                                        int64_t n, int64_t cols, int64_t stride,
                                        FN(pair_fn) f)
{
    T part[SOFTMAX_COLUMNS], term[SOFTMAX_COLUMNS];
    memset(sum, 0, (size_t)cols * sizeof *sum);
    for (int64_t first = 0; first < n; first += SOFTMAX_ROWS) {
        memset(part, 0, sizeof part);
        for (int64_t r = first; r < df_min(first + SOFTMAX_ROWS, n); r++) {
            FN(map4)(cols, term, a + r * stride, b + r * stride, p, q, f);
            FN(map2)(cols, part, part, term, FN(plus));
        }
        FN(map2)(cols, sum, sum, part, FN(plus));
    }
}

static void FN(softmax_grad_columns)(void *out, const void *gs, const void *ys,
                                     const void *unused, int64_t n, int64_t cols, int64_t stride)
{
    (void)unused;
    T *d = out, dot[SOFTMAX_COLUMNS] = {0};
    const T *g = gs, *y = ys;
    FN(sum_columns_of_pairs)(dot, g, y, dot, dot, n, cols, stride, FN(product));
    for (int64_t r = 0; r < n * stride; r += stride)
        FN(map3)(cols, d + r, g + r, y + r, dot, FN(softmax_slope));
}

static void FN(log_softmax_grad_columns)(void *out, const void *gs, const void *ys,
                                         const void *unused, int64_t n, int64_t cols,
                                         int64_t stride)
{
    (void)unused;
    T *d = out, sum[SOFTMAX_COLUMNS];
    const T *g = gs, *y = ys;
    FN(column_sum)(sum, g, n, cols, stride);
    for (int64_t r = 0; r < n * stride; r += stride)
        FN(map3)(cols, d + r, g + r, y + r, sum, FN(log_softmax_slope));
}

/* --- cross entropy with class probabilities z --- */

/* z * -log_softmax(x), with log(sum(e^x)) as top + rest. */
DF_INLINE V FN(surprise)(V z, V x, V top, V rest) { return z * ((top - x) + rest); }
/* g * (sum(z) * softmax(x) - z) with e = e^(x - top) and share = g sum(z) / sum(e). */
DF_INLINE V FN(less_labels)(V e, V z, V share, V g) { return e * share - z * g; }

static void FN(cross_rows)(void *out, const void *zs, const void *xs, const void *unused,
                           int64_t rows, int64_t n)
{
    T *y = out;
    const T *z = zs, *x = xs;
    (void)unused;
    for (int64_t i = 0; i < rows; i++, x += n, z += n) {
        const T top = FN(row_max)(x, n), rest = FN(log_sum)(x, n, top);
        y[i] = FN(sum_of_pairs)(z, x, n, FN(splat)(top), FN(splat)(rest), FN(surprise));
    }
}

static void FN(cross_grad_rows)(void *out, const void *zs, const void *xs, const void *gs,
                                int64_t rows, int64_t n)
{
    T *y = out;
    const T *z = zs, *x = xs, *g = gs;
    for (int64_t i = 0; i < rows; i++, x += n, z += n, y += n) {
        const T sum = FN(exp_and_sum)(y, x, n, FN(row_max)(x, n));
        const T labels = FN(reduce_row)(z, n, (V){0}, (V){0}, FN(plain), FN(plus));
        const V share = FN(splat)(g[i] * labels / sum), by = FN(splat)(g[i]);
        int64_t c = 0;
        for (; c + LANES <= n; c += LANES)
            FN(store)(y + c, FN(less_labels)(FN(load)(y + c), FN(load)(z + c), share, by));
        if (c < n)
            FN(store_n)(y + c, FN(less_labels)(FN(load_n)(y + c, n - c), FN(load_n)(z + c, n - c),
                                               share, by), n - c);
    }
}

static void FN(cross_columns)(void *out, const void *zs, const void *xs, const void *unused,
                              int64_t n, int64_t cols, int64_t stride)
{
    T top[SOFTMAX_COLUMNS], rest[SOFTMAX_COLUMNS];
    (void)unused;
    FN(column_max)(top, xs, n, cols, stride);
    FN(column_log_sum)(rest, xs, top, n, cols, stride);
    FN(sum_columns_of_pairs)(out, zs, xs, top, rest, n, cols, stride, FN(surprise));
}

static void FN(cross_grad_columns)(void *out, const void *zs, const void *xs, const void *gs,
                                   int64_t n, int64_t cols, int64_t stride)
{
    T *y = out, share[SOFTMAX_COLUMNS], labels[SOFTMAX_COLUMNS];
    const T *z = zs, *g = gs;
    FN(softmax_columns)(out, xs, NULL, NULL, n, cols, stride);
    FN(column_sum)(labels, z, n, cols, stride);
    FN(map2)(cols, share, labels, g, FN(times));
    for (int64_t r = 0; r < n * stride; r += stride)
        FN(map4)(cols, y + r, y + r, z + r, share, g, FN(less_labels));
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

/* The gradient of sparse_rows: (e^(x - top) / sum - [label]) * g per row. */
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
