/* Part of winograd.c, included for float32: the transforms of F(4 x 4, 3 x 3), with channels in
 * lanes.
 *
 * Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", with other points: by the
 * construction of Cook and Toom, any five distinct points and infinity yield such an algorithm.
 * With 0, +-P and +-Q the matrices have the structure of Lavin and Gray's, where P, Q = 1, 2. Among
 * multiples of 1/16 the error is least near 5/8 and 3/2: half of theirs on average, a fifth at
 * most. All entries of B and A are exact. */

#define P ((T)0.625)
#define Q ((T)1.5)
#define SCALE_0 ((T)(256. / 225))    /* 1 / (P^2 Q^2) */
#define SCALE_P ((T)(-2048. / 2975)) /* 1 / (2 P^2 (P^2 - Q^2)) */
#define SCALE_Q ((T)(128. / 1071))   /* 1 / (2 Q^2 (Q^2 - P^2)) */

DF_INLINE V FN(plus)(V y, T a, V x) { return FN(fma)(FN(splat)(a), x, y); }

/* B^T x, for 6 pixels in a row. */
DF_INLINE void FN(of_pixels)(const V *x, V *to)
{
    const V even_p = FN(plus)(x[4], -Q * Q, x[2]), odd_p = FN(plus)(x[3], -Q * Q, x[1]);
    const V even_q = FN(plus)(x[4], -P * P, x[2]), odd_q = FN(plus)(x[3], -P * P, x[1]);
    to[0] = FN(plus)(FN(plus)(x[4], -P * P - Q * Q, x[2]), P * P * Q * Q, x[0]);
    to[1] = FN(plus)(even_p, P, odd_p);
    to[2] = FN(plus)(even_p, -P, odd_p);
    to[3] = FN(plus)(even_q, Q, odd_q);
    to[4] = FN(plus)(even_q, -Q, odd_q);
    to[5] = FN(plus)(FN(plus)(x[5], -P * P - Q * Q, x[3]), P * P * Q * Q, x[1]);
}

/* A^T x: 4 outputs in a row from 6 products. */
DF_INLINE void FN(to_outputs)(const V *x, V *to)
{
    const V even_p = x[1] + x[2], odd_p = x[1] - x[2];
    const V even_q = x[3] + x[4], odd_q = x[3] - x[4];
    to[0] = x[0] + (even_p + even_q);
    to[1] = FN(plus)(FN(splat)(P) * odd_p, Q, odd_q);
    to[2] = FN(plus)(FN(splat)(P * P) * even_p, Q * Q, even_q);
    to[3] = FN(plus)(FN(plus)(x[5], P * P * P, odd_p), Q * Q * Q, odd_q);
}

/* A y, the transpose of to_outputs. */
DF_INLINE void FN(of_outputs)(const V *y, V *to)
{
    const V even_p = FN(plus)(y[0], P * P, y[2]), even_q = FN(plus)(y[0], Q * Q, y[2]);
    const V odd_p = FN(plus)(FN(splat)(P) * y[1], P * P * P, y[3]);
    const V odd_q = FN(plus)(FN(splat)(Q) * y[1], Q * Q * Q, y[3]);
    to[0] = y[0];
    to[1] = even_p + odd_p;
    to[2] = even_p - odd_p;
    to[3] = even_q + odd_q;
    to[4] = even_q - odd_q;
    to[5] = y[3];
}

/* G w, for 3 weights in a row. */
DF_INLINE void FN(of_weights)(const V *w, V *to)
{
    const V even_p = FN(splat)(SCALE_P) * FN(plus)(w[0], P * P, w[2]);
    const V even_q = FN(splat)(SCALE_Q) * FN(plus)(w[0], Q * Q, w[2]);
    to[0] = FN(splat)(SCALE_0) * w[0];
    to[1] = FN(plus)(even_p, SCALE_P * P, w[1]);
    to[2] = FN(plus)(even_p, -SCALE_P * P, w[1]);
    to[3] = FN(plus)(even_q, SCALE_Q * Q, w[1]);
    to[4] = FN(plus)(even_q, -SCALE_Q * Q, w[1]);
    to[5] = w[2];
}

/* G^T u, the transpose of of_weights. */
DF_INLINE void FN(to_weights)(const V *u, V *to)
{
    const V even_p = FN(splat)(SCALE_P) * (u[1] + u[2]), odd_p = u[1] - u[2];
    const V even_q = FN(splat)(SCALE_Q) * (u[3] + u[4]), odd_q = u[3] - u[4];
    to[0] = FN(plus)(even_p + even_q, SCALE_0, u[0]);
    to[1] = FN(plus)(FN(splat)(SCALE_P * P) * odd_p, SCALE_Q * Q, odd_q);
    to[2] = FN(plus)(FN(plus)(u[5], P * P, even_p), Q * Q, even_q);
}

/* F(2 x 2, 5 x 5), with the same B^T as F(4 x 4, 3 x 3): A^T x. */
DF_INLINE void FN(to_2_outputs)(const V *x, V *to)
{
    to[0] = x[0] + ((x[1] + x[2]) + (x[3] + x[4]));
    to[1] = FN(plus)(FN(plus)(x[5], P, x[1] - x[2]), Q, x[3] - x[4]);
}

/* A y. */
DF_INLINE void FN(of_2_outputs)(const V *y, V *to)
{
    to[0] = y[0];
    to[1] = FN(plus)(y[0], P, y[1]);
    to[2] = FN(plus)(y[0], -P, y[1]);
    to[3] = FN(plus)(y[0], Q, y[1]);
    to[4] = FN(plus)(y[0], -Q, y[1]);
    to[5] = y[1];
}

/* G w. */
DF_INLINE void FN(of_5_weights)(const V *w, V *to)
{
    const V low_p = FN(plus)(w[0], P * P, w[2]), low_q = FN(plus)(w[0], Q * Q, w[2]);
    const V even_p = FN(splat)(SCALE_P) * FN(plus)(low_p, P * P * P * P, w[4]);
    const V even_q = FN(splat)(SCALE_Q) * FN(plus)(low_q, Q * Q * Q * Q, w[4]);
    const V odd_p = FN(splat)(SCALE_P * P) * FN(plus)(w[1], P * P, w[3]);
    const V odd_q = FN(splat)(SCALE_Q * Q) * FN(plus)(w[1], Q * Q, w[3]);
    to[0] = FN(splat)(SCALE_0) * w[0];
    to[1] = even_p + odd_p;
    to[2] = even_p - odd_p;
    to[3] = even_q + odd_q;
    to[4] = even_q - odd_q;
    to[5] = w[4];
}

/* G^T u. */
DF_INLINE void FN(to_5_weights)(const V *u, V *to)
{
    const V even_p = FN(splat)(SCALE_P) * (u[1] + u[2]);
    const V even_q = FN(splat)(SCALE_Q) * (u[3] + u[4]);
    const V odd_p = FN(splat)(SCALE_P * P) * (u[1] - u[2]);
    const V odd_q = FN(splat)(SCALE_Q * Q) * (u[3] - u[4]);
    to[0] = FN(plus)(even_p + even_q, SCALE_0, u[0]);
    to[1] = odd_p + odd_q;
    to[2] = FN(plus)(FN(splat)(P * P) * even_p, Q * Q, even_q);
    to[3] = FN(plus)(FN(splat)(P * P) * odd_p, Q * Q, odd_q);
    to[4] = FN(plus)(FN(plus)(u[5], P * P * P * P, even_p), Q * Q * Q * Q, even_q);
}

/* Transforms a square by columns, then by rows: element (i, j) is at [i * size + j]. */
typedef void (*FN(transform))(const V *, V *);

/* Transforms lanes `at` of a square of pointers to another square. */
DF_INLINE void FN(square)(FN(transform) f, const int size, const int to_size, const T *const *from,
                          T *const *to, int64_t at, int64_t n, const bool whole)
{
    V half[6][6], line[6], result[6];
#pragma GCC unroll 6
    for (int j = 0; j < size; j++) {
#pragma GCC unroll 6
        for (int i = 0; i < size; i++) {
            const T *p = from[i * size + j] + at;
            line[i] = whole ? FN(load)(p) : FN(load_n)(p, n);
        }
        f(line, result);
#pragma GCC unroll 6
        for (int i = 0; i < to_size; i++) half[i][j] = result[i];
    }
#pragma GCC unroll 6
    for (int i = 0; i < to_size; i++) {
        f(half[i], result);
#pragma GCC unroll 6
        for (int j = 0; j < to_size; j++) {
            T *p = to[i * to_size + j] + at;
            if (whole) FN(store)(p, result[j]);
            else FN(store_n)(p, result[j], n);
        }
    }
}

/* Same for n channels. Also prefetches the lines that the next call will read or write: next_size
 * squared pointers, without the first `known` columns, which are in cache. */
DF_INLINE void FN(squares)(FN(transform) f, const int size, const int to_size,
                           const T *const *from, T *const *to, T *const *next, const int next_size,
                           const int known, const bool writes, int64_t n)
{
    int64_t at = 0;
    for (; at + LANES <= n; at += LANES) {
#pragma GCC unroll 6
        for (int i = 0; i < next_size; i++)
#pragma GCC unroll 6
            for (int j = known; j < next_size; j++) {
                const T *line = next[i * next_size + j] + at;
                if (writes) __builtin_prefetch(line, 1); /* clang requires a literal */
                else __builtin_prefetch(line, 0);
            }
        FN(square)(f, size, to_size, from, to, at, LANES, true);
    }
    if (at < n) FN(square)(f, size, to_size, from, to, at, n - at, false);
}

static void FN(input_squares)(const T *const *from, T *const *to, T *const *next, int64_t n)
{
    FN(squares)(FN(of_pixels), 6, 6, from, to, next, 6, 2, false, n);
}

static void FN(output_squares)(const T *const *from, T *const *to, T *const *next, int64_t n)
{
    FN(squares)(FN(to_outputs), 6, 4, from, to, next, 4, 0, true, n);
}

static void FN(output_gradient_squares)(const T *const *from, T *const *to, T *const *next,
                                        int64_t n)
{
    FN(squares)(FN(of_outputs), 4, 6, from, to, next, 4, 0, false, n);
}

static void FN(weight_squares)(const T *const *from, T *const *to, int64_t n)
{
    FN(squares)(FN(of_weights), 3, 6, from, to, NULL, 0, 0, false, n);
}

static void FN(weight_gradient_squares)(const T *const *from, T *const *to, int64_t n)
{
    FN(squares)(FN(to_weights), 6, 3, from, to, NULL, 0, 0, false, n);
}

static void FN(output_squares_2)(const T *const *from, T *const *to, T *const *next, int64_t n)
{
    FN(squares)(FN(to_2_outputs), 6, 2, from, to, next, 2, 0, true, n);
}

static void FN(output_gradient_squares_2)(const T *const *from, T *const *to, T *const *next,
                                          int64_t n)
{
    FN(squares)(FN(of_2_outputs), 2, 6, from, to, next, 2, 0, false, n);
}

static void FN(weight_squares_5)(const T *const *from, T *const *to, int64_t n)
{
    FN(squares)(FN(of_5_weights), 5, 6, from, to, NULL, 0, 0, false, n);
}

static void FN(weight_gradient_squares_5)(const T *const *from, T *const *to, int64_t n)
{
    FN(squares)(FN(to_5_weights), 6, 5, from, to, NULL, 0, 0, false, n);
}

#undef P
#undef Q
