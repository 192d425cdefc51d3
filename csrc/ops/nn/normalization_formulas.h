/* Part of normalization.c, included once per floating dtype: normalization of rows. */

/* The functions below are compiled once per number of parameters, a constant: 0, 1 (scale) or 2
 * (scale and offset); other pointers are not dereferenced. */

/* y = (x - mean) rate scale + offset. Prefetches elements of the next row, `ahead` elements
 * away. */
DF_INLINE void FN(normalize)(int n_params, T *y, const T *x, const norm_whole *w, const T *scale,
                             const T *offset, int64_t n, int64_t ahead)
{
    const V mean = FN(splat)((T)w->mean), rate = FN(splat)((T)w->rate);
    for (int64_t i = 0; i < n; i += LANES) {
        const int64_t some = i + LANES <= n ? LANES : n - i;
        __builtin_prefetch(x + ahead + i);
        V z = (FN(load_upto)(x + i, some) - mean) * rate;
        if (n_params > 0) z *= FN(load_upto)(scale + i, some);
        if (n_params > 1) z += FN(load_upto)(offset + i, some);
        FN(store_upto)(y + i, z, some);
    }
}

/* The dtype of tensors in memory; a constant if no dtype is widened to DTYPE. */
#define STORED(of) (sizeof(T) == 4 ? (of)->stored : DF_F64)

#define ROWS_MAX 2

typedef struct {
    V mean, rate, level, slope;
} FN(whole);

/* One vector of each of a few rows. All loads of the sums come first: the sums are often a multiple
 * of 4 KB away from the rows, and a load after a store to an address with the same low 12 bits
 * stalls. */
DF_INLINE void FN(flow_back_at)(int n_params, int n_rows, T *d, const T *x, const T *g,
                                int64_t stride, const FN(whole) *w, const T *scale, T *to_scale,
                                T *to_offset, int64_t n)
{
    V by_scale = {0}, scale_sum = {0}, offset_sum = {0};
    if (n_params > 0) by_scale = FN(load_upto)(scale, n), scale_sum = FN(load_upto)(to_scale, n);
    if (n_params > 1) offset_sum = FN(load_upto)(to_offset, n);
#pragma GCC unroll 4
    for (int r = 0; r < n_rows; r++) {
        const V flow = FN(load_upto)(g + r * stride, n);
        const V z = (FN(load_upto)(x + r * stride, n) - w[r].mean) * w[r].rate;
        const V gs = n_params > 0 ? flow * by_scale : flow;
        FN(store_upto)(d + r * stride, (gs - w[r].level - z * w[r].slope) * w[r].rate, n);
        scale_sum += flow * z;
        offset_sum += flow;
    }
    if (n_params > 0) FN(store_upto)(to_scale, scale_sum, n);
    if (n_params > 1) FN(store_upto)(to_offset, offset_sum, n);
}

/* d = rate (g scale - level - z slope) in each of a few rows, a constant number; adds g z to
 * `to_scale` and g to `to_offset`. Processing two rows saves loads and stores of these sums; more
 * rows would not stay in L1 if they are a multiple of 4 KB apart. */
DF_INLINE void FN(flow_back)(int n_params, int n_rows, T *d, const T *x, const T *g,
                             int64_t stride, const norm_whole *wholes, const T *scale, T *to_scale,
                             T *to_offset, int64_t n)
{
    FN(whole) w[ROWS_MAX];
#pragma GCC unroll 4
    for (int r = 0; r < n_rows; r++)
        w[r] = (FN(whole)){FN(splat)((T)wholes[r].mean), FN(splat)((T)wholes[r].rate),
                           FN(splat)((T)wholes[r].level), FN(splat)((T)wholes[r].slope)};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        FN(flow_back_at)(n_params, n_rows, d + i, x + i, g + i, stride, w, scale + i, to_scale + i,
                         to_offset + i, LANES);
    if (i < n)
        FN(flow_back_at)(n_params, n_rows, d + i, x + i, g + i, stride, w, scale + i, to_scale + i,
                         to_offset + i, n - i);
}

/* --- rows of one chunk: all passes over a row while it is in L1 --- */

static void FN(normalize_rows)(const rows *r, int64_t begin, int64_t end)
{
    const T *scale = r->scale, *offset = r->offset;
    const int64_t n = r->n;
    const int64_t most = df_max(df_min(ROWS_PIECE / n, ROWS_AT_ONCE), 1);
    norm_whole w[ROWS_AT_ONCE];
    float wide[NORM_CHUNK] __attribute__((aligned(DF_ALIGNMENT)));
    for (int64_t i = begin, some; i < end; i += some) {
        some = df_min(most, end - i);
        const T *x = df_piece(STORED(r), r->x, i * n, some * n, wide);
        T *y = df_piece_to(STORED(r), r->out, i * n, wide);
        for (int64_t k = 0; k < some; k++) {
            const norm_part p = FN(part_of)(r->kind.mode, x + k * n, NULL, NULL, n);
            w[k] = norm_finish(&r->kind, &p);
        }
        for (int64_t k = 0, at = 0; k < some; k++, at += n)
            if (r->n_params == 2) FN(normalize)(2, y + at, x + at, &w[k], scale, offset, n, n);
            else if (r->n_params) FN(normalize)(1, y + at, x + at, &w[k], scale, scale, n, n);
            else FN(normalize)(0, y + at, x + at, &w[k], x, x, n, n);
        df_piece_done(STORED(r), r->out, i * n, some * n, wide);
    }
}

/* Rows [begin, end) of a block: sums the gradients of scale and offset in the sums of the block. */
static void FN(flow_back_rows)(const rows *r, int64_t begin, int64_t end)
{
    const T *scale = r->scale;
    T *sums = NULL;
    const int64_t n = r->n;
    float wide[2][NORM_CHUNK] __attribute__((aligned(DF_ALIGNMENT)));
    if (scale) {
        sums = (T *)r->sums + begin / r->block * r->n_params * r->width;
        memset(sums, 0, (size_t)(r->n_params * r->width) * sizeof(T));
    }
    for (int64_t i = begin; i < end;) {
        const int few = sums && i + ROWS_MAX <= end && ROWS_MAX * n <= NORM_CHUNK ? ROWS_MAX : 1;
        const T *x = df_piece(STORED(r), r->x, i * n, few * n, wide[0]);
        const T *g = df_piece(STORED(r), r->g, i * n, few * n, wide[1]);
        T *d = df_piece_to(STORED(r), r->out, i * n, wide[0]);
        norm_whole w[ROWS_MAX];
        for (int k = 0; k < few; k++) {
            const norm_part p = FN(part_of)(r->kind.mode, x + k * n, g + k * n, scale, n);
            w[k] = norm_finish(&r->kind, &p);
        }
        T *more = sums ? sums + r->width : sums;
        if (r->n_params == 2 && few > 1)
            FN(flow_back)(2, ROWS_MAX, d, x, g, n, w, scale, sums, more, n);
        else if (r->n_params == 1 && few > 1)
            FN(flow_back)(1, ROWS_MAX, d, x, g, n, w, scale, sums, d, n);
        else if (r->n_params == 2) FN(flow_back)(2, 1, d, x, g, n, w, scale, sums, more, n);
        else if (r->n_params == 1) FN(flow_back)(1, 1, d, x, g, n, w, scale, sums, d, n);
        else FN(flow_back)(0, 1, d, x, g, n, w, x, d, d, n);
        df_piece_done(STORED(r), r->out, i * n, few * n, wide[0]);
        i += few;
    }
}

/* out = the sum of the sums of the blocks, (blocks, n), which are `stride` apart. */
static void FN(sum_blocks)(void *out, const void *sums, int64_t blocks, int64_t n, int64_t stride)
{
    FN(reduce_columns)(out, sums, NULL, blocks, n, stride, 0, FN(plain), FN(plus));
}

/* --- longer rows: chunks [begin, end) of (rows, chunks), or of chunks of all rows --- */

static void FN(measure_chunks)(const rows *r, int64_t begin, int64_t end)
{
    const T *scale = r->scale;
    float wide[2][NORM_CHUNK] __attribute__((aligned(DF_ALIGNMENT)));
    for (int64_t i = begin; i < end; i++) {
        const int64_t from = i % r->n_chunks * NORM_CHUNK, at = i / r->n_chunks * r->n + from;
        const int64_t some = df_min(NORM_CHUNK, r->n - from);
        const T *x = df_piece(STORED(r), r->x, at, some, wide[0]);
        const T *g = r->g ? df_piece(STORED(r), r->g, at, some, wide[1]) : NULL;
        r->parts[i] = FN(part_of)(r->kind.mode, x, g, g && scale ? scale + from : NULL, some);
    }
}

static void FN(normalize_chunks)(const rows *r, int64_t begin, int64_t end)
{
    const T *scale = r->scale, *offset = r->offset;
    float wide[NORM_CHUNK] __attribute__((aligned(DF_ALIGNMENT)));
    for (int64_t i = begin; i < end; i++) {
        const int64_t from = i % r->n_chunks * NORM_CHUNK, at = i / r->n_chunks * r->n + from;
        const int64_t some = df_min(NORM_CHUNK, r->n - from);
        const norm_whole *w = &r->wholes[i / r->n_chunks];
        const T *x = df_piece(STORED(r), r->x, at, some, wide);
        T *y = df_piece_to(STORED(r), r->out, at, wide);
        if (r->n_params == 2) FN(normalize)(2, y, x, w, scale + from, offset + from, some, 0);
        else if (r->n_params == 1) FN(normalize)(1, y, x, w, scale + from, scale, some, 0);
        else FN(normalize)(0, y, x, w, x, x, some, 0);
        df_piece_done(STORED(r), r->out, at, some, wide);
    }
}

static void FN(flow_back_chunks)(const rows *r, int64_t begin, int64_t end)
{
    const T *scale = r->scale;
    T *to_scale = r->to_scale, *to_offset = r->to_offset;
    float wide[2][NORM_CHUNK] __attribute__((aligned(DF_ALIGNMENT)));
    for (int64_t chunk = begin; chunk < end; chunk++) {
        const int64_t from = chunk * NORM_CHUNK, n = df_min(NORM_CHUNK, r->n - from);
        if (to_scale) memset(to_scale + from, 0, (size_t)n * sizeof(T));
        if (to_offset) memset(to_offset + from, 0, (size_t)n * sizeof(T));
        for (int64_t i = 0; i < r->n_rows; i++) {
            const int64_t at = i * r->n + from;
            const norm_whole *w = &r->wholes[i];
            const T *x = df_piece(STORED(r), r->x, at, n, wide[0]);
            const T *g = df_piece(STORED(r), r->g, at, n, wide[1]);
            T *d = df_piece_to(STORED(r), r->out, at, wide[0]);
            if (r->n_params == 2)
                FN(flow_back)(2, 1, d, x, g, 0, w, scale + from, to_scale + from,
                              to_offset + from, n);
            else if (r->n_params == 1)
                FN(flow_back)(1, 1, d, x, g, 0, w, scale + from, to_scale + from, d, n);
            else FN(flow_back)(0, 1, d, x, g, 0, w, x, d, d, n);
            df_piece_done(STORED(r), r->out, at, n, wide[0]);
        }
    }
}

#undef ROWS_MAX
#undef STORED
