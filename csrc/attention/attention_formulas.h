/* Included once per dtype of sums: scores to weights, and one task of the forward and backward
 * pass. */

/* x[j] += mask, or -inf if a bool mask excludes the key. */
static void FN(add_mask)(const square *s, int64_t row, T *x)
{
    const df_attention_mask *mask = &s->a->mask;
    const int64_t *steps = mask->steps;
    const int64_t at = s->b * steps[0] + s->h * steps[1] + (s->i + row) * steps[2] +
                       s->j * steps[3];
    const char *from = (const char *)mask->data + at * df_dtypes[mask->dtype].bytes;
    const int64_t n = s->keys;
    T added[KEYS];
    if (mask->dtype == DF_BOOL && steps[3]) {
        for (int64_t j = 0; j < n; j++) x[j] = from[j] ? x[j] : (T)-INFINITY;
    } else if (mask->dtype == DF_BOOL) {
        for (int64_t j = 0; j < n && !*from; j++) x[j] = (T)-INFINITY;
    } else {
        FN(widen)(added, from, mask->dtype, steps[3] ? n : 1);
        for (int64_t j = 0; j < n; j++) x[j] += added[steps[3] ? j : 0];
    }
}

/* Converts row `row` of products to scores, with -inf for masked keys, up to whole vectors. Returns
 * the lane-wise maximum. */
DF_INLINE V FN(score)(const square *s, int64_t row, T *x)
{
    const int64_t end = padded_width(s->keys, LANES);
    const V scale = FN(splat)((T)s->scale), hidden = FN(splat)((T)-INFINITY);
    V top = hidden;
    int64_t seen = s->keys, j = 0;
    if (s->a->causal) seen = df_max(0, df_min(seen, s->i + row - s->j + 1));
    if (s->a->mask.data) {
        for (; j < end; j += LANES) FN(store)(x + j, FN(load)(x + j) * scale);
        FN(add_mask)(s, row, x);
        for (j = 0; j + LANES <= seen; j += LANES) top = FN(greater)(FN(load)(x + j), top);
    }
    for (; j + LANES <= seen; j += LANES) {
        const V score = FN(load)(x + j) * scale;
        FN(store)(x + j, score);
        top = FN(greater)(score, top);
    }
    if (j < seen) {
        const __typeof__(FN(lanes)[0]) left = (__typeof__(FN(lanes)[0]))(seen - j);
        const V score = FN(load)(x + j) * (s->a->mask.data ? FN(splat)(1) : scale);
        M lane;
        memcpy(&lane, FN(lanes), sizeof lane);
        FN(store)(x + j, FN(select)(lane < left, score, hidden));
        top = FN(greater)(FN(load)(x + j), top);
        j += LANES;
    }
    for (; j < end; j += LANES) FN(store)(x + j, hidden);
    return top;
}

/* keep[j] = 1 / (1 - rate), or 0 for dropped weights. */
static void FN(draw)(const square *s, int64_t row, T *keep)
{
    uint64_t words[KEYS / 2];
    uint32_t bits[KEYS];
    const int64_t groups = df_ceil_div(s->keys, PHILOX_WORDS);
    const int64_t per_row = df_ceil_div(s->a->keys, PHILOX_WORDS);
    const int64_t flat = (s->b * s->a->heads + s->h) * s->a->queries + s->i + row;
    const float rate = (float)s->a->rate;
    const T keep_scale = (T)(1 / (1 - s->a->rate));
    const uint64_t first = (uint64_t)(flat * per_row + s->j / PHILOX_WORDS);
    philox_fill(s->a->key, s->a->counter + first * PHILOX_COUNTERS, groups, words);
    memcpy(bits, words, (size_t)(groups * PHILOX_WORDS) * 4);
    for (int64_t j = 0; j < groups * PHILOX_WORDS; j++)
        keep[j] = (float)(int32_t)(bits[j] >> 8) * 0x1p-24f >= rate ? keep_scale : 0;
}

/* e^x of a score relative to the greatest score or to the logarithm of the sum. Results below the
 * normal range become 0: they are negligible next to a weight near 1, and denormals are slow. */
DF_INLINE V FN(weight)(V x)
{
    const T least = (T)(sizeof(T) == 4 ? -87 : -708);
    return FN(select)(x < least, (V){0}, FN(exp_inside)(FN(clamp)(x, least, 1)));
}

/* --- forward ---------------------------------------------------------------------------------- */

/* Scratch memory of a task: tiles of q, k and v, k transposed, a tile of scores; and for all its
 * queries the accumulated product of weights and v, the greatest score, and the sum of weights by
 * lane. */
typedef struct {
    T *q, *k, *v, *k_t, *x, *out, *top, *sum;
    char *end;
} FN(forward_tiles);

/* Converts a tile of products to weights relative to the running maximum, and rescales the sums
 * that are relative to an older maximum. */
static void FN(weigh)(const square *s, const FN(forward_tiles) *tiles, int64_t at, int64_t e)
{
    const int64_t end = padded_width(s->keys, LANES);
    T keep[KEYS];
    for (int64_t r = 0; r < s->rows; r++) {
        T *x = tiles->x + r * KEYS, *top = tiles->top + at + r;
        T *sum = tiles->sum + (at + r) * LANES;
        const T row_top = FN(top)(FN(score)(s, r, x)), before = *top;
        *top = row_top > before ? row_top : before;
        const V base = FN(splat)(*top == (T)-INFINITY ? 0 : *top);
        V total = {0};
        if (s->j > 0 && *top > before) {
            const V factor = FN(weight)(before - base);
            total = FN(load)(sum) * factor;
            T *out = tiles->out + (at + r) * e;
            for (int64_t c = 0; c < e; c += LANES) FN(store)(out + c, FN(load)(out + c) * factor);
        } else if (s->j > 0) {
            total = FN(load)(sum);
        }
        for (int64_t j = 0; j < end; j += LANES) {
            const V p = FN(weight)(FN(load)(x + j) - base);
            FN(store)(x + j, p);
            total += p;
        }
        FN(store)(sum, total);
        if (s->a->rate > 0) {
            FN(draw)(s, r, keep);
            for (int64_t j = 0; j < s->keys; j++) x[j] *= keep[j];
        }
    }
}

/* The products of one query with n keys: each is summed by lanes, and only these sums are
 * transposed, into k_t. Uses the rows of x from the second on as scratch. */
static void FN(meet_alone)(const FN(forward_tiles) *tiles, const T *q, const T *k, int64_t n,
                           int64_t k_step, int64_t d)
{
    T *sums = tiles->x + KEYS;
    for (int64_t j = 0; j < n; j++) {
        V sum = {0};
        for (int64_t c = 0; c < d; c += LANES) {
            const int64_t some = df_min(LANES, d - c);
            sum = FN(fma)(FN(load_upto)(q + c, some), FN(load_upto)(k + j * k_step + c, some), sum);
        }
        FN(store)(sums + j * LANES, sum);
    }
    FN(transpose)(tiles->k_t, sums, n, LANES, LANES);
    for (int64_t j = 0; j < n; j += LANES) {
        V sum = {0};
        UNROLL for (int64_t c = 0; c < LANES; c++) sum += FN(load)(tiles->k_t + c * KEYS + j);
        FN(store)(tiles->x + j, sum);
    }
}

/* Multiplies queries [at, at + s->rows) of a task, with rows of q at `q`, by a tile of keys. */
static void FN(meet)(const square *s, const FN(forward_tiles) *tiles, const T *q, int64_t q_step)
{
    FN(multiply)(&(tile_product){.rows = s->rows, .vectors = df_ceil_div(s->keys, LANES),
                                 .depth = s->a->d, .a = q, .a_row = q_step, .a_col = 1,
                                 .b = tiles->k_t, .b_row = KEYS, .c = tiles->x, .c_row = KEYS});
}

/* Converts scores to weights and adds their product with a tile of v to the accumulator. */
static void FN(gather)(const square *s, const FN(forward_tiles) *tiles, int64_t at, const T *v,
                       int64_t v_step)
{
    const int64_t e = padded_width(s->a->e, LANES);
    FN(weigh)(s, tiles, at, e);
    FN(multiply)(&(tile_product){.rows = s->rows, .vectors = e / LANES, .depth = s->keys,
                                 .a = tiles->x, .a_row = KEYS, .a_col = 1, .b = v, .b_row = v_step,
                                 .c = tiles->out + at * e, .c_row = e, .accumulate = s->j > 0});
}

/* Stores the rounding errors of rows of out, already stored, in `rest`. Overwrites `out`. */
static void FN(keep_rest)(const heads *at, int64_t begin, int64_t n, T *out, T *tiles)
{
    int64_t step;
    const T *rounded = FN(tile)(&at->out, begin, n, true, tiles, &step);
    for (int64_t i = 0; i < n * step; i++) out[i] -= rounded[i];
    FN(store_rows)(&at->rest, begin, n, out);
}

static void FN(finish_queries)(const df_attention *a, const FN(forward_tiles) *tiles,
                               const heads *at, int64_t begin, int64_t n, T *lse)
{
    const int64_t e = padded_width(a->e, LANES);
    for (int64_t r = 0; r < n; r++) {
        const T sum = FN(sum)(FN(load)(tiles->sum + r * LANES));
        const V inverse = FN(splat)(sum == 0 ? 0 : 1 / sum);
        T *y = tiles->out + r * e;
        for (int64_t c = 0; c < e; c += LANES) FN(store)(y + c, FN(load)(y + c) * inverse);
        lse[begin + r] = sum == 0 ? 0 : tiles->top[r] + FN(log)(FN(splat)(sum))[0];
    }
    FN(store_rows)(&at->out, begin, n, tiles->out);
    for (int64_t r = 0; at->rest.data && r < n; r += KEYS)
        FN(keep_rest)(at, begin + r, df_min(KEYS, n - r), tiles->out + r * e, tiles->v);
}

static FN(forward_tiles) FN(forward_carve)(const df_attention *a, int64_t n, char *at)
{
    const int64_t d = padded_width(a->d, LANES), e = padded_width(a->e, LANES);
    const int64_t size = (int64_t)sizeof(T);
    FN(forward_tiles) tiles;
    tiles.q = carve(&at, n * d * size);
    tiles.k = carve(&at, KEYS * d * size);
    tiles.v = carve(&at, KEYS * e * size);
    tiles.k_t = carve(&at, KEYS * df_max(a->d, LANES) * size);
    tiles.x = carve(&at, QUERIES * KEYS * size);
    tiles.out = carve(&at, n * e * size);
    tiles.top = carve(&at, n * size);
    tiles.sum = carve(&at, n * LANES * size);
    tiles.end = at;
    return tiles;
}

/* Computes queries [begin, begin + n) of head h of batch b. */
static bool FN(forward)(const df_attention *a, double scale, int64_t b, int64_t h, int64_t begin,
                        int64_t n)
{
    df_buffer *scratch = df_buffer_new((int64_t)(intptr_t)FN(forward_carve)(a, n, NULL).end);
    if (!scratch) return false;
    const FN(forward_tiles) tiles = FN(forward_carve)(a, n, scratch->data);
    const heads at = heads_of(a, b, h, h / (a->heads / a->kv_heads));
    int64_t q_step, k_step, v_step;
    const T *q = FN(tile)(&at.q, begin, n, false, tiles.q, &q_step);
    for (int64_t r = 0; r < n; r++) tiles.top[r] = (T)-INFINITY;
    const int64_t keys = a->causal ? df_min(a->keys, begin + n) : a->keys;
    if (keys == 0) {
        memset(tiles.out, 0, (size_t)(n * padded_width(a->e, LANES)) * sizeof(T));
        memset(tiles.sum, 0, (size_t)(n * LANES) * sizeof(T));
    }
    for (int64_t j = 0; j < keys; j += KEYS) {
        const int64_t some = df_min(KEYS, keys - j);
        const T *k = FN(tile)(&at.k, j, some, false, tiles.k, &k_step);
        if (n == 1) FN(meet_alone)(&tiles, q, k, some, k_step, a->d);
        else FN(transpose)(tiles.k_t, k, some, k_step, a->d);
        const T *v = FN(tile)(&at.v, j, some, true, tiles.v, &v_step);
        for (int64_t r = 0; r < n; r += QUERIES) {
            square s = {a, scale, b, h, begin + r, df_min(QUERIES, n - r), j, some};
            if (a->causal) s.keys = df_min(some, s.i + s.rows - j);
            if (s.keys <= 0) continue;
            if (n > 1) FN(meet)(&s, &tiles, q + r * q_step, q_step);
            FN(gather)(&s, &tiles, r, v, v_step);
        }
    }
    FN(finish_queries)(a, &tiles, &at, begin, n,
                       (T *)a->lse + (b * a->heads + h) * a->queries);
    df_buffer_release(scratch);
    return true;
}

/* --- backward --------------------------------------------------------------------------------- */

/* With the weights P of a tile and their gradient dP = g v^T, dS = P (dP - sum of g * out over the
 * row): dv = P^T g, dq = scale dS k, dk = scale dS^T q. */

/* Scratch memory of a task: tiles of k, v, q and g, k and v transposed, tiles of P and dS, sums of
 * dk and dv, and the sum of g * out per query of its heads. */
typedef struct {
    T *k, *v, *q, *g, *k_t, *v_t, *p, *ds, *dk, *dv, *delta;
    char *end;
} FN(backward_tiles);

/* Converts tiles of products q k^T and g v^T to P and scale dS. */
static void FN(unweigh)(const square *s, const FN(backward_tiles) *tiles, const T *lse,
                        const T *delta)
{
    const int64_t end = padded_width(s->keys, LANES);
    const V scale = FN(splat)((T)s->scale);
    T keep[KEYS];
    for (int64_t r = 0; r < s->rows; r++) {
        T *p = tiles->p + r * KEYS, *ds = tiles->ds + r * KEYS;
        const V base = FN(splat)(lse[s->i + r]), less = FN(splat)(delta[s->i + r]);
        FN(score)(s, r, p);
        if (s->a->rate > 0) {
            FN(draw)(s, r, keep);
            for (int64_t j = 0; j < s->keys; j++) ds[j] *= keep[j];
        }
        for (int64_t j = 0; j < end; j += LANES) {
            const V x = FN(load)(p + j), weight = FN(weight)(x - base);
            const V slope = weight * (FN(load)(ds + j) - less) * scale;
            FN(store)(p + j, weight);
            FN(store)(ds + j, FN(select)(x == (T)-INFINITY, (V){0}, slope));
        }
        if (s->a->rate > 0)
            for (int64_t j = 0; j < s->keys; j++) p[j] *= keep[j];
    }
}

/* Processes some queries with a tile of keys: adds to dq, dk and dv. */
static void FN(meet_back)(const square *s, const FN(backward_tiles) *tiles, const heads *at,
                          const T *k, int64_t k_step, const rows *dq, const T *delta)
{
    const df_attention *a = s->a;
    const int64_t d = padded_width(a->d, LANES), e = padded_width(a->e, LANES);
    const int64_t vectors = df_ceil_div(s->keys, LANES);
    int64_t q_step, g_step;
    const T *q = FN(tile)(&at->q, s->i, s->rows, true, tiles->q, &q_step);
    const T *g = FN(tile)(&at->g, s->i, s->rows, true, tiles->g, &g_step);
    FN(multiply)(&(tile_product){.rows = s->rows, .vectors = vectors, .depth = a->d,
                                 .a = q, .a_row = q_step, .a_col = 1, .b = tiles->k_t,
                                 .b_row = KEYS, .c = tiles->p, .c_row = KEYS});
    FN(multiply)(&(tile_product){.rows = s->rows, .vectors = vectors, .depth = a->e,
                                 .a = g, .a_row = g_step, .a_col = 1, .b = tiles->v_t,
                                 .b_row = KEYS, .c = tiles->ds, .c_row = KEYS});
    FN(unweigh)(s, tiles, (const T *)a->lse + (s->b * a->heads + s->h) * a->queries, delta);
    FN(multiply)(&(tile_product){.rows = s->keys, .vectors = e / LANES, .depth = s->rows,
                                 .a = tiles->p, .a_row = 1, .a_col = KEYS, .b = g, .b_row = g_step,
                                 .c = tiles->dv, .c_row = e, .accumulate = true});
    FN(multiply)(&(tile_product){.rows = s->keys, .vectors = d / LANES, .depth = s->rows,
                                 .a = tiles->ds, .a_row = 1, .a_col = KEYS, .b = q,
                                 .b_row = q_step, .c = tiles->dk, .c_row = d, .accumulate = true});
    FN(multiply)(&(tile_product){.rows = s->rows, .vectors = d / LANES, .depth = s->keys,
                                 .a = tiles->ds, .a_row = KEYS, .a_col = 1, .b = k,
                                 .b_row = k_step, .c = (T *)dq->data + s->i * dq->step,
                                 .c_row = dq->step, .accumulate = true});
}

static FN(backward_tiles) FN(backward_carve)(const df_attention *a, char *at)
{
    const int64_t d = padded_width(a->d, LANES), e = padded_width(a->e, LANES);
    const int64_t size = (int64_t)sizeof(T);
    FN(backward_tiles) tiles;
    tiles.k = carve(&at, KEYS * d * size);
    tiles.v = carve(&at, KEYS * e * size);
    tiles.q = carve(&at, QUERIES * d * size);
    tiles.g = carve(&at, QUERIES * e * size);
    tiles.k_t = carve(&at, KEYS * a->d * size);
    tiles.v_t = carve(&at, KEYS * a->e * size);
    tiles.p = carve(&at, QUERIES * KEYS * size);
    tiles.ds = carve(&at, QUERIES * KEYS * size);
    tiles.dk = carve(&at, KEYS * d * size);
    tiles.dv = carve(&at, KEYS * e * size);
    tiles.delta = carve(&at, a->heads / a->kv_heads * a->queries * size);
    tiles.end = at;
    return tiles;
}

/* delta += the sum of g * y, per row of a tile. */
static void FN(add_products)(const T *g, int64_t g_step, const rows *y, int64_t begin, int64_t n,
                             T *tiles, T *delta)
{
    int64_t step;
    const T *from = FN(tile)(y, begin, n, true, tiles, &step);
    for (int64_t r = 0; r < n; r++) {
        V sum = {0};
        for (int64_t c = 0; c < y->width; c += LANES)
            sum = FN(fma)(FN(load)(g + r * g_step + c), FN(load)(from + r * step + c), sum);
        delta[r] += FN(sum)(sum);
    }
}

/* Clears dq and computes the sum of g * out per query of a head. */
static void FN(start_head)(const df_attention *a, const FN(backward_tiles) *tiles, const heads *at,
                           const rows *dq, T *delta)
{
    const int64_t width = padded_width(dq->width, LANES);
    for (int64_t i = 0; i < a->queries; i += QUERIES) {
        const int64_t n = df_min(QUERIES, a->queries - i);
        int64_t g_step;
        const T *g = FN(tile)(&at->g, i, n, true, tiles->g, &g_step);
        for (int64_t r = 0; r < n; r++) {
            delta[i + r] = 0;
            memset((T *)dq->data + (i + r) * dq->step, 0, (size_t)width * sizeof(T));
        }
        FN(add_products)(g, g_step, &at->out, i, n, tiles->v, delta + i);
        if (at->rest.data) FN(add_products)(g, g_step, &at->rest, i, n, tiles->v, delta + i);
    }
}

/* Processes keys [begin, end) of kv head `kv` of batch b with all queries of the heads that share
 * it. Clears `dq`, an array of `rows` per head, first. */
static bool FN(backward)(const df_attention *a, double scale, int64_t b, int64_t kv, int64_t begin,
                         int64_t end, rows (*dq_of)(const void *job, int64_t b, int64_t h),
                         const void *job)
{
    df_buffer *scratch = df_buffer_new((int64_t)(intptr_t)FN(backward_carve)(a, NULL).end);
    if (!scratch) return false;
    const FN(backward_tiles) tiles = FN(backward_carve)(a, scratch->data);
    const int64_t d = padded_width(a->d, LANES), e = padded_width(a->e, LANES);
    const int64_t group = a->heads / a->kv_heads;
    for (int64_t h = 0; h < group; h++) {
        const heads at = heads_of(a, b, kv * group + h, kv);
        const rows dq = dq_of(job, b, kv * group + h);
        FN(start_head)(a, &tiles, &at, &dq, tiles.delta + h * a->queries);
    }
    for (int64_t j = begin; j < end; j += KEYS) {
        const int64_t some = df_min(KEYS, end - j);
        int64_t k_step, v_step;
        const heads shared = heads_of(a, b, kv * group, kv);
        const T *k = FN(tile)(&shared.k, j, some, true, tiles.k, &k_step);
        const T *v = FN(tile)(&shared.v, j, some, false, tiles.v, &v_step);
        FN(transpose)(tiles.k_t, k, some, k_step, a->d);
        FN(transpose)(tiles.v_t, v, some, v_step, a->e);
        memset(tiles.dk, 0, (size_t)(some * d) * sizeof(T));
        memset(tiles.dv, 0, (size_t)(some * e) * sizeof(T));
        for (int64_t h = kv * group; h < (kv + 1) * group; h++) {
            const heads at = heads_of(a, b, h, kv);
            const rows dq = dq_of(job, b, h);
            const T *delta = tiles.delta + (h - kv * group) * a->queries;
            for (int64_t i = a->causal ? j : 0; i < a->queries; i += QUERIES) {
                square s = {a, scale, b, h, i, df_min(QUERIES, a->queries - i), j, some};
                if (a->causal) s.keys = df_min(some, i + s.rows - j);
                FN(meet_back)(&s, &tiles, &at, k, k_step, &dq, delta);
            }
        }
        FN(store_rows)(&shared.dk, j, some, tiles.dk);
        FN(store_rows)(&shared.dv, j, some, tiles.dv);
    }
    df_buffer_release(scratch);
    return true;
}

/* Sums the parts of rows [begin, end) of dq of a head, `distance` elements apart, in order. */
static void FN(sum_parts)(const rows *dq, const T *part, int64_t n_parts, int64_t distance,
                          int64_t begin, int64_t end)
{
    const int64_t width = padded_width(dq->width, LANES);
    for (int64_t i = begin; i < end; i++) {
        T *y = (T *)part + i * width;
        for (int64_t p = 1; p < n_parts; p++)
            for (int64_t c = 0; c < width; c++) y[c] += y[p * distance + c];
        FN(store_rows)(dq, i, 1, y);
    }
}
