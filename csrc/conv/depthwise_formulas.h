/* Part of depthwise.c, included once per floating dtype. Channels are in lanes. */

#define UNROLL _Pragma("GCC unroll 16")

DF_INLINE V FN(some)(const T *p, int64_t lanes)
{
    return lanes == LANES ? FN(load)(p) : FN(load_n)(p, lanes);
}

DF_INLINE void FN(put)(T *p, V v, int64_t lanes)
{
    if (lanes == LANES) FN(store)(p, v);
    else FN(store_n)(p, v, lanes);
}

/* Adds the products of one tap to n x m sums: of neighbouring results, and vectors of channels.
 * Sources go by three per pointer, because base + {0, 1, 2} * next is one address each. */
DF_INLINE void FN(tap)(const int n, const int m, const T *x, int64_t next, const T *w,
                       int64_t lanes, V sum[SUMS])
{
    const T *three[3] = {x, x + 3 * next, x + 6 * next};
    V by[4];
    UNROLL for (int v = 0; v < m; v++) by[v] = FN(some)(w + v * LANES, lanes);
    UNROLL for (int i = 0; i < n; i++)
        UNROLL for (int v = 0; v < m; v++)
            sum[i * m + v] = FN(fma)(FN(some)(three[i / 3] + i % 3 * next + v * LANES, lanes),
                                     by[v], sum[i * m + v]);
}

/* The same for three taps, where neighbouring results share sources: each is loaded once. */
DF_INLINE void FN(three_taps)(const int n, const int m, const T *x, int64_t next, const T *w,
                              int64_t w_step, int64_t lanes, V sum[SUMS])
{
    const T *three[4] = {x, x + 3 * next, x + 6 * next, x + 9 * next};
    V by[3][4];
    UNROLL for (int s = 0; s < 3; s++)
        UNROLL for (int v = 0; v < m; v++) by[s][v] = FN(some)(w + s * w_step + v * LANES, lanes);
    UNROLL for (int j = 0; j < n + 2; j++)
        UNROLL for (int v = 0; v < m; v++) {
            const V source = FN(some)(three[j / 3] + j % 3 * next + v * LANES, lanes);
            UNROLL for (int s = 0; s < 3; s++)
                if (j - s >= 0 && j - s < n)
                    sum[(j - s) * m + v] = FN(fma)(source, by[s][v], sum[(j - s) * m + v]);
        }
}

/* The taps of a line of the window. `shared`: the next result's sources are these, one tap on; or
 * one tap back, and the three are taken in that order. */
DF_INLINE void FN(line)(const int n, const int m, const bool shared, const window *g, const T *x,
                        const T *w, int64_t lanes, V sum[SUMS])
{
    const int64_t x_step = g->x_step[2], w_step = g->w_step[2], next = g->x_next;
    int64_t left = g->n[2];
    if (shared)
        for (; left >= 3; left -= 3, x += 3 * x_step, w += 3 * w_step) {
            if (x_step == next) FN(three_taps)(n, m, x, next, w, w_step, lanes, sum);
            else FN(three_taps)(n, m, x + 2 * x_step, next, w + 2 * w_step, -w_step, lanes, sum);
        }
    for (; left > 0; left--, x += x_step, w += w_step) FN(tap)(n, m, x, next, w, lanes, sum);
}

/* n results in a row, m vectors of their channels. */
DF_INLINE void FN(results)(const int n, const int m, const bool shared, const window *g,
                           const T *x, T *y, int64_t at, int64_t lanes)
{
    V sum[SUMS];
    UNROLL for (int i = 0; i < n * m; i++) sum[i] = (V){0};
    for (int64_t p = 0; p < g->n[0]; p++)
        for (int64_t r = 0; r < g->n[1]; r++)
            FN(line)(n, m, shared, g, x + at + p * g->x_step[0] + r * g->x_step[1],
                     (const T *)g->w + at + p * g->w_step[0] + r * g->w_step[1], lanes, sum);
    UNROLL for (int i = 0; i < n; i++)
        UNROLL for (int v = 0; v < m; v++)
            FN(put)(y + at + i * g->y_next + v * LANES, sum[i * m + v], lanes);
}

DF_INLINE void FN(all_channels)(const int n, const int m, const bool shared, const window *g,
                                int64_t first)
{
    const T *x = (const T *)g->x + first * g->x_next;
    T *y = (T *)g->y + first * g->y_next;
    int64_t at = 0;
    if (m > 1)
        for (; at + m * LANES <= g->channels; at += m * LANES)
            FN(results)(n, m, shared, g, x, y, at, LANES);
    for (; at + LANES <= g->channels; at += LANES)
        FN(results)(n, 1, shared, g, x, y, at, LANES);
    if (at < g->channels) FN(results)(n, 1, shared, g, x, y, at, g->channels - at);
}

/* The results of a run; the last ones of a long run together with some before them, again. */
static void FN(run_results)(const window *given)
{
    const window copy = *given, *g = &copy; /* no store can change it */
    const bool shared = g->x_next == g->x_step[2] || g->x_next == -g->x_step[2];
    int64_t i = 0;
    if (g->count >= 8) {
        for (; i < g->count; i += 8) {
            const int64_t first = df_min(i, g->count - 8);
            if (shared) FN(all_channels)(8, SUMS / 8, true, g, first);
            else FN(all_channels)(8, SUMS / 8, false, g, first);
        }
        return;
    }
    if (g->count >= 4)
        for (; i < g->count; i += 4) FN(all_channels)(4, 2, false, g, df_min(i, g->count - 4));
    for (; i < g->count; i++) FN(all_channels)(1, 4, false, g, i);
}

/* Adds a run's products of x and y to rows x cols taps of the weights, all constants. `shared`:
 * the next result's sources are these, one tap on. */
DF_INLINE void FN(taps)(const int rows, const int cols, const bool shared, const window *g,
                        const T *x, T *w, int64_t at, int64_t lanes)
{
    const T *from = x + at, *by = (const T *)g->y + at;
    int64_t left = g->count;
    V sum[3][3];
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int s = 0; s < cols; s++) sum[r][s] = (V){0};
    for (; shared && left >= 4; left -= 4, from += 4 * g->x_next, by += 4 * g->y_next) {
        V y[4];
        UNROLL for (int i = 0; i < 4; i++) y[i] = FN(some)(by + i * g->y_next, lanes);
        UNROLL for (int r = 0; r < rows; r++)
            UNROLL for (int j = 0; j < cols + 3; j++) {
                const V source = FN(some)(from + r * g->x_step[1] + j * g->x_next, lanes);
                UNROLL for (int s = 0; s < cols; s++)
                    if (j - s >= 0 && j - s < 4) sum[r][s] = FN(fma)(source, y[j - s], sum[r][s]);
            }
    }
    for (; left > 0; left--, from += g->x_next, by += g->y_next) {
        const V y = FN(some)(by, lanes);
        UNROLL for (int r = 0; r < rows; r++)
            UNROLL for (int s = 0; s < cols; s++) {
                const T *p = from + r * g->x_step[1] + s * g->x_step[2];
                sum[r][s] = FN(fma)(FN(some)(p, lanes), y, sum[r][s]);
            }
    }
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int s = 0; s < cols; s++) {
            T *to = w + at + r * g->w_step[1] + s * g->w_step[2];
            FN(put)(to, FN(some)(to, lanes) + sum[r][s], lanes);
        }
}

DF_INLINE void FN(taps_of_lanes)(const int rows, const int cols, const window *g, const T *x, T *w,
                                 int64_t at, int64_t lanes)
{
    if (g->x_next == g->x_step[2] && g->count >= 4)
        FN(taps)(rows, cols, true, g, x, w, at, lanes);
    else
        FN(taps)(rows, cols, false, g, x, w, at, lanes);
}

DF_INLINE void FN(taps_of_all)(const int rows, const int cols, const window *g, const T *x, T *w)
{
    int64_t at = 0;
    for (; at + LANES <= g->channels; at += LANES)
        FN(taps_of_lanes)(rows, cols, g, x, w, at, LANES);
    if (at < g->channels) FN(taps_of_lanes)(rows, cols, g, x, w, at, g->channels - at);
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
        for (; left >= 3; left -= 3, x += 3 * g->x_step[1], w += 3 * g->w_step[1])
            FN(taps_of_rows)(3, g, x, w);
        if (left == 2) FN(taps_of_rows)(2, g, x, w);
        if (left == 1) FN(taps_of_rows)(1, g, x, w);
    }
}

/* Each channel of x, n of them, `times` times in a row; and the sums of such. */
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

/* The sum of n_sums arrays, elements [begin, end), n apart. */
static void FN(add_up)(void *to, const void *from, int64_t n_sums, int64_t n, int64_t begin,
                       int64_t end)
{
    const T *x = from;
    T *y = to;
    for (int64_t i = begin; i < end; i++) y[i] = x[i];
    for (int64_t s = 1; s < n_sums; s++)
        for (int64_t i = begin; i < end; i++) y[i] += x[s * n + i];
}

#undef UNROLL
