/* Part of complex_blocks.c, included once per complex dtype; T is the dtype of the parts. */

/* a / (re + i im) by the smaller ratio of the parts, see FN(complex_divide). */
DF_INLINE Z FN(divide_by)(Z a, T re, T im)
{
    const bool swap = PART_SIZE(re) < PART_SIZE(im);
    const T large = swap ? im : re, small = swap ? re : im, ratio = large == 0 ? 0 : small / large;
    const V size = FN(splat)(large + small * ratio);
    if (swap) return (Z){(a.re * ratio + a.im) / size, (a.im * ratio - a.re) / size};
    return (Z){(a.re + a.im * ratio) / size, (a.im - a.re * ratio) / size};
}

DF_INLINE Z FN(load_parts)(const T *re, const T *im, int64_t at)
{
    return (Z){FN(load)(re + at), FN(load)(im + at)};
}

/* sum + a (re + i im). */
DF_INLINE Z FN(add_product)(Z sum, Z a, T re, T im)
{
    const V by_re = FN(splat)(re), by_im = FN(splat)(im);
    sum.re = FN(fma)(a.re, by_re, sum.re);
    sum.im = FN(fma)(a.im, by_re, sum.im);
    sum.re = FN(fma)(a.im, -by_im, sum.re);
    sum.im = FN(fma)(a.re, by_im, sum.im);
    return sum;
}

/* Minus a complex number, with parts that are never -0. */
DF_INLINE Z FN(minus)(Z a) { return (Z){0 - a.re, 0 - a.im}; }

/* --- triangular solves -------------------------------------------------------------------------
 * A strip is one vector wide: rows of real parts, and FACTOR_BLOCK rows of imaginary parts. */

/* See triangle_formulas.h. */
DF_INLINE void FN(solve_complex_rows)(const int rows, const T *packed, T *x, int64_t i)
{
    const T *packed_im = packed + FACTOR_BLOCK * FACTOR_BLOCK;
    T *im = x + FACTOR_BLOCK * LANES;
    Z sum[STRIP_ROWS];
    UNROLL for (int r = 0; r < rows; r++) sum[r] = FN(load_parts)(x, im, (i + r) * LANES);
    for (int64_t j = 0; j < i; j++) {
        const Z solved = FN(load_parts)(x, im, j * LANES);
        const int64_t at = j * FACTOR_BLOCK + i;
        UNROLL for (int r = 0; r < rows; r++)
            sum[r] = FN(add_product)(sum[r], solved, packed[at + r], packed_im[at + r]);
    }
    UNROLL for (int r = 0; r < rows; r++) {
        UNROLL for (int q = 0; q < r; q++) {
            const int64_t at = (i + q) * FACTOR_BLOCK + i + r;
            sum[r] = FN(add_product)(sum[r], sum[q], packed[at], packed_im[at]);
        }
        const int64_t at = (i + r) * (FACTOR_BLOCK + 1);
        sum[r] = FN(divide_by)(FN(minus)(sum[r]), packed[at], packed_im[at]);
        FN(store)(x + (i + r) * LANES, sum[r].re);
        FN(store)(im + (i + r) * LANES, sum[r].im);
    }
}

/* Copies n columns of B to a strip, or back. */
static void FN(copy_complex_strip)(const df_block_solve *s, char *b, int64_t n, T *x, bool back)
{
    T *im = x + FACTOR_BLOCK * LANES;
    for (int64_t i = 0; i < s->rows && s->column_step == 2 * sizeof(T); i++) {
        T *at = (T *)(b + i * s->step);
        if (back)
            FN(store_complex)(at, FN(load_parts)(x, im, i * LANES), n);
        else {
            const Z z = FN(load_complex)(at, n);
            FN(store)(x + i * LANES, z.re);
            FN(store)(im + i * LANES, z.im);
        }
    }
    for (int64_t j = 0; j < n && s->column_step != 2 * sizeof(T); j++)
        for (int64_t i = 0; i < s->rows; i++) {
            T *at = (T *)(b + i * s->step + j * s->column_step), *re = x + i * LANES + j;
            if (back) {
                at[0] = re[0];
                at[1] = re[FACTOR_BLOCK * LANES];
            } else {
                re[0] = at[0];
                re[FACTOR_BLOCK * LANES] = at[1];
            }
        }
}

static void CN(solve_strips)(const df_block_solve *s, int64_t begin, int64_t end)
{
    _Alignas(64) T x[2 * FACTOR_BLOCK * LANES] = {0};
    for (int64_t strip = begin; strip < end; strip++) {
        const int64_t n = df_min(LANES, s->k - strip * LANES);
        char *b = s->b + strip * LANES * s->column_step;
        FN(copy_complex_strip)(s, b, n, x, false);
        int64_t i = 0;
        for (; i + STRIP_ROWS <= s->rows; i += STRIP_ROWS)
            FN(solve_complex_rows)(STRIP_ROWS, s->packed, x, i);
        for (; i < s->rows; i++) FN(solve_complex_rows)(1, s->packed, x, i);
        FN(copy_complex_strip)(s, b, n, x, true);
    }
}

/* --- Cholesky factors: see cholesky_formulas.h ------------------------------------------------ */

static int64_t CN(cholesky_block)(void *at, int64_t ld, int64_t n, void *columns)
{
    T *a = at, *re = columns, *im = re + FACTOR_BLOCK * FACTOR_BLOCK;
    memset(re, 0, (size_t)(2 * FACTOR_BLOCK * FACTOR_BLOCK) * sizeof(T));
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) {
            re[j * FACTOR_BLOCK + i] = a[2 * (i * ld + j)];
            im[j * FACTOR_BLOCK + i] = a[2 * (i * ld + j) + 1];
        }
    for (int64_t j = 0; j < n; j++) {
        T *column = re + j * FACTOR_BLOCK, *column_im = im + j * FACTOR_BLOCK;
        const T pivot = -column[j];
        if (!(pivot > 0)) return j;
        const V root = FN(sqrt)(FN(splat)(pivot));
        for (int64_t i = j - j % LANES; i < n; i += LANES) {
            const Z z = FN(minus)(FN(load_parts)(column, column_im, i));
            FN(store)(column + i, z.re / root);
            FN(store)(column_im + i, z.im / root);
        }
        column[j] = root[0];
        column_im[j] = 0;
        for (int64_t r = j + 1; r < n; r++) {
            T *next = re + r * FACTOR_BLOCK, *next_im = im + r * FACTOR_BLOCK;
            const T by_re = column[r], by_im = -column_im[r];
            for (int64_t i = r - r % LANES; i < n; i += LANES) {
                const Z z = FN(add_product)(FN(load_parts)(next, next_im, i),
                                            FN(load_parts)(column, column_im, i), by_re, by_im);
                FN(store)(next + i, z.re);
                FN(store)(next_im + i, z.im);
            }
        }
    }
    for (int64_t i = 0; i < n; i++) {
        T *row = a + 2 * i * ld;
        memset(row, 0, (size_t)(2 * n) * sizeof(T));
        for (int64_t j = 0; j <= i; j++) {
            row[2 * j] = re[j * FACTOR_BLOCK + i];
            row[2 * j + 1] = im[j * FACTOR_BLOCK + i];
        }
    }
    /* the conjugate, as the rows below need it */
    for (int64_t i = 0; i < n * FACTOR_BLOCK; i++) im[i] = -im[i];
    return -1;
}

/* --- LU factors: see lu_formulas.h ------------------------------------------------------------ */

/* Adds columns q < j times u[q] to `count` vectors of a column, from row `at` on, except for the
 * lanes before row j. */
DF_INLINE void FN(update_complex)(const int count, const df_panel *p, int64_t j, const T *u,
                                  int64_t at)
{
    T *re = (T *)p->panel, *im = re + p->height * p->width, *to = re + j * p->height + at;
    T *to_im = im + j * p->height + at;
    Z sum[STRIP_ROWS];
    UNROLL for (int v = 0; v < count; v++) sum[v] = FN(load_parts)(to, to_im, v * LANES);
    const Z first = sum[0];
    for (int64_t q = 0; q < j; q++)
        UNROLL for (int v = 0; v < count; v++)
            sum[v] = FN(add_product)(
                sum[v], FN(load_parts)(re, im, q * p->height + at + v * LANES), u[2 * q],
                u[2 * q + 1]);
    const M before = FN(first_lanes)(j - at);
    sum[0].re = FN(select)(before, first.re, sum[0].re);
    sum[0].im = FN(select)(before, first.im, sum[0].im);
    UNROLL for (int v = 0; v < count; v++) {
        FN(store)(to + v * LANES, sum[v].re);
        FN(store)(to_im + v * LANES, sum[v].im);
    }
}

static int64_t FN(find_complex_pivot)(const T *re, const T *im, int64_t j, int64_t n)
{
    T largest = 0;
    int64_t pivot = j, nan = -1;
    for (int64_t i = j; i < n; i++) {
        const T size = PART_SIZE(re[i]) + PART_SIZE(im[i]);
        if (size > largest) {
            largest = size;
            pivot = i;
        }
        if (size != size && nan < 0) nan = i;
    }
    return largest > 0 || nan < 0 ? pivot : nan;
}

static void FN(copy_complex_panel)(const df_panel *p, bool back)
{
    T *re = (T *)p->panel, *im = re + p->height * p->width;
    for (int64_t i = 0; i < p->rows; i++) {
        T *row = (T *)p->a + 2 * i * p->ld;
        for (int64_t j = 0; j < p->width; j++) {
            if (back) {
                row[2 * j] = re[j * p->height + i];
                row[2 * j + 1] = im[j * p->height + i];
            } else {
                re[j * p->height + i] = row[2 * j];
                im[j * p->height + i] = row[2 * j + 1];
            }
        }
    }
    for (int64_t j = 0; j < 2 * p->width && !back; j++)
        for (int64_t i = p->rows; i % LANES != 0; i++) re[j * p->height + i] = 0;
}

static void CN(lu_panel)(const df_panel *p)
{
    const int64_t n = p->rows, height = p->height, imaginary = height * p->width;
    T *panel = (T *)p->panel, u[2 * FACTOR_BLOCK];
    FN(copy_complex_panel)(p, false);
    for (int64_t j = 0; j < p->width; j++) {
        T *column = panel + j * height, *column_im = column + imaginary;
        for (int64_t q = 0; q < j; q++) {
            T re = column[q], im = column_im[q];
            for (int64_t r = 0; r < q; r++) {
                const T a = panel[r * height + q], b = panel[imaginary + r * height + q];
                re += a * u[2 * r] - b * u[2 * r + 1];
                im += a * u[2 * r + 1] + b * u[2 * r];
            }
            column[q] = u[2 * q] = 0 - re;
            column_im[q] = u[2 * q + 1] = 0 - im;
        }
        int64_t at = j - j % LANES;
        for (; at + STRIP_ROWS * LANES <= n; at += STRIP_ROWS * LANES)
            FN(update_complex)(STRIP_ROWS, p, j, u, at);
        for (; at < n; at += LANES) FN(update_complex)(1, p, j, u, at);
        const int64_t pivot = FN(find_complex_pivot)(column, column_im, j, n);
        p->swaps[j] = pivot;
        for (int64_t q = 0; q < 2 * p->width && pivot != j; q++) {
            T *x = panel + q * height, held = x[j];
            x[j] = x[pivot];
            x[pivot] = held;
        }
        const T re = column[j], im = column_im[j];
        const bool zero = re == 0 && im == 0;
        for (int64_t i = j - j % LANES; i < n; i += LANES) {
            const Z old = FN(load_parts)(column, column_im, i);
            Z z = zero ? (Z){0} : FN(divide_by)(old, re, im);
            const M before = FN(first_lanes)(j - i);
            FN(store)(column + i, FN(select)(before, old.re, z.re + 0));
            FN(store)(column_im + i, FN(select)(before, old.im, z.im + 0));
        }
        column[j] = 0 - re;
        column_im[j] = 0 - im;
    }
    FN(copy_complex_panel)(p, true);
}
