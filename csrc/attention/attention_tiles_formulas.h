/* Included once per dtype of sums: matrices as tiles of vectors, and products of tiles.
 *
 * A tile consists of rows of whole vectors: widths are padded with zeros to a multiple of LANES. */

/* Computes rows x (cols vectors) of C at `c`; rows and cols are constants at every call, so each
 * combination becomes straight-line code. */
DF_INLINE void FN(block)(const int rows, const int cols, const tile_product *t, const T *a,
                         const T *b, T *c)
{
    const int64_t a_row = t->a_row, a_col = t->a_col, b_row = t->b_row;
    const T *a_three[(ROWS + 2) / 3]; /* base + {0, 1, 2} * a_row is one address mode */
    V sum[ROWS][COLS];
    UNROLL for (int i = 0; i < rows; i += 3) a_three[i / 3] = a + i * a_row;
    UNROLL for (int i = 0; i < rows; i++)
        UNROLL for (int j = 0; j < cols; j++) sum[i][j] = (V){0};
    for (int64_t p = 0; p < t->depth; p++) {
        V row[COLS];
        UNROLL for (int j = 0; j < cols; j++) row[j] = FN(load)(b + j * LANES);
        UNROLL for (int i = 0; i < rows; i++) {
            const V x = FN(splat)(a_three[i / 3][i % 3 * a_row]);
            UNROLL for (int j = 0; j < cols; j++) sum[i][j] = FN(fma)(x, row[j], sum[i][j]);
        }
        UNROLL for (int i = 0; i < rows; i += 3) a_three[i / 3] += a_col;
        b += b_row;
    }
    UNROLL for (int i = 0; i < rows; i++)
        UNROLL for (int j = 0; j < cols; j++) {
            T *to = c + i * t->c_row + j * LANES;
            FN(store)(to, t->accumulate ? FN(load)(to) + sum[i][j] : sum[i][j]);
        }
}

DF_INLINE void FN(all_rows)(const int cols, const tile_product *t, const T *b, T *c)
{
    const T *a = t->a;
    int64_t left = t->rows;
    for (; left >= ROWS; left -= ROWS, a += ROWS * t->a_row, c += ROWS * t->c_row)
        FN(block)(ROWS, cols, t, a, b, c);
    if (left >= 4) {
        FN(block)(4, cols, t, a, b, c);
        left -= 4, a += 4 * t->a_row, c += 4 * t->c_row;
    }
    if (left >= 2) {
        FN(block)(2, cols, t, a, b, c);
        left -= 2, a += 2 * t->a_row, c += 2 * t->c_row;
    }
    if (left) FN(block)(1, cols, t, a, b, c);
}

/* Computes all columns in panels of about equal width, as a narrow panel is slow. */
static void FN(multiply_pass)(const tile_product *t)
{
    const int64_t panels = df_ceil_div(t->vectors, COLS);
    for (int64_t p = 0; p < panels; p++) {
        const int64_t begin = p * t->vectors / panels, n = (p + 1) * t->vectors / panels - begin;
        const T *b = (const T *)t->b + begin * LANES;
        T *c = (T *)t->c + begin * LANES;
        if (n == 1) FN(all_rows)(1, t, b, c);
        else if (n == 2) FN(all_rows)(2, t, b, c);
#if COLS > 2
        else if (n == 3) FN(all_rows)(3, t, b, c);
        else FN(all_rows)(4, t, b, c);
#endif
    }
}

/* C = A B or C += A B. */
static void FN(multiply)(const tile_product *t)
{
    tile_product pass = *t;
    for (int64_t p = 0; p == 0 || p < t->depth; p += DEPTH) {
        pass.depth = df_min(DEPTH, t->depth - p);
        pass.a = (const T *)t->a + p * t->a_col;
        pass.b = (const T *)t->b + p * t->b_row;
        pass.accumulate = t->accumulate || p > 0;
        FN(multiply_pass)(&pass);
    }
}

/* to[i] = from[i], converted from a stored dtype. */
static void FN(widen)(T *to, const void *from, df_dtype dtype, int64_t n)
{
    const uint16_t *half = from;
    int64_t i = 0;
    if (dtype == DF_F32) {
        for (; i < n; i++) to[i] = (T)((const float *)from)[i];
    } else if (dtype == DF_F64) {
        for (; i < n; i++) to[i] = (T)((const double *)from)[i];
    } else if (dtype == DF_BF16) {
        for (; i < n; i++) to[i] = (T)df_bf16_to_f32(half[i]);
    } else {
        for (; i < n; i++) to[i] = (T)df_f16_to_f32(half[i]);
    }
}

static void FN(narrow)(void *to, df_dtype dtype, const T *from, int64_t n)
{
    uint16_t *half = to;
    if (dtype == DF_BF16)
        for (int64_t i = 0; i < n; i++) half[i] = df_f32_to_bf16((float)from[i]);
    else if (dtype == DF_F16)
        for (int64_t i = 0; i < n; i++) half[i] = df_f32_to_f16((float)from[i]);
    else
        memcpy(to, from, (size_t)n * sizeof(T));
}

/* Rows of a stored matrix as a tile: in place if the layout allows it, otherwise a copy in `copy`.
 * `step` receives the distance of rows. `padded`: the rows are read repeatedly by whole vectors, so
 * rows that are apart, mostly by powers of two, are copied, as they would evict each other from the
 * cache. */
static const T *FN(tile)(const rows *x, int64_t begin, int64_t n, bool padded, T *copy,
                         int64_t *step)
{
    const int64_t width = padded_width(x->width, LANES), bytes = df_dtypes[x->dtype].bytes;
    const char *from = (const char *)x->data + begin * x->step * bytes;
    const bool whole = width == x->width && width == x->step;
    *step = x->step;
    if (bytes == sizeof(T) && (whole || !padded)) return (const T *)from;
    *step = width;
    for (int64_t i = 0; i < n; i++, from += x->step * bytes) {
        T *to = copy + i * width;
        FN(widen)(to, from, x->dtype, x->width);
        for (int64_t j = x->width; j < width; j++) to[j] = 0;
    }
    return copy;
}

static void FN(store_rows)(const rows *x, int64_t begin, int64_t n, const T *from)
{
    const int64_t width = padded_width(x->width, LANES), bytes = df_dtypes[x->dtype].bytes;
    char *to = (char *)x->data + begin * x->step * bytes;
    for (int64_t i = 0; i < n; i++)
        FN(narrow)(to + i * x->step * bytes, x->dtype, from + i * width, x->width);
}

typedef T FN(four) __attribute__((vector_size(4 * sizeof(T))));

/* to[p * KEYS + i] = from[i * step + p] for 4 rows and 4 columns. */
DF_INLINE void FN(transpose_four)(T *to, const T *from, int64_t step)
{
    FN(four) r[4], t[4];
    UNROLL for (int i = 0; i < 4; i++) memcpy(&r[i], from + i * step, sizeof r[i]);
    t[0] = DF_SHUFFLE(r[0], r[1], 0, 4, 1, 5);
    t[1] = DF_SHUFFLE(r[0], r[1], 2, 6, 3, 7);
    t[2] = DF_SHUFFLE(r[2], r[3], 0, 4, 1, 5);
    t[3] = DF_SHUFFLE(r[2], r[3], 2, 6, 3, 7);
    r[0] = DF_SHUFFLE(t[0], t[2], 0, 1, 4, 5);
    r[1] = DF_SHUFFLE(t[0], t[2], 2, 3, 6, 7);
    r[2] = DF_SHUFFLE(t[1], t[3], 0, 1, 4, 5);
    r[3] = DF_SHUFFLE(t[1], t[3], 2, 3, 6, 7);
    UNROLL for (int i = 0; i < 4; i++) memcpy(to + i * KEYS, &r[i], sizeof r[i]);
}

/* Same for 16 rows. */
DF_INLINE void FN(transpose_rows)(T *to, const T *from, int64_t step)
{
#if defined(__AVX512F__)
    if (sizeof(T) == 4) {
        transpose_sixteen((float *)to, (const float *)from, step);
        return;
    }
#endif
    for (int64_t i = 0; i < 16; i += 4) FN(transpose_four)(to + i, from + i * step, step);
}

/* to[p * KEYS + i] = from[i * step + p] for p < depth; zeros for n <= i, up to whole vectors. */
static void FN(transpose)(T *to, const T *from, int64_t n, int64_t step, int64_t depth)
{
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) {
        int64_t p = 0;
        for (; p + 4 <= depth; p += 4)
            FN(transpose_rows)(to + p * KEYS + i, from + i * step + p, step);
        for (; p < depth; p++)
            for (int64_t r = i; r < i + 16; r++) to[p * KEYS + r] = from[r * step + p];
    }
    for (; i < n; i++)
        for (int64_t p = 0; p < depth; p++) to[p * KEYS + i] = from[i * step + p];
    for (; i < padded_width(n, LANES); i++)
        for (int64_t p = 0; p < depth; p++) to[p * KEYS + i] = 0;
}

/* The greater of each lane; b if either is NaN. */
DF_INLINE V FN(greater)(V a, V b)
{
#if defined(DF_X86)
    return DF_MM(max)(a, b);
#else
    return FN(select)(a > b, a, b);
#endif
}

/* The greatest lane, if none is NaN. */
DF_INLINE T FN(top)(V x)
{
    T a[DF_VEC_BYTES / sizeof(T)];
    memcpy(a, &x, sizeof x);
    UNROLL for (int64_t w = LANES / 2; w > 0; w /= 2)
        UNROLL for (int64_t i = 0; i < w; i++) a[i] = a[i] > a[i + w] ? a[i] : a[i + w];
    return a[0];
}
