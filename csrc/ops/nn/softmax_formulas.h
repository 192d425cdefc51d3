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

/* Functions of columns process (n, cols) with rows `stride` apart; cols <= SOFTMAX_COLUMNS. They
 * treat `step` adjacent rows like one, so that narrow rows fill vectors: the numbers per column are
 * repeated `step` times. */
DF_INLINE int64_t FN(row_step)(int64_t n, int64_t cols, int64_t stride)
{
    return stride == cols ? df_min(SOFTMAX_COLUMNS / cols, n) : 1;
}

DF_INLINE void FN(repeat)(T *v, int64_t cols, int64_t step)
{
    for (int64_t i = cols; i < cols * step; i++) v[i] = v[i - cols];
}

/* sum[c] += the elements of column c of x, from first to last. */
DF_INLINE void FN(add_rows)(T *sum, const T *x, int64_t rows, int64_t cols, int64_t stride)
{
    int64_t c = 0;
    for (; c + LANES <= cols; c += LANES) {
        V total = FN(load)(sum + c);
        for (int64_t r = 0; r < rows; r++) total += FN(load)(x + r * stride + c);
        FN(store)(sum + c, total);
    }
    if (c < cols) {
        V total = FN(load_n)(sum + c, cols - c);
        for (int64_t r = 0; r < rows; r++) total += FN(load_n)(x + r * stride + c, cols - c);
        FN(store_n)(sum + c, total, cols - c);
    }
}

/* Not inlined: among other loops, the constants of exp do not fit into 16 registers. */
DF_NOINLINE void FN(exp_columns)(T *y, const T *x, const T *top, int64_t n, int64_t cols,
                                 int64_t stride, int64_t step)
{
    for (int64_t r = 0; r < n; r += step)
        FN(map2)(cols * df_min(step, n - r), y + r * stride, x + r * stride, top, FN(exp_from));
}

static void FN(softmax_columns)(void *out, const void *in, const void *b, const void *g, int64_t n,
                                int64_t cols, int64_t stride)
{
    (void)b, (void)g;
    T *y = out, top[SOFTMAX_COLUMNS], sum[SOFTMAX_COLUMNS] = {0}, part[SOFTMAX_COLUMNS];
    const T *x = in;
    const int64_t step = FN(row_step)(n, cols, stride);
    const int64_t block = df_max(step, 8); /* rows that are in L1 when they are added */
    FN(column_max)(top, x, n, cols, stride);
    FN(repeat)(top, cols, step);
    for (int64_t first = 0; first < n; first += SOFTMAX_ROWS) {
        const int64_t end = df_min(first + SOFTMAX_ROWS, n);
        memset(part, 0, sizeof part);
        for (int64_t r = first; r < end; r += block) {
            const int64_t rows = df_min(block, end - r);
            FN(exp_columns)(y + r * stride, x + r * stride, top, rows, cols, stride, step);
            FN(add_rows)(part, y + r * stride, rows, cols, stride);
        }
        FN(map2)(cols, sum, sum, part, FN(plus));
    }
    for (int64_t c = 0; c < cols; c++) sum[c] = 1 / sum[c];
    FN(repeat)(sum, cols, step);
    for (int64_t r = 0; r < n; r += step)
        FN(map2)(cols * df_min(step, n - r), y + r * stride, y + r * stride, sum, FN(scaled));
}

static void FN(log_softmax_columns)(void *out, const void *in, const void *b, const void *g,
                                    int64_t n, int64_t cols, int64_t stride)
{
    (void)b, (void)g;
    T *y = out, top[SOFTMAX_COLUMNS], sum[SOFTMAX_COLUMNS];
    const T *x = in;
    const int64_t step = FN(row_step)(n, cols, stride);
    FN(column_max)(top, x, n, cols, stride);
    FN(column_log_sum)(sum, x, top, n, cols, stride);
    FN(repeat)(top, cols, step);
    FN(repeat)(sum, cols, step);
    for (int64_t r = 0; r < n; r += step)
        FN(map3)(cols * df_min(step, n - r), y + r * stride, x + r * stride, top, sum,
                 FN(lowered));
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

/* sum[c] = the sum of f(a, b, p, q) over column c, SOFTMAX_ROWS rows at a time; p and q are
 * repeated. */
DF_INLINE void FN(sum_columns_of_pairs)(T *sum, const T *a, const T *b, const T *p, const T *q,
                                        int64_t n, int64_t cols, int64_t stride,
                                        FN(pair_fn) f)
{
    T part[SOFTMAX_COLUMNS], term[SOFTMAX_COLUMNS];
    const int64_t step = FN(row_step)(n, cols, stride);
    memset(sum, 0, (size_t)cols * sizeof *sum);
    for (int64_t first = 0; first < n; first += SOFTMAX_ROWS) {
        const int64_t end = df_min(first + SOFTMAX_ROWS, n);
        memset(part, 0, sizeof part);
        for (int64_t r = first; r < end; r += step) {
            const int64_t rows = df_min(step, end - r);
            FN(map4)(cols * rows, term, a + r * stride, b + r * stride, p, q, f);
            FN(add_rows)(part, term, rows, cols, cols);
        }
        FN(map2)(cols, sum, sum, part, FN(plus));
    }
}

static void FN(softmax_grad_columns)(void *out, const void *gs, const void *ys,
                                     const void *unused, int64_t n, int64_t cols, int64_t stride)
{
    (void)unused;
    T *d = out, dot[SOFTMAX_COLUMNS];
    const T *g = gs, *y = ys;
    const int64_t step = FN(row_step)(n, cols, stride);
    FN(sum_columns_of_pairs)(dot, g, y, g, g, n, cols, stride, FN(product));
    FN(repeat)(dot, cols, step);
    for (int64_t r = 0; r < n; r += step)
        FN(map3)(cols * df_min(step, n - r), d + r * stride, g + r * stride, y + r * stride, dot,
                 FN(softmax_slope));
}

static void FN(log_softmax_grad_columns)(void *out, const void *gs, const void *ys,
                                         const void *unused, int64_t n, int64_t cols,
                                         int64_t stride)
{
    (void)unused;
    T *d = out, sum[SOFTMAX_COLUMNS];
    const T *g = gs, *y = ys;
    const int64_t step = FN(row_step)(n, cols, stride);
    FN(column_sum)(sum, g, n, cols, stride);
    FN(repeat)(sum, cols, step);
    for (int64_t r = 0; r < n; r += step)
        FN(map3)(cols * df_min(step, n - r), d + r * stride, g + r * stride, y + r * stride, sum,
                 FN(log_softmax_slope));
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
    FN(repeat)(top, cols, FN(row_step)(n, cols, stride));
    FN(repeat)(rest, cols, FN(row_step)(n, cols, stride));
    FN(sum_columns_of_pairs)(out, zs, xs, top, rest, n, cols, stride, FN(surprise));
}

static void FN(cross_grad_columns)(void *out, const void *zs, const void *xs, const void *gs,
                                   int64_t n, int64_t cols, int64_t stride)
{
    T *y = out, share[SOFTMAX_COLUMNS], labels[SOFTMAX_COLUMNS], g[SOFTMAX_COLUMNS];
    const T *z = zs;
    const int64_t step = FN(row_step)(n, cols, stride);
    memcpy(g, gs, (size_t)cols * sizeof *g);
    FN(softmax_columns)(out, xs, NULL, NULL, n, cols, stride);
    FN(column_sum)(labels, z, n, cols, stride);
    FN(map2)(cols, share, labels, g, FN(times));
    FN(repeat)(share, cols, step);
    FN(repeat)(g, cols, step);
    for (int64_t r = 0; r < n; r += step)
        FN(map4)(cols * df_min(step, n - r), y + r * stride, y + r * stride, z + r * stride, share,
                 g, FN(less_labels));
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
