/* Part of lu.c, included once per dtype: the factors of a panel, in a copy whose columns are
 * contiguous and consist of whole vectors. */

/* Copies columns [begin, end) of the matrix from row `begin` on to the panel, and back: squares of
 * PANEL rows, whose cache lines stay in L1. */
static void FN(load_panel)(const factoring *f, int64_t begin, int64_t end)
{
    const int64_t n = f->m - begin, width = end - begin;
    T *panel = (T *)f->panel;
    for (int64_t from = 0; from < n; from += PANEL) {
        const T *a = (const T *)element(f, begin + from, begin);
        const int64_t rows = df_min(PANEL, n - from);
        for (int64_t j = 0; j < width; j++)
            UNROLL for (int64_t i = 0; i < rows; i++)
                panel[j * f->height + from + i] = a[i * f->n + j];
    }
    for (int64_t j = 0; j < width; j++)
        for (int64_t i = n; i % LANES != 0; i++) panel[j * f->height + i] = 0;
}

static void FN(store_panel)(const factoring *f, int64_t begin, int64_t end)
{
    const int64_t n = f->m - begin, width = end - begin;
    const T *panel = (const T *)f->panel;
    for (int64_t from = 0; from < n; from += PANEL) {
        T *a = (T *)element(f, begin + from, begin);
        const int64_t rows = df_min(PANEL, n - from);
        for (int64_t i = 0; i < rows; i++)
            UNROLL for (int64_t j = 0; j < width; j++)
                a[i * f->n + j] = panel[j * f->height + from + i];
    }
}

/* Adds columns q < j times u[q] to `count` vectors of a column, from row `at` on, except for the
 * lanes in `first` of the first vector, which are set to first_old. */
DF_INLINE void FN(update_vectors)(const int count, const T *panel, int64_t height, int64_t j,
                                  const T *u, int64_t at, T *column, V first_old, M first)
{
    V sum[UNROLLED];
    UNROLL for (int v = 0; v < count; v++) sum[v] = FN(load)(column + at + v * LANES);
    for (int64_t q = 0; q < j; q++) {
        const V factor = FN(splat)(u[q]);
        UNROLL for (int v = 0; v < count; v++)
            sum[v] = FN(fma)(FN(load)(panel + q * height + at + v * LANES), factor, sum[v]);
    }
    sum[0] = FN(select)(first, first_old, sum[0]);
    UNROLL for (int v = 0; v < count; v++) FN(store)(column + at + v * LANES, sum[v]);
}

/* The first element from `j` on of largest absolute value. Comparisons with NaN are false, so a NaN
 * is found only if no element is larger than 0. */
static int64_t FN(find_pivot)(const T *column, int64_t j, int64_t n)
{
    V most = {0};
    M found = {0}; /* the number of the vector with the largest element of each lane */
    for (int64_t i = j - j % LANES; i < n; i += LANES) {
        V x = FN(abs)(FN(load)(column + i));
        if (i < j) x = FN(select)(FN(first_lanes)(j - i), (V){0}, x);
        const M larger = x > most, at = (__typeof__(found[0]))(i / LANES) - (M){0};
        most = FN(select)(larger, x, most);
        found = (larger & at) | (~larger & found);
    }
    T largest = 0;
    int64_t pivot = n;
    for (int lane = 0; lane < LANES; lane++) {
        const int64_t i = found[lane] * LANES + lane;
        if (most[lane] > largest || (most[lane] == largest && largest > 0 && i < pivot)) {
            largest = most[lane];
            pivot = i;
        }
    }
    if (largest > 0) return pivot;
    for (int64_t i = j; i < n; i++)
        if (column[i] != column[i]) return i;
    return j;
}

/* Factors columns [begin, end) from row `begin` on. Column j is updated with the columns before it
 * when its turn comes (left-looking). */
static void FN(factor_panel)(factoring *f, int64_t begin, int64_t end)
{
    const int64_t n = f->m - begin, width = end - begin, height = f->height;
    T *panel = (T *)f->panel, u[PANEL];
    FN(load_panel)(f, begin, end);
    for (int64_t j = 0; j < width; j++) {
        T *column = panel + j * height;
        for (int64_t q = 0; q < j; q++) {
            T sum = column[q];
            UNROLL for (int64_t p = 0; p < q; p++) sum += panel[p * height + q] * u[p];
            column[q] = u[q] = 0 - sum; /* never -0 */
        }
        int64_t at = j - j % LANES;
        const V old = FN(load)(column + at), zero = {0};
        const M first = FN(first_lanes)(j - at), none = {0};
        FN(update_vectors)(1, panel, height, j, u, at, column, old, first);
        for (at += LANES; at + UNROLLED * LANES <= n; at += UNROLLED * LANES)
            FN(update_vectors)(UNROLLED, panel, height, j, u, at, column, zero, none);
        for (; at < n; at += LANES)
            FN(update_vectors)(1, panel, height, j, u, at, column, zero, none);
        const int64_t pivot = FN(find_pivot)(column, j, n);
        f->swaps[j] = begin + pivot;
        for (int64_t q = 0; q < width && pivot != j; q++) {
            T *x = panel + q * height, held = x[j];
            x[j] = x[pivot];
            x[pivot] = held;
        }
        const T divisor = column[j];
        int64_t i = j + 1;
        column[j] = 0 - divisor;
        if (divisor == 0) {
            memset(column + i, 0, (size_t)(n - i) * sizeof(T));
            continue;
        }
        for (; i < n && i % LANES != 0; i++) column[i] = column[i] / divisor + 0;
        for (; i < n; i += LANES)
            FN(store)(column + i, FN(load)(column + i) / FN(splat)(divisor) + 0);
    }
    FN(store_panel)(f, begin, end);
}
