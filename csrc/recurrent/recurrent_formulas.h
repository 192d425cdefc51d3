/* Included once per floating dtype: the recurrent product.
 *
 * The right operand is packed into panels of a few vectors of columns: the columns of all gates of
 * the same units, so that a cell gets them together while they are in registers or L1. */

/* First column of vector j of panel p; `n` receives the number of lanes that are columns. */
DF_INLINE int64_t FN(column_of)(const matrix *m, int64_t p, int64_t j, int64_t *n)
{
    const int64_t at = (m->groups > 1 ? p : p * m->width + j) * LANES;
    *n = df_max(0, df_min(LANES, m->n - at));
    return m->groups > 1 ? j * m->n + at : at;
}

/* Packs rows [k, end) of vector j of panel p. */
DF_INLINE void FN(pack_rows)(const matrix *m, int64_t p, int64_t j, int64_t k, int64_t end)
{
    const int64_t step = m->width * LANES;
    T *to = (T *)m->packed + p * m->k * step + j * LANES;
    int64_t n, column = FN(column_of)(m, p, j, &n);
    const T *from = (const T *)m->from + column * m->column_step;
    for (; k < end; k++) {
        if (m->column_step == 1) {
            FN(store)(to + k * step, FN(load_upto)(from + k * m->k_step, n));
            continue;
        }
        for (int64_t i = 0; i < n; i++) to[k * step + i] = from[i * m->column_step + k];
        for (int64_t i = n; i < LANES; i++) to[k * step + i] = 0;
    }
}

/* A few rows at a time for all panels, so that these are read in order and once. */
static void FN(pack_task)(void *context, int64_t begin, int64_t end)
{
    const matrix *m = context;
    for (int64_t k = 0; k < m->k; k += PACKED_ROWS)
        for (int64_t p = begin; p < end; p++)
            for (int64_t j = 0; j < m->width; j++)
                FN(pack_rows)(m, p, j, k, df_min(k + PACKED_ROWS, m->k));
}

/* tile[i][j] = sum over k of a[i * a_row + k * a_step] * b[k * b_row + j], where j counts vectors;
 * rows and width are constants at every call. */
DF_INLINE void FN(multiply)(const int rows, const int width, const factors *f, const T *a,
                            const T *b, T *tile)
{
    const int64_t a_row = f->a_row;
    V sum[ROWS][WIDTH];
    UNROLL for (int i = 0; i < rows; i++)
        UNROLL for (int j = 0; j < width; j++) sum[i][j] = (V){0};
    for (int64_t p = 0; p < f->k; p++, a += f->a_step, b += f->b_row) {
        V row[WIDTH];
        UNROLL for (int j = 0; j < width; j++) row[j] = FN(load)(b + j * LANES);
        UNROLL for (int i = 0; i < rows; i++) {
            const V x = FN(splat)(a[i * a_row]);
            UNROLL for (int j = 0; j < width; j++) sum[i][j] = FN(fma)(x, row[j], sum[i][j]);
        }
    }
    UNROLL for (int i = 0; i < rows; i++)
        UNROLL for (int j = 0; j < width; j++)
            FN(store)(tile + (i * width + j) * LANES, sum[i][j]);
}

DF_INLINE void FN(multiply_rows)(const int width, int64_t rows, const factors *f, const T *a,
                                 const T *b, T *tile)
{
    switch (rows) {
    case 1: FN(multiply)(1, width, f, a, b, tile); break;
    case 2: FN(multiply)(2, width, f, a, b, tile); break;
#if ROWS > 3
    case 4: FN(multiply)(4, width, f, a, b, tile); break;
    case 5: FN(multiply)(5, width, f, a, b, tile); break;
    case 6: FN(multiply)(6, width, f, a, b, tile); break;
#endif
    default: FN(multiply)(3, width, f, a, b, tile); break;
    }
}

static void FN(multiply_any)(int64_t width, int64_t rows, const factors *f, const T *a, const T *b,
                             T *tile)
{
    switch (width) {
    case 1: FN(multiply_rows)(1, rows, f, a, b, tile); break;
    case 2: FN(multiply_rows)(2, rows, f, a, b, tile); break;
    case 3: FN(multiply_rows)(3, rows, f, a, b, tile); break;
    default: FN(multiply_rows)(4, rows, f, a, b, tile); break;
    }
}

/* c = a' b or, if `more`, c += a' b, over k rows; rows of b are padded to whole vectors. */
static void FN(add_product)(bool more, int64_t k, const T *a, int64_t lda, int64_t m, const T *b,
                            int64_t ldb, int64_t n, T *c, int64_t ldc)
{
    T tile[ROWS * WIDTH * LANES] __attribute__((aligned(DF_ALIGNMENT)));
    const factors f = {.k = k, .a_row = 1, .a_step = lda, .b_row = ldb};
    const int64_t vectors = df_ceil_div(n, LANES), blocks = df_ceil_div(m, ROWS);
    for (int64_t j = 0; j < vectors; j += WIDTH) {
        const int64_t width = df_min(WIDTH, vectors - j);
        for (int64_t block = 0; block < blocks; block++) {
            const int64_t row = block * m / blocks, end = (block + 1) * m / blocks;
            FN(multiply_any)(width, end - row, &f, a + row, b + j * LANES, tile);
            const T *from = tile;
            for (int64_t i = row; i < end; i++)
                for (int64_t w = 0; w < width; w++, from += LANES) {
                    const int64_t column = (j + w) * LANES, some = df_min(LANES, n - column);
                    T *to = c + i * ldc + column;
                    const V old = more ? FN(load_upto)(to, some) : (V){0};
                    FN(store_upto)(to, old + FN(load)(from), some);
                }
        }
    }
}

/* Operands of a step of some rows. */
typedef struct FN(step) {
    const recurrence *of;
    int64_t t, row0, rows;
    T *h, *h_new; /* rows x H: the states; backward: h is their cotangent */
    T *c;         /* rows x H: the cells; backward: their cotangent */
    T *z;         /* rows x ldz: products with the inputs; backward: their cotangent */
    T *d;         /* rows x ldd: for GRUs, see the cells */
    T *a;         /* rows x lda; backward: x, 1, the previous state, 1 */
} FN(step);

/* Called with the vectors of panel p of row i of a product. */
typedef void (*FN(finish))(const FN(step) *s, int64_t i, int64_t p, const T *tile);

/* Multiplies a (rows x k) by m and passes the tiles to `finish`. Rows are spread evenly over tiles.
 * Every second step begins with the last panel, which the step before has left in the cache. */
DF_INLINE void FN(product)(const FN(step) *s, const matrix *m, int64_t rows, const T *a,
                           int64_t lda, FN(finish) finish)
{
    T tile[ROWS * WIDTH * LANES] __attribute__((aligned(DF_ALIGNMENT)));
    const factors f = {.k = m->k, .a_row = lda, .a_step = 1, .b_row = m->width * LANES};
    const int64_t blocks = df_ceil_div(rows, ROWS);
    for (int64_t n = 0; n < m->panels; n++) {
        const int64_t p = s->t % 2 ? m->panels - 1 - n : n;
        const T *panel = (const T *)m->packed + p * m->k * m->width * LANES;
        for (int64_t b = 0; b < blocks; b++) {
            const int64_t row = b * rows / blocks, end = (b + 1) * rows / blocks;
            FN(multiply_any)(m->width, end - row, &f, a + row * lda, panel, tile);
            for (int64_t i = row; i < end; i++)
                finish(s, i, p, tile + (i - row) * m->width * LANES);
        }
    }
}
