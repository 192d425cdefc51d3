/* Part of depthwise.c, included once per floating dtype. Lanes are channels. Gradients of
 * float64 weights have the general kernel only: the bits are the same, and code is small. */

#define SEVERAL_ROWS (sizeof(T) == 4)
#define FIVE (sizeof(T) == 4) /* has a kernel for five shared taps */

/* Adds the products of one tap to n x m sums: n neighbouring results, m vectors of channels. Three
 * sources share a pointer, because base + {0, 1, 2} * next is one address mode. */
DF_INLINE void FN(tap)(const int n, const int m, const T *x, int64_t next, const T *w,
                       int64_t lanes, V sum[SUMS])
{
    const T *three[3] = {x, x + 3 * next, x + 6 * next};
    V by[4];
    UNROLL for (int v = 0; v < m; v++) by[v] = FN(load_upto)(w + v * LANES, lanes);
    UNROLL for (int i = 0; i < n; i++)
        UNROLL for (int v = 0; v < m; v++)
            sum[i * m + v] = FN(fma)(FN(load_upto)(three[i / 3] + i % 3 * next + v * LANES, lanes),
                                     by[v], sum[i * m + v]);
}

/* True if source j of n neighbouring results does not exist: the first result lacks `left` of its
 * `taps` taps, the last one `right`, at most half. n and taps are constants. */
DF_INLINE bool FN(lacks)(const int j, const int n, const int taps, int64_t left, int64_t right)
{
    const int from_end = n + taps - 1 - j;
    return (j < taps / 2 && left > j) || (from_end <= taps / 2 && right >= from_end);
}

/* Same for three or five taps whose sources neighbouring results share: each source is loaded
 * once. */
DF_INLINE void FN(shared_taps)(const int taps, const int n, const int m, int64_t left,
                               int64_t right, const T *x, int64_t next, const T *w, int64_t w_step,
                               int64_t lanes, V sum[SUMS])
{
    const T *three[4] = {x, x + 3 * next, x + 6 * next, x + 9 * next};
    V by[5][4];
    UNROLL for (int s = 0; s < taps; s++)
        UNROLL for (int v = 0; v < m; v++)
            by[s][v] = FN(load_upto)(w + s * w_step + v * LANES, lanes);
    UNROLL for (int j = 0; j < n + taps - 1; j++) {
        if (FN(lacks)(j, n, taps, left, right)) continue;
        UNROLL for (int v = 0; v < m; v++) {
            const V source = FN(load_upto)(three[j / 3] + j % 3 * next + v * LANES, lanes);
            UNROLL for (int s = 0; s < taps; s++)
                if (j - s >= 0 && j - s < n)
                    sum[(j - s) * m + v] = FN(fma)(source, by[s][v], sum[(j - s) * m + v]);
        }
    }
}

#if defined(FINISHES)
/* Adds the bias to n x m sums and limits them. */
DF_INLINE void FN(add_and_clamp)(const int n, const int m, const window *g, int64_t at,
                                 int64_t lanes, V sum[SUMS])
{
    if (g->bias)
        UNROLL for (int v = 0; v < m; v++) {
            const V by = FN(load_upto)((const T *)g->bias + at + v * LANES, lanes);
            UNROLL for (int i = 0; i < n; i++) sum[i * m + v] += by;
        }
    if (g->clamp) {
        const V most = FN(splat)(g->most);
        UNROLL for (int i = 0; i < n * m; i++) {
            const V x = FN(max0)(sum[i]);
            sum[i] = FN(select)(x > most, most, x);
        }
    }
}
#endif

/* Computes n consecutive results from `first` on, m vectors of channels. `shared`: number of taps
 * in a row whose sources are shared, or 0. */
DF_INLINE void FN(results)(const int n, const int m, const int shared, int64_t left, int64_t right,
                           const window *g, int64_t first, int64_t at, int64_t lanes)
{
    const int64_t x_step = g->x_step[2], w_step = g->w_step[2], next = g->x_next;
    const T *planes = (const T *)g->x + first * next + at, *weights = (const T *)g->w + at;
    T *y = (T *)g->y + first * g->y_next + at;
    V sum[SUMS];
    UNROLL for (int i = 0; i < n * m; i++) sum[i] = (V){0};
    for (int64_t p = 0; p < g->n[0]; p++, planes += g->x_step[0], weights += g->w_step[0]) {
        const T *line = planes, *line_w = weights;
        for (int64_t r = 0; r < g->n[1]; r++, line += g->x_step[1], line_w += g->w_step[1]) {
            if (shared) {
                FN(shared_taps)(shared, n, m, left, right, line, next, line_w, w_step, lanes, sum);
                continue;
            }
            const T *x = line + left * x_step, *w = line_w + left * w_step;
            for (int64_t t = g->n[2] - right - left; t > 0; t--, x += x_step, w += w_step)
                FN(tap)(n, m, x, next, w, lanes, sum);
        }
    }
#if defined(FINISHES)
    FN(add_and_clamp)(n, m, g, at, lanes, sum);
#endif
    UNROLL for (int i = 0; i < n; i++)
        UNROLL for (int v = 0; v < m; v++)
            FN(store_upto)(y + i * g->y_next + v * LANES, sum[i * m + v], lanes);
}

/* Same for all channels. The last vector overlaps the vector before it. */
DF_INLINE void FN(all_channels)(const int n, const int m, const int shared, const window *g,
                                int64_t first)
{
    const int64_t left = df_max(g->left - first, 0);
    const int64_t right = df_max(g->right - (g->count - first - n), 0);
    int64_t at = 0;
    if (shared < 5 && g->channels < LANES) {
        FN(results)(n, 1, shared, left, right, g, first, 0, g->channels);
        return;
    }
    if (m > 1)
        for (; at + m * LANES <= g->channels; at += m * LANES)
            FN(results)(n, m, shared, left, right, g, first, at, LANES);
    for (; at < g->channels; at += LANES)
        FN(results)(n, 1, shared, left, right, g, first, df_min(at, g->channels - LANES), LANES);
}

#if defined(FINISHES)
/* Applies the steps to n consecutive results from `first` on, m vectors of channels. */
DF_INLINE void FN(finish_block)(const int n, const int m, const window *g, int64_t first,
                                int64_t at, int64_t lanes)
{
    T *y = (T *)g->y + first * g->y_next + at;
    int64_t starts[4];
    V sum[SUMS];
    UNROLL for (int i = 0; i < n; i++) starts[i] = i * g->y_next;
    UNROLL for (int i = 0; i < n; i++)
        UNROLL for (int v = 0; v < m; v++)
            sum[i * m + v] = FN(load_upto)(y + starts[i] + v * LANES, lanes);
    FN(finish)(g->finish, n, m, m, lanes, g->at + first * g->y_next + at, starts, g->column + at,
               sum);
    UNROLL for (int i = 0; i < n; i++)
        UNROLL for (int v = 0; v < m; v++)
            FN(store_upto)(y + i * g->y_next + v * LANES, sum[i * m + v], lanes);
}

/* Applies the steps to a run while it is in cache. */
static void FN(finish_run)(const window *g)
{
    const int m = SUMS / 4;
    const df_finish_kind kind = g->finish->steps[0].kind;
    int64_t i = 0;
    if (g->finish->n == 1 && df_finish_maps(kind)) {
        const bool dense = g->channels == g->y_next;
        for (; i < g->count; i += dense ? g->count : 1)
            FN(map_run)(kind, (T *)g->y + i * g->y_next, g->channels * (dense ? g->count : 1));
        return;
    }
    for (; i + 4 <= g->count; i += 4) {
        int64_t at = 0;
        for (; at + m * LANES <= g->channels; at += m * LANES)
            FN(finish_block)(4, m, g, i, at, LANES);
        for (; at < g->channels; at += LANES)
            FN(finish_block)(4, 1, g, i, at, df_min(LANES, g->channels - at));
    }
    for (; i < g->count; i++) {
        int64_t at = 0;
        for (; at + 4 * LANES <= g->channels; at += 4 * LANES)
            FN(finish_block)(1, 4, g, i, at, LANES);
        for (; at < g->channels; at += LANES)
            FN(finish_block)(1, 1, g, i, at, df_min(LANES, g->channels - at));
    }
}
#endif

/* Computes the results of a run. The last block of a long run overlaps the block before it. */
static void FN(run_results)(const window *given)
{
    const window copy = *given, *g = &copy; /* a local copy, so that stores cannot alias it */
    const int64_t shared = g->shared ? g->n[2] : 0;
    const bool five = FIVE && shared == 5 && g->channels >= LANES;
    const bool lacking = shared == 5 && !five && (g->left || g->right);
    int64_t i = 0;
    if (g->count >= 8 && !lacking) {
        for (; i < g->count; i += 8) {
            const int64_t first = df_min(i, g->count - 8);
            if (shared == 3) FN(all_channels)(8, SUMS / 8, 3, g, first);
            else if (five) FN(all_channels)(8, SUMS / 8, 5, g, first);
            else FN(all_channels)(8, SUMS / 8, 0, g, first);
        }
    } else if (g->count >= 4 && !lacking) {
        for (; i < g->count; i += 4) {
            const int64_t first = df_min(i, g->count - 4);
            if (shared == 3) FN(all_channels)(4, 2, 3, g, first);
            else if (five) FN(all_channels)(4, 2, 5, g, first);
            else FN(all_channels)(4, 2, 0, g, first);
        }
    } else {
        for (; i < g->count; i++) FN(all_channels)(1, 4, 0, g, i);
    }
#if defined(FINISHES)
    if (g->finish) FN(finish_run)(g);
#endif
}

/* Adds the products of n neighbouring results of y with x to the sums of rows x cols taps; the
 * sizes are constants. If n > 1, the results share their sources. */
DF_INLINE void FN(taps)(const int n, const int rows, const int cols, int64_t left, int64_t right,
                        const window *g, const T *x, const T *by, int64_t lanes, V sums[9])
{
    V y[4], sum[9];
    UNROLL for (int t = 0; t < rows * cols; t++) sum[t] = sums[t];
    UNROLL for (int k = 0; k < n; k++) y[k] = FN(load_upto)(by + k * g->y_next, lanes);
    UNROLL for (int j = 0; j < cols + n - 1; j++) {
        if (FN(lacks)(j, n, cols, left, right)) continue;
        UNROLL for (int r = 0; r < rows; r++) {
            const V source = FN(load_upto)(x + r * g->x_step[1] + j * g->x_step[2], lanes);
            UNROLL for (int s = 0; s < cols; s++)
                if (j - s >= 0 && j - s < n)
                    sum[r * cols + s] = FN(fma)(source, y[j - s], sum[r * cols + s]);
        }
    }
    UNROLL for (int t = 0; t < rows * cols; t++) sums[t] = sum[t];
}

/* Same for all results of the run, for `channels` channels. */
DF_INLINE void FN(taps_of_channels)(const int n, const int rows, const int cols, int64_t first,
                                    const window *g, const T *x, int64_t at, int64_t channels,
                                    V sum[][9])
{
    const int64_t left = df_max(g->left - first, 0);
    const int64_t right = df_max(g->right - (g->count - first - n), 0);
    const T *y = (const T *)g->y + first * g->y_next + at;
    int64_t c = 0;
    x += first * g->x_next + at;
    for (; c + LANES <= channels; c += LANES)
        FN(taps)(n, rows, cols, left, right, g, x + c, y + c, LANES, sum[c / LANES]);
    if (c < channels)
        FN(taps)(n, rows, cols, left, right, g, x + c, y + c, channels - c, sum[c / LANES]);
}

/* Adds the products of x and y of a run to rows x cols taps of the weights. */
DF_INLINE void FN(taps_of_all)(const int rows, const int cols, const window *g, const T *x, T *w)
{
    V sum[VECTORS][9];
    for (int64_t at = 0; at < g->channels; at += VECTORS * LANES) {
        const int64_t channels = df_min(VECTORS * LANES, g->channels - at);
        int64_t i = 0;
        memset(sum, 0, (size_t)df_ceil_div(channels, LANES) * sizeof sum[0]);
        if (g->shared)
            for (; i + 4 <= g->count; i += 4)
                FN(taps_of_channels)(4, rows, cols, i, g, x, at, channels, sum);
        for (; i < g->count; i++)
            FN(taps_of_channels)(1, rows, cols, i, g, x, at, channels, sum);
        for (int t = 0; t < rows * cols; t++)
            for (int64_t c = 0; c < channels; c += LANES) {
                T *to = w + at + c + t / cols * g->w_step[1] + t % cols * g->w_step[2];
                const int64_t lanes = df_min(LANES, channels - c);
                FN(store_upto)(to, FN(load_upto)(to, lanes) + sum[c / LANES][t], lanes);
            }
    }
}

DF_INLINE void FN(taps_of_rows)(const int rows, const window *g, const T *x, T *w)
{
    int64_t left = g->n[2];
    for (; left >= 3; left -= 3, x += 3 * g->x_step[2], w += 3 * g->w_step[2])
        FN(taps_of_all)(rows, 3, g, x, w);
    if (left == 2) FN(taps_of_all)(rows, 2, g, x, w);
    if (left == 1) FN(taps_of_all)(rows, 1, g, x, w);
}

static void FN(run_weights)(const window *given)
{
    const window copy = *given, *g = &copy;
    for (int64_t p = 0; p < g->n[0]; p++) {
        const T *x = (const T *)g->x + p * g->x_step[0];
        T *w = (T *)g->w + p * g->w_step[0];
        int64_t left = g->n[1];
        for (; SEVERAL_ROWS && left >= 3; left -= 3, x += 3 * g->x_step[1], w += 3 * g->w_step[1])
            FN(taps_of_rows)(3, g, x, w);
        for (; SEVERAL_ROWS && left == 2; left -= 2, x += 2 * g->x_step[1], w += 2 * g->w_step[1])
            FN(taps_of_rows)(2, g, x, w);
        for (; left; left--, x += g->x_step[1], w += g->w_step[1]) FN(taps_of_rows)(1, g, x, w);
    }
}

/* spread: repeats each of n channels `times` times. The reverse sums the repetitions. */
static void FN(spread)(void *to, const void *from, int64_t n, int64_t times)
{
    const T *x = from;
    T *y = to;
    for (int64_t i = 0; i < n; i++)
        for (int64_t m = 0; m < times; m++) y[i * times + m] = x[i];
}

static void FN(gather)(void *to, const void *from, int64_t n, int64_t times)
{
    const T *x = from;
    T *y = to;
    for (int64_t i = 0; i < n; i++) {
        y[i] = 0;
        for (int64_t m = 0; m < times; m++) y[i] += x[i * times + m];
    }
}

/* Sums n_sums arrays, n elements apart, for elements [begin, end). */
static void FN(add_up)(void *to, const void *from, int64_t n_sums, int64_t n, int64_t begin,
                       int64_t end)
{
    const T *x = from;
    T *y = to;
    for (int64_t i = begin; i < end; i++) y[i] = x[i];
    for (int64_t s = 1; s < n_sums; s++)
        for (int64_t i = begin; i < end; i++) y[i] += x[s * n + i];
}

#undef SEVERAL_ROWS
#undef FIVE
