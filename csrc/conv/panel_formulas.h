/* Included once per dtype: the register-blocked kernel, packing, and scattered sums. */

/* Computes height x (cols vectors) of C; height, cols and partial are constants at every call. Rows
 * beyond the last one repeat it and are not stored. */
DF_INLINE void FN(block)(const int height, const int cols, const bool partial,
                         const df_conv_panel *p, prefetch *fetch, int64_t row)
{
    const int64_t n_last = p->cols - (cols - 1) * LANES, n_rows = df_min(p->n_rows - row, height);
    const int64_t step = p->step, b_row = p->b_row;
    const bool masked = partial && DF_CONV_LOADS_PARTS;
    const bool fetches = sizeof(T) == 4 && height > REST; /* blocks of the last rows are rare */
    const T *b = p->b, *a[HEIGHT];
    V sum[HEIGHT][DF_CONV_COLS];
    UNROLL for (int i = 0; i < height; i++)
        a[i] = (const T *)p->a + p->rows[row + df_min(i, n_rows - 1)];
    UNROLL for (int i = 0; i < height; i++)
        UNROLL for (int j = 0; j < cols; j++) sum[i][j] = (V){0};

    for (const df_conv_segment *s = p->segments; s < p->segments + p->n_segments; s++) {
        const int64_t end = s->offset + s->length * step;
        b += s->skip * b_row;
        for (int64_t at = s->offset; at < end;) {
            int64_t stop = end;
            if (fetches && fetch->lines > 0) {
                stop = df_min(end, at + FETCH_STEPS * step);
                prefetch_some(fetch);
            }
            for (; at < stop; at += step) {
                V line[DF_CONV_COLS];
                UNROLL for (int j = 0; j < cols; j++)
                    line[j] = masked && j == cols - 1 ? FN(load_n)(b + j * LANES, n_last)
                                                      : FN(load)(b + j * LANES);
                UNROLL for (int i = 0; i < height; i++) {
                    const V x = FN(splat)(a[i][at]);
                    UNROLL for (int j = 0; j < cols; j++)
                        sum[i][j] = FN(fma)(x, line[j], sum[i][j]);
                }
                b += b_row;
            }
        }
    }

    T *c = p->c;
    const int64_t lanes = partial ? n_last : LANES;
    int64_t to[HEIGHT];
    UNROLL for (int i = 0; i < height; i++) {
        const int64_t at = row + df_min(i, n_rows - 1);
        to[i] = p->c_rows ? p->c_rows[at] : at * p->c_row;
    }
    if (p->accumulate)
        UNROLL for (int i = 0; i < height; i++)
            UNROLL for (int j = 0; j < cols; j++)
                sum[i][j] += FN(load_upto)(c + to[i] + j * LANES, j == cols - 1 ? lanes : LANES);
#if defined(FINISHES)
    if (p->finish)
        FN(finish)(p->finish, height, cols, DF_CONV_COLS, lanes, p->at, to, p->column, &sum[0][0]);
#endif
    UNROLL for (int i = 0; i < height; i++) {
        if (i >= n_rows) break;
        UNROLL for (int j = 0; j < cols; j++)
            FN(store_upto)(c + to[i] + j * LANES, sum[i][j], j == cols - 1 ? lanes : LANES);
    }
}

#define HAS_REST (sizeof(T) == 4 && TALL > LOW) /* has kernels for the last rows */

#define PANEL(height, cols, partial)                                                               \
    for (int64_t row = 0; row < p->n_rows; row += height)                                          \
    FN(block)(height, cols, partial, p, &fetch, row)

/* Same, with a lower block for the last rows if they are few. */
#define PANEL_AND_REST(height, cols)                                                               \
    do {                                                                                           \
        int64_t row = 0;                                                                           \
        for (; p->n_rows - row > (HAS_REST ? REST : 0); row += height)                             \
            FN(block)(height, cols, false, p, &fetch, row);                                        \
        if (HAS_REST && row < p->n_rows) FN(block)(REST, cols, false, p, &fetch, row);             \
    } while (0)

static void FN(panel_whole)(const df_conv_panel *p)
{
    const int64_t vectors = p->cols / LANES;
    prefetch fetch = prefetch_of(p, vectors < DF_CONV_COLS ? TALL : LOW);
    if (vectors == 1) PANEL(TALL, 1, false);
    else if (vectors == 2) PANEL(TALL, 2, false);
    else if (vectors < DF_CONV_COLS) PANEL_AND_REST(TALL, 3);
    else PANEL_AND_REST(LOW, DF_CONV_COLS);
}

static void FN(panel_partial)(const df_conv_panel *p)
{
    const int64_t vectors = df_ceil_div(p->cols, LANES);
    prefetch fetch = prefetch_of(p, vectors < DF_CONV_COLS ? TALL : LOW);
    if (vectors == 1) PANEL(TALL, 1, true);
    else if (vectors == 2) PANEL(TALL, 2, true);
    else if (vectors < DF_CONV_COLS) PANEL(TALL, 3, true);
    else PANEL(LOW, DF_CONV_COLS, true);
}

#undef PANEL
#undef PANEL_AND_REST
#undef HAS_REST

/* Panels of whole vectors of float64 run the code for parts of vectors, which takes as long
 * and saves half of the kernel. */
static void FN(conv_panel)(const df_conv_panel *p)
{
    if (sizeof(T) == 8 || p->cols % LANES) FN(panel_partial)(p);
    else FN(panel_whole)(p);
}

static void FN(conv_pack)(void *packed, int64_t width, const void *source, int64_t rows,
                     int64_t row_step, int64_t cols, int64_t col_step)
{
    T *to = packed;
    const T *from = source;
    for (int64_t p = 0; p < rows; p++)
        memset(to + p * width + cols, 0, (size_t)(width - cols) * sizeof(T));
    if (col_step == 1)
        for (int64_t p = 0; p < rows; p++)
            memcpy(to + p * width, from + p * row_step, (size_t)cols * sizeof(T));
    else
        for (int64_t p0 = 0; p0 < rows; p0 += LANES) /* a cache line of rows at a time */
            for (int64_t j = 0; j < cols; j++)
                for (int64_t p = p0; p < df_min(p0 + LANES, rows); p++)
                    to[p * width + j] = from[p * row_step + j * col_step];
}

DF_INLINE void FN(copy)(T *to, const T *from, int64_t n)
{
    int64_t j = 0;
    for (; j + LANES <= n; j += LANES) FN(store)(to + j, FN(load)(from + j));
    if (j < n && DF_CONV_LOADS_PARTS) {
        FN(store_n)(to + j, FN(load_n)(from + j, n - j), n - j);
    } else {
        for (; j < n; j++) to[j] = from[j];
    }
}

static void FN(pack_runs)(void *packed, int64_t width, const void *a, const df_conv_segment *runs,
                          int64_t n_runs, const df_conv_segment *segments, int64_t n_segments,
                          int64_t step)
{
    for (int64_t r = 0; r < n_runs; r++) {
        T *to = packed;
        for (int64_t s = 0; s < n_segments; s++) {
            const T *from = (const T *)a + runs[r].offset + segments[s].offset;
            for (int64_t k = 0; k < segments[s].length; k++, from += step, to += width)
                FN(copy)(to, from, runs[r].length);
        }
        packed = (T *)packed + runs[r].length;
    }
}

static void FN(scatter)(void *base, const int64_t *rows, int64_t n_rows,
                        const df_conv_segment *runs, int64_t n_runs, const void *source,
                        int64_t from_row)
{
    for (int64_t i = 0; i < n_rows; i++) {
        const T *from = (const T *)source + i * from_row;
        for (int64_t r = 0; r < n_runs; r++) {
            T *to = (T *)base + rows[i] + runs[r].offset;
            const int64_t n = runs[r].length;
            int64_t j = 0;
            for (; j + LANES <= n; j += LANES)
                FN(store)(to + j, FN(load)(to + j) + FN(load)(from + j));
            if (j < n && DF_CONV_LOADS_PARTS) {
                FN(store_n)(to + j, FN(load_n)(to + j, n - j) + FN(load_n)(from + j, n - j), n - j);
            } else {
                for (; j < n; j++) to[j] += from[j];
            }
            from += n;
        }
    }
}
