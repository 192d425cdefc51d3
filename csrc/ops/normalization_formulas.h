/* Part of normalization.c, included once per floating dtype: rows that are normalized. */

DF_INLINE V FN(square_around)(V x, V mean) { return (x - mean) * (x - mean); }

/* sum of g and of g (x - mean); g is multiplied by `scale` where there is one. */
DF_INLINE void FN(flow_of)(norm_part *p, const T *x, const T *g, const T *scale, int64_t n)
{
    const V mean = FN(splat)((T)p->mean);
    V flow[4] = {{0}, {0}, {0}, {0}}, moment[4] = {{0}, {0}, {0}, {0}};
    int64_t i = 0;
    for (; i + 4 * LANES <= n; i += 4 * LANES)
#pragma GCC unroll 4
        for (int k = 0; k < 4; k++) {
            const int64_t at = i + k * LANES;
            const V gs = scale ? FN(load)(g + at) * FN(load)(scale + at) : FN(load)(g + at);
            flow[k] += gs;
            moment[k] = FN(fma)(gs, FN(load)(x + at) - mean, moment[k]);
        }
    for (; i < n; i += LANES) {
        const int64_t rest = df_min(LANES, n - i);
        const bool whole = rest == LANES;
        V gs = whole ? FN(load)(g + i) : FN(load_n)(g + i, rest); /* 0 beyond the end */
        if (scale) gs *= whole ? FN(load)(scale + i) : FN(load_n)(scale + i, rest);
        flow[0] += gs;
        moment[0] = FN(fma)(gs, (whole ? FN(load)(x + i) : FN(load_n)(x + i, rest)) - mean,
                            moment[0]);
    }
    p->flow = FN(reduce_lanes)((flow[0] + flow[1]) + (flow[2] + flow[3]), FN(plus));
    p->moment = FN(reduce_lanes)((moment[0] + moment[1]) + (moment[2] + moment[3]), FN(plus));
}

/* The statistics of n <= CHUNK numbers, in two passes: nothing cancels. */
static norm_part FN(part_of)(norm_mode mode, const T *x, const T *g, const T *scale, int64_t n)
{
    norm_part p = {.n = (double)n};
    if (mode == BY_DEVIATION)
        p.mean = FN(reduce_row)(x, n, (V){0}, (V){0}, FN(plain), FN(plus)) / (T)n;
    p.deviation = FN(reduce_row)(x, n, FN(splat)((T)p.mean), (V){0}, FN(square_around), FN(plus));
    if (g) FN(flow_of)(&p, x, g, scale, n);
    return p;
}

/* y = (x - mean) rate scale + offset; the last two may be NULL. What lies `ahead`, in the next row,
 * is on its way meanwhile. */
DF_INLINE void FN(normalize)(T *y, const T *x, const norm_whole *w, const T *scale,
                             const T *offset, int64_t n, int64_t ahead)
{
    const V mean = FN(splat)((T)w->mean), rate = FN(splat)((T)w->rate);
    for (int64_t i = 0; i < n; i += LANES) {
        const int64_t rest = df_min(LANES, n - i);
        const bool whole = rest == LANES;
        __builtin_prefetch(x + ahead + i);
        V z = ((whole ? FN(load)(x + i) : FN(load_n)(x + i, rest)) - mean) * rate;
        if (scale) z *= whole ? FN(load)(scale + i) : FN(load_n)(scale + i, rest);
        if (offset) z += whole ? FN(load)(offset + i) : FN(load_n)(offset + i, rest);
        if (whole) FN(store)(y + i, z);
        else FN(store_n)(y + i, z, rest);
    }
}

/* d = rate (g scale - level - z slope); g z is added to `to_scale` and g to `to_offset`, if there
 * are any. */
DF_INLINE void FN(flow_back)(T *d, const T *x, const T *g, const norm_whole *w, const T *scale,
                             T *to_scale, T *to_offset, int64_t n, int64_t ahead)
{
    const V mean = FN(splat)((T)w->mean), rate = FN(splat)((T)w->rate);
    const V level = FN(splat)((T)w->level), slope = FN(splat)((T)w->slope);
    for (int64_t i = 0; i < n; i += LANES) {
        const int64_t rest = df_min(LANES, n - i);
        const bool whole = rest == LANES;
        __builtin_prefetch(x + ahead + i);
        __builtin_prefetch(g + ahead + i);
        const V z = ((whole ? FN(load)(x + i) : FN(load_n)(x + i, rest)) - mean) * rate;
        const V flow = whole ? FN(load)(g + i) : FN(load_n)(g + i, rest);
        V gs = flow;
        if (scale) gs *= whole ? FN(load)(scale + i) : FN(load_n)(scale + i, rest);
        const V back = (gs - level - z * slope) * rate;
        if (whole) FN(store)(d + i, back);
        else FN(store_n)(d + i, back, rest);
        if (to_scale && whole) FN(store)(to_scale + i, FN(load)(to_scale + i) + flow * z);
        else if (to_scale) FN(store_n)(to_scale + i, FN(load_n)(to_scale + i, rest) + flow * z, rest);
        if (to_offset && whole) FN(store)(to_offset + i, FN(load)(to_offset + i) + flow);
        else if (to_offset) FN(store_n)(to_offset + i, FN(load_n)(to_offset + i, rest) + flow, rest);
    }
}

/* --- rows of one chunk: all that is done to one while it is in L1 --- */

static void FN(normalize_rows)(const rows *r, int64_t begin, int64_t end)
{
    const T *x = r->x, *scale = r->scale, *offset = r->offset;
    T *y = r->out;
    const int64_t n = r->n;
    for (int64_t i = begin; i < end; i++) {
        const norm_part p = FN(part_of)(r->kind.mode, x + i * n, NULL, NULL, n);
        const norm_whole w = norm_finish(&r->kind, &p);
        if (offset) FN(normalize)(y + i * n, x + i * n, &w, scale, offset, n, n);
        else if (scale) FN(normalize)(y + i * n, x + i * n, &w, scale, NULL, n, n);
        else FN(normalize)(y + i * n, x + i * n, &w, NULL, NULL, n, n);
    }
}

/* Rows [begin, end), a block: what flows to scale and offset is summed in the block's own place. */
static void FN(flow_back_rows)(const rows *r, int64_t begin, int64_t end)
{
    const T *x = r->x, *g = r->g, *scale = r->scale;
    T *d = r->out, *sums = NULL;
    const int64_t n = r->n;
    if (scale) {
        sums = (T *)r->sums + begin / r->block * r->n_params * n;
        memset(sums, 0, (size_t)(r->n_params * n) * sizeof(T));
    }
    for (int64_t i = begin; i < end; i++) {
        const int64_t at = i * n;
        const norm_part p = FN(part_of)(r->kind.mode, x + at, g + at, scale, n);
        const norm_whole w = norm_finish(&r->kind, &p);
        if (r->n_params == 2)
            FN(flow_back)(d + at, x + at, g + at, &w, scale, sums, sums + n, n, n);
        else if (r->n_params == 1)
            FN(flow_back)(d + at, x + at, g + at, &w, scale, sums, NULL, n, n);
        else FN(flow_back)(d + at, x + at, g + at, &w, NULL, NULL, NULL, n, n);
    }
}

/* out = sums of the blocks' sums, (blocks, n), which lie `stride` apart. */
static void FN(sum_blocks)(void *out, const void *sums, int64_t blocks, int64_t n, int64_t stride)
{
    FN(reduce_columns)(out, sums, NULL, blocks, n, stride, 0, FN(plain), FN(plus));
}

/* --- longer rows: chunks [begin, end) of (rows, chunks), or of chunks of all rows --- */

static void FN(measure_chunks)(const rows *r, int64_t begin, int64_t end)
{
    const T *x = r->x, *g = r->g, *scale = r->scale;
    for (int64_t i = begin; i < end; i++) {
        const int64_t from = i % r->n_chunks * CHUNK, at = i / r->n_chunks * r->n + from;
        r->parts[i] = FN(part_of)(r->kind.mode, x + at, g ? g + at : NULL,
                                  g && scale ? scale + from : NULL, df_min(CHUNK, r->n - from));
    }
}

static void FN(normalize_chunks)(const rows *r, int64_t begin, int64_t end)
{
    const T *x = r->x, *scale = r->scale, *offset = r->offset;
    T *y = r->out;
    for (int64_t i = begin; i < end; i++) {
        const int64_t from = i % r->n_chunks * CHUNK, at = i / r->n_chunks * r->n + from;
        FN(normalize)(y + at, x + at, &r->wholes[i / r->n_chunks], scale ? scale + from : NULL,
                      offset ? offset + from : NULL, df_min(CHUNK, r->n - from), 0);
    }
}

static void FN(flow_back_chunks)(const rows *r, int64_t begin, int64_t end)
{
    const T *x = r->x, *g = r->g, *scale = r->scale;
    T *d = r->out, *to_scale = r->to_scale, *to_offset = r->to_offset;
    for (int64_t chunk = begin; chunk < end; chunk++) {
        const int64_t from = chunk * CHUNK, n = df_min(CHUNK, r->n - from);
        if (to_scale) memset(to_scale + from, 0, (size_t)n * sizeof(T));
        if (to_offset) memset(to_offset + from, 0, (size_t)n * sizeof(T));
        for (int64_t i = 0; i < r->n_rows; i++) {
            const int64_t at = i * r->n + from;
            FN(flow_back)(d + at, x + at, g + at, &r->wholes[i], scale ? scale + from : NULL,
                          to_scale ? to_scale + from : NULL, to_offset ? to_offset + from : NULL,
                          n, 0);
        }
    }
}
