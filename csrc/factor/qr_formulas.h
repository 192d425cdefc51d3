/* Part of qr.c, included once per dtype: the reflections of a panel. */

static void FN(identity)(char *q, int64_t m, int64_t n)
{
    T *x = (T *)q;
    if (m * n > 0) memset(x, 0, (size_t)(m * n) * sizeof(T));
    for (int64_t i = 0; i < df_min(m, n); i++) x[i * (n + 1)] = 1;
}

/* Copies the columns of a panel to rows of V^T, whole vectors, in squares whose cache lines stay in
 * L1. */
static void FN(load_columns)(const panel *p)
{
    const T *a = (const T *)p->a;
    T *v = (T *)p->v;
    for (int64_t from = 0; from < p->rows; from += 16)
        for (int64_t j = 0; j < p->width; j++)
            for (int64_t i = from; i < df_min(from + 16, p->rows); i++)
                v[j * p->height + i] = a[i * p->ld + j];
    for (int64_t j = 0; j < p->width; j++)
        for (int64_t i = p->rows; i % LANES != 0; i++) v[j * p->height + i] = 0;
}

/* dots[q] = row q of V^T times x, for `count` rows from q on, from row `begin` of the panel on. */
DF_INLINE void FN(dot_group)(const int count, const panel *p, int64_t q, const T *x, int64_t begin,
                             T *dots)
{
    const T *v = (const T *)p->v + q * p->height;
    V sum[UNROLLED];
    UNROLL for (int r = 0; r < count; r++) sum[r] = (V){0};
    for (int64_t i = begin - begin % LANES; i < p->rows; i += LANES) {
        const V some = FN(load)(x + i);
        UNROLL for (int r = 0; r < count; r++)
            sum[r] = FN(fma)(FN(load)(v + r * p->height + i), some, sum[r]);
    }
    UNROLL for (int r = 0; r < count; r++) dots[q + r] = FN(sum)(sum[r]);
}

static void FN(dots_with)(const panel *p, int64_t n, const T *x, int64_t begin, T *dots)
{
    int64_t q = 0;
    for (; q + UNROLLED <= n; q += UNROLLED) FN(dot_group)(UNROLLED, p, q, x, begin, dots);
    for (; q < n; q++) FN(dot_group)(1, p, q, x, begin, dots);
}

/* x -= sum over q < count of factors[q] times row q of V^T. */
DF_INLINE void FN(subtract_group)(const int count, const panel *p, int64_t q, const T *factors,
                                  T *x)
{
    const T *v = (const T *)p->v + q * p->height;
    for (int64_t i = 0; i < p->rows; i += LANES) {
        V sum = FN(load)(x + i);
        UNROLL for (int r = 0; r < count; r++)
            sum = FN(fma)(FN(load)(v + r * p->height + i), FN(splat)(-factors[q + r]), sum);
        FN(store)(x + i, sum);
    }
}

/* The Euclidean norm of n elements, scaled if their squares could leave the range of the dtype. */
static double FN(norm)(const T *x, int64_t n)
{
    const double safe = sizeof(T) == 4 ? 1e15 : 1e140;
    V sums = {0}, most = {0};
    for (int64_t i = 0; i < n; i += LANES) {
        const V some = FN(load_upto)(x + i, df_min(n - i, LANES)), size = FN(abs)(some);
        most = FN(select)(size > most, size, most);
        sums = FN(fma)(some, some, sums);
    }
    double largest = 0, sum = FN(sum)(sums);
    for (int lane = 0; lane < LANES; lane++) largest = fmax(largest, most[lane]);
    if (largest == 0 || (largest > 1 / safe && largest < safe)) return sqrt(sum);
    sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (x[i] / largest) * (x[i] / largest);
    return largest * sqrt(sum);
}

/* Turns column j, x, into the vector of its reflection I - tau v v^T with v[j] = 1. Returns tau,
 * and in *diagonal the element of R. */
static T FN(reflection)(const panel *p, int64_t j, T *x, T *diagonal)
{
    const double alpha = x[j], below = FN(norm)(x + j + 1, p->rows - j - 1);
    *diagonal = x[j];
    memset(x, 0, (size_t)j * sizeof(T));
    x[j] = 1;
    if (below == 0) return 0;
    const double beta = -copysign(hypot(alpha, below), alpha);
    const T divisor = (T)(alpha - beta);
    *diagonal = (T)beta;
    for (int64_t i = j + 1; i < p->rows; i++) x[i] /= divisor;
    return (T)((beta - alpha) / beta);
}

/* Replaces the columns of the panel by R above and on its diagonal; writes V^T, and -T. */
static void FN(factor_panel)(const panel *p)
{
    T *t = (T *)p->t, *a = (T *)p->a, dots[PANEL], factors[PANEL];
    FN(load_columns)(p);
    memset(t, 0, PANEL * PANEL * sizeof(T));
    for (int64_t j = 0; j < p->width; j++) {
        T *x = (T *)p->v + j * p->height;
        FN(dots_with)(p, j, x, 0, dots);
        for (int64_t q = 0; q < j; q++) { /* -T^T dots */
            factors[q] = 0;
            for (int64_t r = 0; r <= q; r++) factors[q] -= t[r * PANEL + q] * dots[r];
        }
        int64_t q = 0;
        for (; q + UNROLLED <= j; q += UNROLLED) FN(subtract_group)(UNROLLED, p, q, factors, x);
        for (; q < j; q++) FN(subtract_group)(1, p, q, factors, x);
        for (int64_t i = 0; i < j; i++) a[i * p->ld + j] = x[i];
        const T tau = FN(reflection)(p, j, x, &a[j * p->ld + j]);
        /* Column j of T is -tau T V^T v, and tau on the diagonal. */
        FN(dots_with)(p, j, x, j, dots);
        for (q = 0; q < j; q++) {
            T sum = 0;
            for (int64_t r = q; r < j; r++) sum -= t[q * PANEL + r] * dots[r];
            t[q * PANEL + j] = tau * sum;
        }
        t[j * PANEL + j] = -tau;
    }
}
