/* Weighted sums of rows for resize.c, compiled once per dtype. Long ones are made of runs. */

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
                run[i] += weight * (lanes == LANES ? FN(load)(x) : FN(load_n)(x, lanes));
            }
        }
#pragma GCC unroll 4
        for (int i = 0; i < u; i++) sum[i] += run[i];
    }
#pragma GCC unroll 4
    for (int i = 0; i < u; i++) {
        if (lanes == LANES) FN(store)(to + i * LANES, sum[i]);
        else FN(store_n)(to + i * LANES, sum[i], lanes);
    }
}

/* to = sum of weights[k] * row k of `from`, n rows of `inner` numbers. */
static void FN(weigh_rows)(void *out, const void *in, int64_t inner, const double *weights,
                           int64_t n)
{
    T *to = out;
    const T *from = in;
    int64_t c = 0;
    if (inner < 4) { /* as images have channels */
        for (; c < inner; c++) {
            T sum = 0;
            for (int64_t k = 0; k < n;) {
                T run = 0;
                for (const int64_t end = df_min(k + RUN, n); k < end; k++)
                    run += (T)weights[k] * from[k * inner + c];
                sum += run;
            }
            to[c] = sum;
        }
        return;
    }
    for (; c + 4 * LANES <= inner; c += 4 * LANES)
        FN(weigh_vectors)(to + c, from + c, inner, weights, n, 4, LANES);
    for (; c + LANES <= inner; c += LANES)
        FN(weigh_vectors)(to + c, from + c, inner, weights, n, 1, LANES);
    if (c < inner) FN(weigh_vectors)(to + c, from + c, inner, weights, n, 1, inner - c);
}
