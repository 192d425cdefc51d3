/* Part of batch_norm.c, included once per floating dtype: statistics of channels, and their
 * application. */

/* The dtype of tensors in memory; a constant if no dtype is widened to DTYPE. */
#define STORED(of) (sizeof(T) == 4 ? (of)->stored : DF_F64)

/* out[c] += the sum of map(x, p) over column c of rows `stride` apart. Has the bits of
 * reduce_columns over all rows if each call except the last is for a multiple of 8 rows. */
DF_INLINE void FN(add_columns)(T *out, const T *x, const T *p, int64_t rows, int64_t cols,
                               int64_t stride, FN(map_fn) map)
{
    int64_t r = 0;
    for (; r + 8 <= rows; r += 8)
        FN(reduce_strips)(out, x + r * stride, p, (V){0}, 8, cols, stride, map, FN(plus));
    for (; r < rows; r++)
        FN(reduce_strips)(out, x + r * stride, p, (V){0}, 1, cols, stride, map, FN(plus));
}

/* Adds sums of n columns of up to 8 rows, see flow_of_columns. */
DF_INLINE void FN(add_flow)(T *flow, T *moment, const T *x, const T *g, const T *mean,
                            int64_t rows, int64_t n, int64_t stride)
{
    const V m = FN(load_upto)(mean, n);
    V f = FN(load_upto)(flow, n), mo = FN(load_upto)(moment, n);
    for (int64_t at = 0; at < rows * stride; at += stride) {
        const V one = FN(load_upto)(g + at, n);
        f += one;
        mo = FN(fma)(one, FN(load_upto)(x + at, n) - m, mo);
    }
    FN(store_upto)(flow, f, n);
    FN(store_upto)(moment, mo, n);
}

/* flow[c] += sum of g, moment[c] += sum of g (x - mean[c]), over rows `stride` apart. */
static void FN(flow_of_columns)(T *flow, T *moment, const T *x, const T *g, const T *mean,
                                int64_t rows, int64_t cols, int64_t stride)
{
    for (int64_t first = 0; first < rows; first += 8, x += 8 * stride, g += 8 * stride) {
        const int64_t few = df_min(8, rows - first);
        int64_t c = 0;
        for (; c + LANES <= cols; c += LANES)
            FN(add_flow)(flow + c, moment + c, x + c, g + c, mean + c, few, LANES, stride);
        if (c < cols)
            FN(add_flow)(flow + c, moment + c, x + c, g + c, mean + c, few, cols - c, stride);
    }
}

/* Combines columns into the parts of n channels; every n-th column belongs to the same channel. */
static void FN(fold)(norm_part *parts, int64_t n, const area *a, const T *mean, const T *deviation,
                     const T *flow, const T *moment)
{
    memset(parts, 0, (size_t)n * sizeof *parts);
    for (int64_t first = 0; first < a->cols; first += n)
        for (int64_t c = 0; c < n; c++)
            norm_count(&parts[c], &(norm_part){.n = (double)a->rows, .mean = mean[first + c]});
    for (int64_t c = 0; c < n; c++) norm_divide(&parts[c]);
    for (int64_t first = 0; first < a->cols; first += n)
        for (int64_t c = 0; c < n; c++) {
            const int64_t i = first + c;
            const norm_part p = {(double)a->rows, mean[i], deviation[i], flow[i], moment[i]};
            norm_add(&parts[c], &p, 1);
        }
}

/* Measures items [begin, end) of (n, chunks, blocks of columns), channels last. */
static void FN(measure_columns)(const channels *ch, int64_t begin, int64_t end)
{
    T sums[4][BLOCK];
    T *mean = sums[0], *deviation = sums[1], *flow = sums[2], *moment = sums[3];
    float wide[2][AREA_PIECE] __attribute__((aligned(DF_ALIGNMENT)));
    for (int64_t i = begin; i < end; i++) {
        const area a = area_of(ch, i);
        const int64_t some = AREA_PIECE / a.cols / 8 * 8;
        for (int k = 0; k < 4; k++) memset(sums[k], 0, (size_t)a.cols * sizeof(T));
        for (int64_t at = 0, stride; at < a.rows; at += some) {
            const int64_t n = df_min(some, a.rows - at);
            const T *x = rows_in(ch, ch->x, &a, at, n, &stride, wide[0]);
            FN(add_columns)(mean, x, NULL, n, a.cols, stride, FN(plain));
        }
        for (int64_t c = 0; c < a.cols; c++) mean[c] /= (T)a.rows;
        for (int64_t at = 0, stride; at < a.rows; at += some) {
            const int64_t n = df_min(some, a.rows - at);
            const T *x = rows_in(ch, ch->x, &a, at, n, &stride, wide[0]);
            FN(add_columns)(deviation, x, mean, n, a.cols, stride, FN(square_around));
            if (!ch->g) continue;
            const T *g = rows_in(ch, ch->g, &a, at, n, &stride, wide[1]);
            FN(flow_of_columns)(flow, moment, x, g, mean, n, a.cols, stride);
        }
        FN(fold)(ch->parts + a.part, df_min(a.cols, ch->c), &a, mean, deviation, flow, moment);
    }
}

/* Measures items [begin, end) of (n, channels, chunks), channels first. */
static void FN(measure_rows)(const channels *ch, int64_t begin, int64_t end)
{
    float wide[2][NORM_CHUNK] __attribute__((aligned(DF_ALIGNMENT)));
    for (int64_t i = begin; i < end; i++) {
        const area a = area_of(ch, i);
        ch->parts[a.part] = FN(part_of)(
            BY_DEVIATION, df_piece(STORED(ch), ch->x, a.at, a.cols, wide[0]),
            ch->g ? df_piece(STORED(ch), ch->g, a.at, a.cols, wide[1]) : NULL, NULL, a.cols);
    }
}

/* Plans the result (x - mean) factor + offset, or the gradient g factor - (x - mean) slope -
 * offset. */
static void FN(plan_wholes)(const channels *ch, int64_t begin, int64_t end)
{
    const T *scale = ch->scale, *offset = ch->offset;
    T *mean = ch->plan, *factor = mean + ch->n_planned, *shift = factor + ch->n_planned;
    T *slope = shift + ch->n_planned;
    for (int64_t k = begin; k < end; k++) {
        const norm_whole *w = &ch->wholes[k];
        const int64_t first = k * ch->size % ch->c;
        const T level = (T)(w->rate * w->level), drop = (T)(w->rate * w->rate * w->slope);
        for (int64_t i = k * ch->size, c = first; c < first + ch->size; i++, c++) {
            mean[i] = (T)w->mean;
            factor[i] = (T)(w->rate * (scale ? (double)scale[c] : 1));
            shift[i] = ch->g ? level : offset ? offset[c] : 0;
            slope[i] = drop;
        }
    }
}

DF_INLINE V FN(back)(V x, V g, V mean, V factor, V offset, V slope)
{
    return g * factor - (x - mean) * slope - offset;
}

/* Applies a plan to n lanes. */
DF_INLINE void FN(apply_vector)(T *y, const T *x, const T *g, const V p[4], int64_t n)
{
    const V at = FN(load_upto)(x, n);
    FN(store_upto)(y, g ? FN(back)(at, FN(load_upto)(g, n), p[0], p[1], p[2], p[3])
                        : FN(normalize_by)(at, p[0], p[1], p[2]), n);
}

/* Applies a plan to one row of columns. */
DF_INLINE void FN(apply_row)(T *y, const T *x, const T *g, T plan[4][BLOCK], int64_t cols)
{
    int64_t c = 0;
    if (!g) {
        FN(map4)(cols, y, x, plan[0], plan[1], plan[2], FN(normalize_by));
        return;
    }
    for (; c + LANES <= cols; c += LANES) {
        const V p[] = {FN(load)(plan[0] + c), FN(load)(plan[1] + c), FN(load)(plan[2] + c),
                       FN(load)(plan[3] + c)};
        FN(apply_vector)(y + c, x + c, g + c, p, LANES);
    }
    if (c == cols) return;
    const V p[] = {FN(load_n)(plan[0] + c, cols - c), FN(load_n)(plan[1] + c, cols - c),
                   FN(load_n)(plan[2] + c, cols - c), FN(load_n)(plan[3] + c, cols - c)};
    FN(apply_vector)(y + c, x + c, g + c, p, cols - c);
}

static void FN(apply_columns)(const channels *ch, int64_t begin, int64_t end)
{
    T plan[4][BLOCK];
    const T *all = ch->plan;
    float wide[2][AREA_PIECE] __attribute__((aligned(DF_ALIGNMENT)));
    for (int64_t i = begin; i < end; i++) {
        const area a = area_of(ch, i);
        const int64_t at_once = a.cols < ch->width ? 1 : AREA_PIECE / a.cols; /* rows */
        for (int k = 0; k < 4; k++)
            for (int64_t c = 0; c < a.cols; c++)
                plan[k][c] = all[k * ch->n_planned + a.planned + c % ch->c];
        for (int64_t first = 0; first < a.rows; first += at_once) {
            const int64_t rows = df_min(at_once, a.rows - first), at = a.at + first * ch->width;
            const T *x = df_piece(STORED(ch), ch->x, at, rows * a.cols, wide[0]);
            const T *g = ch->g ? df_piece(STORED(ch), ch->g, at, rows * a.cols, wide[1]) : NULL;
            T *y = df_piece_to(STORED(ch), ch->out, at, wide[0]);
            for (int64_t r = 0; r < rows * a.cols; r += a.cols)
                FN(apply_row)(y + r, x + r, g ? g + r : NULL, plan, a.cols);
            df_piece_done(STORED(ch), ch->out, at, rows * a.cols, wide[0]);
        }
    }
}

static void FN(apply_rows)(const channels *ch, int64_t begin, int64_t end)
{
    float wide[2][NORM_CHUNK] __attribute__((aligned(DF_ALIGNMENT)));
    for (int64_t i = begin; i < end; i++) {
        const area a = area_of(ch, i);
        const T *x = df_piece(STORED(ch), ch->x, a.at, a.cols, wide[0]);
        const T *g = ch->g ? df_piece(STORED(ch), ch->g, a.at, a.cols, wide[1]) : NULL;
        const T *plan = (const T *)ch->plan + a.planned;
        T *y = df_piece_to(STORED(ch), ch->out, a.at, wide[0]);
        V p[4];
        for (int k = 0; k < 4; k++) p[k] = FN(splat)(plan[k * ch->n_planned]);
        int64_t c = 0;
        for (; c + LANES <= a.cols; c += LANES)
            FN(apply_vector)(y + c, x + c, g ? g + c : NULL, p, LANES);
        if (c < a.cols) FN(apply_vector)(y + c, x + c, g ? g + c : NULL, p, a.cols - c);
        df_piece_done(STORED(ch), ch->out, a.at, a.cols, wide[0]);
    }
}

static void FN(write_sums)(const channels *ch, int64_t c, double to_scale, double to_offset)
{
    ((T *)ch->to_scale)[c] = (T)to_scale;
    ((T *)ch->to_offset)[c] = (T)to_offset;
}

static void FN(write_moments)(const channels *ch, int64_t c)
{
    ((T *)ch->mean)[c] = (T)ch->wholes[c].mean;
    ((T *)ch->variance)[c] = (T)ch->wholes[c].variance;
}

#undef STORED
