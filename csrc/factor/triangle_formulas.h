/* Part of triangle.c, included once per dtype: substitution within a block of rows. */

#define STRIP (STRIP_VECTORS * LANES) /* columns */
#define SQUARE (64 / (int64_t)sizeof(T)) /* rows and columns of a cache line */

static void FN(negate)(void *to, const void *from, int64_t begin, int64_t end)
{
    T *y = to;
    const T *x = from;
    for (int64_t i = begin; i < end; i++) y[i] = -x[i];
}

static int64_t FN(find_zero)(int64_t n, const void *a, int64_t parts)
{
    const T *x = a;
    for (int64_t i = 0; i < n; i++, x += (n + 1) * parts)
        if (x[0] == 0 && x[parts - 1] == 0) return i;
    return -1;
}

/* Packs rows [begin, end) of the diagonal of op(A) as a lower triangle: if the solve goes up, rows
 * and columns are numbered from the last one. Elements have `parts` parts; the one at `offset` is
 * packed. */
static void FN(pack_triangle)(const df_triangle *t, int64_t begin, int64_t end, bool down,
                              int64_t parts, int64_t offset, void *packed)
{
    const int64_t sign = down ? 1 : -1, first = down ? begin : end - 1, n = end - begin;
    const int64_t row_step = sign * parts * (t->transpose ? 1 : t->ld);
    const int64_t column_step = sign * parts * (t->transpose ? t->ld : 1);
    const T *a = (const T *)t->a + first * parts * (t->ld + 1) + offset;
    T *to = (T *)packed + offset * FACTOR_BLOCK * FACTOR_BLOCK;
    if (t->transpose)
        for (int64_t j = 0; j < n; j++)
            for (int64_t i = j; i < n; i++)
                to[j * FACTOR_BLOCK + i] = a[i * row_step + j * column_step];
    else
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j <= i; j++)
                to[j * FACTOR_BLOCK + i] = a[i * row_step + j * column_step];
    for (int64_t j = 0; j < n && t->unit; j++) to[j * (FACTOR_BLOCK + 1)] = offset ? 0 : 1;
}

/* Solves rows i to i + rows - 1 of a strip: x holds the solution of the rows before, and -B. */
DF_INLINE void FN(solve_rows)(const int rows, const T *packed, T *x, int64_t i)
{
    V sum[STRIP_ROWS][STRIP_VECTORS];
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < STRIP_VECTORS; v++)
            sum[r][v] = FN(load)(x + (i + r) * STRIP + v * LANES);
    for (int64_t j = 0; j < i; j++) {
        V solved[STRIP_VECTORS];
        UNROLL for (int v = 0; v < STRIP_VECTORS; v++)
            solved[v] = FN(load)(x + j * STRIP + v * LANES);
        UNROLL for (int r = 0; r < rows; r++) {
            const V factor = FN(splat)(packed[j * FACTOR_BLOCK + i + r]);
            UNROLL for (int v = 0; v < STRIP_VECTORS; v++)
                sum[r][v] = FN(fma)(factor, solved[v], sum[r][v]);
        }
    }
    UNROLL for (int r = 0; r < rows; r++) {
        UNROLL for (int q = 0; q < r; q++) {
            const V factor = FN(splat)(packed[(i + q) * FACTOR_BLOCK + i + r]);
            UNROLL for (int v = 0; v < STRIP_VECTORS; v++)
                sum[r][v] = FN(fma)(factor, sum[q][v], sum[r][v]);
        }
        const V pivot = FN(splat)(packed[(i + r) * FACTOR_BLOCK + i + r]);
        UNROLL for (int v = 0; v < STRIP_VECTORS; v++) {
            sum[r][v] = (0 - sum[r][v]) / pivot; /* 0 - x is never -0 */
            FN(store)(x + (i + r) * STRIP + v * LANES, sum[r][v]);
        }
    }
}

/* Copies n columns of B to a strip, and back. Columns that are contiguous are copied in squares,
 * whose cache lines stay in L1. */
static void FN(load_strip)(const df_block_solve *s, const char *b, int64_t n, T *x)
{
    if (s->column_step == sizeof(T)) {
        for (int64_t i = 0; i < s->rows; i++) {
            memcpy(x + i * STRIP, b + i * s->step, (size_t)n * sizeof(T));
            memset(x + i * STRIP + n, 0, (size_t)(STRIP - n) * sizeof(T));
        }
        return;
    }
    if (n < STRIP) memset(x, 0, (size_t)(s->rows * STRIP) * sizeof(T));
    for (int64_t i0 = 0; i0 < s->rows; i0 += SQUARE)
        for (int64_t j = 0; j < n; j++) {
            const char *from = b + j * s->column_step;
            for (int64_t i = i0; i < df_min(i0 + SQUARE, s->rows); i++)
                x[i * STRIP + j] = *(const T *)(from + i * s->step);
        }
}

static void FN(store_strip)(const df_block_solve *s, char *b, int64_t n, const T *x)
{
    if (s->column_step == sizeof(T)) {
        for (int64_t i = 0; i < s->rows; i++)
            memcpy(b + i * s->step, x + i * STRIP, (size_t)n * sizeof(T));
        return;
    }
    for (int64_t i0 = 0; i0 < s->rows; i0 += SQUARE)
        for (int64_t j = 0; j < n; j++) {
            char *to = b + j * s->column_step;
            for (int64_t i = i0; i < df_min(i0 + SQUARE, s->rows); i++)
                *(T *)(to + i * s->step) = x[i * STRIP + j];
        }
}

/* Strips [begin, end) of a block, in a dense copy: rows of B may be a multiple of a page apart. */
static void FN(solve_strips)(const df_block_solve *s, int64_t begin, int64_t end)
{
    _Alignas(64) T x[FACTOR_BLOCK * STRIP];
    for (int64_t strip = begin; strip < end; strip++) {
        const int64_t n = df_min(STRIP, s->k - strip * STRIP);
        char *b = s->b + strip * STRIP * s->column_step;
        FN(load_strip)(s, b, n, x);
        int64_t i = 0;
        for (; i + STRIP_ROWS <= s->rows; i += STRIP_ROWS)
            FN(solve_rows)(STRIP_ROWS, s->packed, x, i);
        for (; i < s->rows; i++) FN(solve_rows)(1, s->packed, x, i);
        FN(store_strip)(s, b, n, x);
    }
}

/* --- few columns, without packing: products with rows of A in memory --- */

static T FN(dot)(const T *a, const T *x, int64_t n)
{
    V even = {0}, odd = {0};
    int64_t i = 0;
    for (; i + 2 * LANES <= n; i += 2 * LANES) {
        even = FN(fma)(FN(load)(a + i), FN(load)(x + i), even);
        odd = FN(fma)(FN(load)(a + i + LANES), FN(load)(x + i + LANES), odd);
    }
    for (; i < n; i += LANES) {
        const int64_t some = df_min(n - i, LANES);
        even = FN(fma)(FN(load_upto)(a + i, some), FN(load_upto)(x + i, some), even);
    }
    return FN(sum)(even + odd);
}

/* y += x a. */
static void FN(add_multiple)(T *y, T x, const T *a, int64_t n)
{
    for (int64_t i = 0; i < n; i++) y[i] += x * a[i];
}

/* Rows [begin, end) of one column, in place; element i is at b + i * step. */
static void FN(solve_column)(const df_triangle *t, int64_t begin, int64_t end, char *b,
                             int64_t step)
{
    const int64_t n = end - begin;
    const bool down = t->lower != t->transpose;
    _Alignas(64) T x[COLUMN_BLOCK];
    for (int64_t i = 0; i < n; i++) x[i] = *(const T *)(b + (begin + i) * step);
    for (int64_t k = 0; k < n; k++) {
        const int64_t i = down ? k : n - 1 - k;
        const T *row = (const T *)t->a + (begin + i) * t->ld + begin;
        const int64_t from = t->lower ? 0 : i + 1, other = t->lower ? i : n - from;
        if (!t->transpose) x[i] += FN(dot)(row + from, x + from, other);
        x[i] = t->unit ? 0 - x[i] : (0 - x[i]) / row[i];
        if (t->transpose) FN(add_multiple)(x + from, x[i], row + from, other);
    }
    for (int64_t i = 0; i < n; i++) *(T *)(b + (begin + i) * step) = x[i];
}
#undef SQUARE
#undef STRIP
