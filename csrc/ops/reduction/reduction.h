/* Included once per dtype: reductions of rows and of columns.
 *
 * A reduction combines map(x, p) over many x, where p is a number per result (a mean, a maximum),
 * ignored by most maps. Float sums use many accumulators, so that their error grows slowly in short
 * blocks; the caller chooses the blocks. Independent of ops and tensors. */

#include "simd/lane_numbers.h"

/* The identities of maximum and minimum. */
#if DTYPE_FLOAT
#define LOWEST (-(T)INFINITY)
#define HIGHEST ((T)INFINITY)
#else
#define LOWEST ((T)-1 > 0 ? (T)0 : (T)((uint64_t)1 << (8 * sizeof(T) - 1)))
#define HIGHEST ((T)~LOWEST)
#endif

#define LANE_INT __typeof__(((M){0})[0])

typedef V (*FN(map_fn))(V x, V p);
typedef V (*FN(combine_fn))(V a, V b);

DF_INLINE V FN(plain)(V x, V p)
{
    (void)p;
    return x;
}
DF_INLINE V FN(plus)(V a, V b) { return a + b; }
DF_INLINE V FN(times)(V a, V b) { return a * b; }

/* Lane i of the result is v[i ^ w], w a constant. */
DF_INLINE V FN(cross)(V v, int w)
{
#if defined(__clang__)
    V r = v;
#pragma clang loop unroll(full)
    for (int i = 0; i < LANES; i++) r[i] = v[i ^ w];
    return r;
#else
    return __builtin_shuffle(v, (M){LANE_NUMBERS} ^ (LANE_INT)w);
#endif
}

/* Combines all lanes in a fixed order. */
DF_INLINE T FN(reduce_lanes)(V v, FN(combine_fn) combine)
{
#pragma GCC unroll 8
    for (int w = (int)LANES / 2; w > 0; w /= 2) v = combine(v, FN(cross)(v, w));
    return v[0];
}

/* Accumulator k combines vector k of every eight; the first one also the remaining vectors, the
 * second one the remaining elements of a row. Compiled clusters must do the same
 * (aot/clusters/source.py). */
#define N_ACCUMULATORS 8

/* Combines all accumulators. */
DF_INLINE T FN(end_row)(V *acc, FN(combine_fn) combine)
{
#pragma GCC unroll 3
    for (int w = N_ACCUMULATORS / 2; w > 0; w /= 2)
#pragma GCC unroll 4
        for (int k = 0; k < w; k++) acc[k] = combine(acc[k], acc[k + w]);
    return FN(reduce_lanes)(acc[0], combine);
}

DF_INLINE T FN(reduce_row)(const T *x, int64_t n, V p, V identity, FN(map_fn) map,
                           FN(combine_fn) combine)
{
    V acc[N_ACCUMULATORS];
    int64_t i = 0;
#pragma GCC unroll 8
    for (int k = 0; k < N_ACCUMULATORS; k++) acc[k] = identity;
    for (; i + N_ACCUMULATORS * LANES <= n; i += N_ACCUMULATORS * LANES)
#pragma GCC unroll 8
        for (int k = 0; k < N_ACCUMULATORS; k++)
            acc[k] = combine(acc[k], map(FN(load)(x + i + k * LANES), p));
    for (; i + LANES <= n; i += LANES) acc[0] = combine(acc[0], map(FN(load)(x + i), p));
    if (i < n) {
        const V rest = map(FN(load_n)(x + i, n - i), p);
        acc[1] = combine(acc[1], FN(select)(FN(first_lanes)(n - i), rest, identity));
    }
    return FN(end_row)(acc, combine);
}

typedef V (*FN(pair_fn))(V a, V b, V p, V q);

/* The sum of f(a, b, p, q) over two rows, with the same accumulators. */
DF_INLINE T FN(sum_of_pairs)(const T *a, const T *b, int64_t n, V p, V q, FN(pair_fn) f)
{
    V acc[N_ACCUMULATORS];
    int64_t i = 0;
#pragma GCC unroll 8
    for (int k = 0; k < N_ACCUMULATORS; k++) acc[k] = (V){0};
    for (; i + N_ACCUMULATORS * LANES <= n; i += N_ACCUMULATORS * LANES)
#pragma GCC unroll 8
        for (int k = 0; k < N_ACCUMULATORS; k++)
            acc[k] += f(FN(load)(a + i + k * LANES), FN(load)(b + i + k * LANES), p, q);
    for (; i + LANES <= n; i += LANES) acc[0] += f(FN(load)(a + i), FN(load)(b + i), p, q);
    if (i < n) {
        const V rest = f(FN(load_n)(a + i, n - i), FN(load_n)(b + i, n - i), p, q);
        acc[1] += FN(select)(FN(first_lanes)(n - i), rest, (V){0});
    }
    return FN(end_row)(acc, FN(plus));
}

/* Reduces LANES short rows at once, one per lane, without a final tree over lanes. */
DF_INLINE V FN(reduce_short_rows)(const T *x, int64_t n, V p, V identity, FN(map_fn) map,
                                  FN(combine_fn) combine)
{
    V acc = identity;
    for (int64_t c = 0; c < n; c++) {
        T column[DF_VEC_BYTES / sizeof(T)];
#pragma GCC unroll 64
        for (int64_t i = 0; i < LANES; i++) column[i] = x[i * n + c];
        acc = combine(acc, map(FN(load)(column), p));
    }
    return acc;
}

#define SHORT_ROW (LANES < 32 ? LANES : 32) /* longer rows are faster one at a time */

/* Same for one row: the bits of a result depend only on its row, not on adjacent rows. */
DF_INLINE T FN(reduce_short_row)(const T *x, int64_t n, V p, V identity, FN(map_fn) map,
                                 FN(combine_fn) combine)
{
    V acc = identity;
    for (int64_t c = 0; c < n; c++) acc = combine(acc, map(FN(splat)(x[c]), p));
    return acc[0];
}

/* out[i] = reduction of row i of x (n_rows, n); p has one number per row, or is NULL: `all` is the
 * number of every row. */
DF_INLINE void FN(reduce_rows_with)(T *out, const T *x, const T *p, V all, int64_t n_rows,
                                    int64_t n, T identity, FN(map_fn) map, FN(combine_fn) combine)
{
    const V start = FN(splat)(identity);
    int64_t i = 0;
    if (n <= SHORT_ROW) {
        for (; i + LANES <= n_rows; i += LANES)
            FN(store)(out + i, FN(reduce_short_rows)(x + i * n, n, p ? FN(load)(p + i) : all,
                                                     start, map, combine));
        for (; i < n_rows; i++)
            out[i] = FN(reduce_short_row)(x + i * n, n, p ? FN(splat)(p[i]) : all, start, map,
                                          combine);
    }
    for (; i < n_rows; i++)
        out[i] = FN(reduce_row)(x + i * n, n, p ? FN(splat)(p[i]) : all, start, map, combine);
}

DF_INLINE void FN(reduce_rows)(T *out, const T *x, const T *p, int64_t n_rows, int64_t n,
                               T identity, FN(map_fn) map, FN(combine_fn) combine)
{
    FN(reduce_rows_with)(out, x, p, (V){0}, n_rows, n, identity, map, combine);
}

/* One vector of `rows` rows, n lanes of it, combined as a balanced tree. */
DF_INLINE V FN(reduce_strip)(const T *x, int rows, int64_t stride, int64_t n, V p, FN(map_fn) map,
                             FN(combine_fn) combine)
{
    V v[8];
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
        v[r] = map(FN(load_upto)(x + r * stride, n), p);
#pragma GCC unroll 3
    for (int w = rows / 2; w > 0; w /= 2)
#pragma GCC unroll 4
        for (int r = 0; r < w; r++) v[r] = combine(v[r], v[r + w]);
    return v[0];
}

/* out = combine(out, reduction of `rows` rows), over all columns. */
DF_INLINE void FN(reduce_strips)(T *out, const T *x, const T *p, V all, int rows, int64_t cols,
                                 int64_t stride, FN(map_fn) map, FN(combine_fn) combine)
{
    int64_t c = 0;
    for (; c + LANES <= cols; c += LANES) {
        const V more = FN(reduce_strip)(x + c, rows, stride, LANES, p ? FN(load)(p + c) : all, map,
                                        combine);
        FN(store)(out + c, combine(FN(load)(out + c), more));
    }
    if (c < cols) {
        const int64_t n = cols - c;
        const V more = FN(reduce_strip)(x + c, rows, stride, n, p ? FN(load_n)(p + c, n) : all,
                                        map, combine);
        FN(store_n)(out + c, combine(FN(load_n)(out + c, n), more), n);
    }
}

/* out[c] = reduction of column c of x (rows, cols), with rows `stride` apart; p has one number per
 * column, or is NULL: `all` is the number of every column. Eight rows at a time, so that the
 * accumulators in out are updated once per eight rows. */
DF_INLINE void FN(reduce_columns_with)(T *out, const T *x, const T *p, V all, int64_t rows,
                                       int64_t cols, int64_t stride, T identity, FN(map_fn) map,
                                       FN(combine_fn) combine)
{
    for (int64_t c = 0; c < cols; c++) out[c] = identity;
    int64_t r = 0;
    for (; r + 8 <= rows; r += 8)
        FN(reduce_strips)(out, x + r * stride, p, all, 8, cols, stride, map, combine);
    for (; r < rows; r++)
        FN(reduce_strips)(out, x + r * stride, p, all, 1, cols, stride, map, combine);
}

DF_INLINE void FN(reduce_columns)(T *out, const T *x, const T *p, int64_t rows, int64_t cols,
                                  int64_t stride, T identity, FN(map_fn) map,
                                  FN(combine_fn) combine)
{
    FN(reduce_columns_with)(out, x, p, (V){0}, rows, cols, stride, identity, map, combine);
}

/* out[c] = the reduction of column c of one strip. */
DF_INLINE void FN(reduce_part)(T *out, const T *x, int rows, int64_t cols, int64_t stride,
                               FN(map_fn) map, FN(combine_fn) combine)
{
    const V none = {0};
    int64_t c = 0;
    for (; c + LANES <= cols; c += LANES)
        FN(store)(out + c, FN(reduce_strip)(x + c, rows, stride, LANES, none, map, combine));
    if (c < cols)
        FN(store_n)(out + c, FN(reduce_strip)(x + c, rows, stride, cols - c, none, map, combine),
                    cols - c);
}

/* out[c] = column c of the parts, combined from first to last. */
DF_INLINE void FN(gather_rows)(T *out, const T *x, int64_t rows, int64_t cols, int64_t stride,
                               T identity, FN(combine_fn) combine)
{
    for (int64_t c = 0; c < cols; c += LANES) {
        const int64_t n = df_min(LANES, cols - c);
        V total = FN(splat)(identity);
        for (int64_t r = 0; r < rows; r++)
            total = combine(total, FN(load_upto)(x + r * stride + c, n));
        FN(store_upto)(out + c, total, n);
    }
}

#undef LANE_INT

DF_INLINE T FN(lowest)(void) { return LOWEST; }
DF_INLINE T FN(highest)(void) { return HIGHEST; }
#undef LOWEST
#undef HIGHEST
