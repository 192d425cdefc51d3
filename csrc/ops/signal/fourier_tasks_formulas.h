/* The tasks of Fourier transforms: blocks of columns, rows of real numbers, and parts of a single
 * column, over the steps in fourier_formulas.h. Included once per complex dtype. */

/* y[j][i] = x[i][j] for i < m, j < n. Rows of x are xs apart, rows of y ys. */
DF_NOINLINE void FN(transpose)(int64_t m, int64_t n, const T *x, int64_t xs, T *y, int64_t ys)
{
    enum { EDGE = LANES / 2 };
    for (int64_t i = 0; i < m; i += EDGE)
        for (int64_t j = 0; j < n; j += EDGE) {
            if (i + EDGE <= m && j + EDGE <= n) {
                v_f64 tile[EDGE];
#pragma GCC unroll 8
                for (int r = 0; r < EDGE; r++)
                    tile[r] = (v_f64)FN(load)(x + (i + r) * xs + 2 * j);
                FN(store_columns)(tile, y + j * ys + 2 * i, ys);
                continue;
            }
            for (int64_t r = i; r < df_min(i + EDGE, m); r++)
                for (int64_t c = j; c < df_min(j + EDGE, n); c++)
                    memcpy(y + c * ys + 2 * r, x + r * xs + 2 * c, 2 * sizeof(T));
        }
}

/* Transforms `rows` rows x + i xs of n numbers as columns next to each other. y may be x. */
static void FN(gathered)(const df_fourier_plan *p, int64_t rows, const T *x, int64_t xs, T *y,
                         int64_t ys, T *scratch)
{
    const int64_t n = p->n;
    T *a = scratch, *b = a + 2 * n * rows;
    FN(transpose)(rows, n, x, xs, a, 2 * rows);
    FN(transform_columns)(p, rows, a, 2 * rows, b, 2 * rows, b + 2 * n * rows);
    FN(transpose)(n, rows, b, 2 * rows, y, ys);
}

/* Transforms rows that are single columns. */
DF_NOINLINE void FN(transform_rows)(const df_fourier_plan *p, int64_t rows, const T *x, int64_t xs,
                                    T *y, int64_t ys, T *scratch)
{
    if (p->gathers) FN(gathered)(p, rows, x, xs, y, ys, scratch);
    else FN(transform_columns)(p, 1, x, 2, y, 2, scratch);
}

/* --- real numbers ----------------------------------------------------------------------------- */

/* With f, the factor, and w, a root: e = f (a + conj b), o = f w (a - conj b); a = e + o,
 * b = conj(e - o). The numbers of b are in the opposite order of those of a. */
DF_INLINE void FN(combine_lanes)(V *a, V *b, V w, V f)
{
    const M conjugate = FN(sign_of_part)(1);
    const V c = FN(flip)(DF_SHUFFLE(*b, *b, DF_LIST(DF_BACKWARDS)), conjugate);
    const V e = (*a + c) * f, o = FN(times)((*a - c) * f, FN(factors)(w));
    const V d = FN(flip)(e - o, conjugate);
    *a = e + o;
    *b = DF_SHUFFLE(d, d, DF_LIST(DF_BACKWARDS));
}

/* Combines the results k and m - k, begin <= k < end <= m / 2 + 1, of m pairs of real numbers to
 * frequencies, or, if inverse, frequencies to inputs for m pairs. y may be x. */
DF_NOINLINE void FN(combine)(const job *j, const T *x, T *y, int64_t begin, int64_t end)
{
    enum { EDGE = LANES / 2 };
    const int64_t m = j->plan.n;
    const T *roots = j->plan.halves;
    const V f = FN(splat)((T)j->factor);
    if (begin == 0) {
        const T a = x[0], b = x[j->plan.inverse ? 2 * m : 1];
        y[0] = a + b;
        y[j->plan.inverse ? 1 : 2 * m] = a - b;
        if (!j->plan.inverse) y[1] = y[2 * m + 1] = 0;
        begin = 1;
    }
    int64_t k = begin;
    for (; k + EDGE <= end && 2 * (k + EDGE) <= m + 1; k += EDGE) {
        const int64_t low = 2 * k, high = 2 * (m - k - EDGE + 1);
        V a = FN(load)(x + low), b = FN(load)(x + high);
        FN(combine_lanes)(&a, &b, FN(load)(roots + low), f);
        FN(store)(y + low, a);
        FN(store)(y + high, b);
    }
    for (int64_t n; k < end; k += n) {
        n = df_min(end - k, EDGE);
        const int64_t low = 2 * k, high = 2 * (m - k - n + 1), gap = LANES - 2 * n;
        const size_t bytes = (size_t)n * 2 * sizeof(T);
        T lanes[3][LANES] = {{0}};
        memcpy(lanes[0], x + low, bytes);
        memcpy(lanes[1] + gap, x + high, bytes);
        memcpy(lanes[2], roots + low, bytes);
        V a = FN(load)(lanes[0]), b = FN(load)(lanes[1]);
        FN(combine_lanes)(&a, &b, FN(load)(lanes[2]), f);
        FN(store)(lanes[0], a);
        FN(store)(lanes[1], b);
        memcpy(y + low, lanes[0], bytes);
        memcpy(y + high, lanes[1] + gap, bytes);
    }
}

/* Copies n real numbers, n odd, to complex ones, or their frequencies to all n frequencies. */
static void FN(to_complex)(const job *j, const T *x, T *y)
{
    const int64_t n = j->points;
    const T f = (T)j->factor;
    y[0] = x[0];
    y[1] = 0;
    for (int64_t k = 1; k < n && !j->plan.inverse; k++) y[2 * k] = x[k], y[2 * k + 1] = 0;
    for (int64_t k = 1; k <= n / 2 && j->plan.inverse; k++) {
        y[2 * k] = y[2 * (n - k)] = f * x[2 * k];
        y[2 * k + 1] = f * x[2 * k + 1];
        y[2 * (n - k) + 1] = -y[2 * k + 1];
    }
}

/* Copies the first half of n frequencies, n odd, or n real parts. */
static void FN(from_complex)(const job *j, const T *x, T *y)
{
    const int64_t n = j->points;
    y[0] = x[0];
    for (int64_t k = 1; k < n && j->plan.inverse; k++) y[k] = x[2 * k];
    if (j->plan.inverse) return;
    y[1] = 0;
    for (int64_t k = 2; k <= n; k++) y[k] = (T)j->factor * x[k];
}

/* Transforms rows, beginning with `first`, of real numbers or to real numbers. */
static void FN(real_rows)(const job *j, int64_t first, int64_t rows, T *scratch)
{
    const df_fourier_plan *p = &j->plan;
    const int64_t n = j->points, frequencies = n / 2 + 1, end = p->n / 2 + 1, length = 2 * p->n;
    const int64_t xs = p->inverse ? 2 * frequencies : n, ys = p->inverse ? n : 2 * frequencies;
    const T *x = (const T *)j->x + first * xs;
    T *y = (T *)j->y + first * ys, *rest = scratch + 2 * complex_copies(j);
    if (p->pairs && p->inverse) {
        for (int64_t i = 0; i < rows; i++) FN(combine)(j, x + i * xs, y + i * ys, 0, end);
        FN(transform_rows)(p, rows, y, ys, y, ys, rest);
        return;
    }
    for (int64_t i = 0; i < rows && !p->pairs; i++)
        FN(to_complex)(j, x + i * xs, scratch + i * length);
    FN(transform_rows)(p, rows, p->pairs ? x : scratch, p->pairs ? xs : length, scratch, length,
                       rest);
    for (int64_t i = 0; i < rows; i++) {
        if (p->pairs) FN(combine)(j, scratch + i * length, y + i * ys, 0, end);
        else FN(from_complex)(j, scratch + i * length, y + i * ys);
    }
}

/* Blocks [begin, end) of columns: of all rows before the axis, or a step of a single column. */
static void CN(blocks)(const job *j, int64_t begin, int64_t end, void *scratch)
{
    const df_fourier_plan *p = &j->plan;
    const int64_t n = p->n, columns = p->columns, rows = p->gathers ? p->step[0].width : 1;
    const int64_t width = p->n_steps == 2 ? 1 : p->step[0].width;
    for (int64_t i = begin; i < end; i++) {
        if (j->part == COMBINE) {
            FN(combine)(j, p->inverse ? j->x : j->y, j->y, i * COMBINED,
                        df_min((i + 1) * COMBINED, n / 2 + 1));
            continue;
        }
        if (j->part == FIRST) {
            FN(first_step)(p, j->x, i * p->step[0].width, j->middle, scratch);
            continue;
        }
        if (j->part == SECOND) {
            FN(second_step)(p, j->middle, i * p->step[1].width, j->y, scratch);
            continue;
        }
        const int64_t first = i * rows, some = df_min(rows, j->outer - first);
        if (j->points) {
            FN(real_rows)(j, first, some, scratch);
            continue;
        }
        if (columns == 1) {
            FN(transform_rows)(p, some, (const T *)j->x + 2 * n * first, 2 * n,
                               (T *)j->y + 2 * n * first, 2 * n, scratch);
            continue;
        }
        const int64_t block = i % j->blocks * width;
        const int64_t at = 2 * (i / j->blocks * n * columns + block);
        FN(transform_columns)(p, df_min(width, columns - block), (const T *)j->x + at, 2 * columns,
                              (T *)j->y + at, 2 * columns, scratch);
    }
}
