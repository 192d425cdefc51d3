/* Weighted sums of rows for resize.c, compiled once per dtype. Long sums are split into runs. */

DF_INLINE void FN(weigh_vectors)(T *to, const T *from, int64_t inner, const double *weights,
                                 int64_t n, int u, int64_t lanes)
{
    V sum[4] = {0};
    for (int64_t k = 0; k < n;) {
        V run[4] = {0};
        for (const int64_t end = df_min(k + RUN, n); k < end; k++) {
            const V weight = FN(splat)((T)weights[k]);
#pragma GCC unroll 4
            for (int i = 0; i < u; i++) {
                const T *x = from + k * inner + i * LANES;
                run[i] += weight * FN(load_upto)(x, lanes);
            }
        }
#pragma GCC unroll 4
        for (int i = 0; i < u; i++) sum[i] += run[i];
    }
#pragma GCC unroll 4
    for (int i = 0; i < u; i++) {
        FN(store_upto)(to + i * LANES, sum[i], lanes);
    }
}

/* to = the sum of weights[k] * row k of `from`, n rows of `inner` elements. */
static void FN(weigh_rows)(T *to, const T *from, int64_t inner, const double *weights, int64_t n)
{
    int64_t c = 0;
    for (; c + 4 * LANES <= inner; c += 4 * LANES)
        FN(weigh_vectors)(to + c, from + c, inner, weights, n, 4, LANES);
    for (; c + LANES <= inner; c += LANES)
        FN(weigh_vectors)(to + c, from + c, inner, weights, n, 1, LANES);
    if (c < inner) FN(weigh_vectors)(to + c, from + c, inner, weights, n, 1, inner - c);
}

/* Short rows, as the channels of images: n rows of the result from one block of rows. */
DF_INLINE void FN(weigh_pixels)(T *to, const T *from, int inner, const span *spans,
                                const double *weights, int64_t n)
{
    for (int64_t i = 0; i < n; i++, to += inner) {
        const span s = spans[i];
        const T *x = from + s.first * inner;
        T sum[NARROW] = {0};
        for (int64_t k = 0; k < s.n;) {
            T run[NARROW] = {0};
            for (const int64_t end = df_min(k + RUN, s.n); k < end; k++) {
                const T weight = (T)weights[s.at + k];
#pragma GCC unroll 4
                for (int c = 0; c < inner; c++) run[c] += weight * x[k * inner + c];
            }
#pragma GCC unroll 4
            for (int c = 0; c < inner; c++) sum[c] += run[c];
        }
#pragma GCC unroll 4
        for (int c = 0; c < inner; c++) to[c] = sum[c];
    }
}

static void FN(weigh_narrow)(void *to, const void *from, int64_t inner, const span *spans,
                             const double *weights, int64_t n)
{
    if (inner == 1) FN(weigh_pixels)(to, from, 1, spans, weights, n);
    else if (inner == 2) FN(weigh_pixels)(to, from, 2, spans, weights, n);
    else if (inner == 3) FN(weigh_pixels)(to, from, 3, spans, weights, n);
    else FN(weigh_pixels)(to, from, NARROW, spans, weights, n);
}

/* Same for long rows. */
static void FN(weigh_wide)(void *out, const void *in, int64_t inner, const span *spans,
                           const double *weights, int64_t n)
{
    T *to = out;
    const T *from = in;
    for (int64_t i = 0; i < n; i++)
        FN(weigh_rows)(to + i * inner, from + spans[i].first * inner, inner,
                       weights + spans[i].at, spans[i].n);
}
