/* Passes and steps of Fourier transforms over vectors of interleaved complex numbers. Included once
 * per complex dtype. Lengths and distances of arrays are numbers of elements of type T, two per
 * complex number. */

/* Lane numbers of each pair: exchanged, the first twice, the second twice. */
DF_INLINE V FN(exchange)(V z) { return DF_SHUFFLE(z, z, DF_LIST(DF_SWAPPED)); }

/* The sign bit in the lanes of the real parts (0) or imaginary parts (1). */
DF_INLINE M FN(sign_of_part)(int part)
{
    const M odd = -((M){LANE_NUMBERS} & 1);
    return FN(sign_bit)() & (part ? odd : ~odd);
}

DF_INLINE V FN(flip)(V z, M sign) { return (V)((M)z ^ sign); }

/* Factors of complex numbers: real parts in both lanes of a number, and imaginary parts, negated in
 * the lane of the real part. */
typedef struct {
    V re, im;
} FN(factor);

DF_INLINE FN(factor) FN(one_factor)(const T *w)
{
    return (FN(factor)){FN(splat)(w[0]), FN(flip)(FN(splat)(w[1]), FN(sign_of_part)(0))};
}

DF_INLINE FN(factor) FN(factors)(V w)
{
    return (FN(factor)){DF_SHUFFLE(w, w, DF_LIST(DF_FIRSTS)),
                        FN(flip)(DF_SHUFFLE(w, w, DF_LIST(DF_SECONDS)), FN(sign_of_part)(0))};
}

DF_INLINE V FN(times)(V z, FN(factor) w)
{
    return FN(fma)(z, w.re, FN(exchange)(z) * w.im);
}

/* --- butterflies ------------------------------------------------------------------------------ */

/* Rows of a butterfly: `count` elements, a multiple of LANES, of rows x + j xs and y + k ys. Passed
 * by address: a copy on the stack waits for all stores before it. */
typedef struct {
    int64_t count;
    const T *x;
    int64_t xs;
    T *y;
    int64_t ys;
    const T *turns; /* radix - 1 factors of the results after the first, or NULL: 1 */
} FN(rows);

DF_NOINLINE void FN(two)(const FN(rows) *rows)
{
    const FN(rows) r = *rows;
    for (int64_t i = 0; i < r.count; i += LANES) {
        const V a = FN(load)(r.x + i), b = FN(load)(r.x + r.xs + i);
        V c = a - b;
        if (r.turns) c = FN(times)(c, FN(one_factor)(r.turns));
        FN(store)(r.y + i, a + b);
        FN(store)(r.y + r.ys + i, c);
    }
}

/* `quarter`: the lanes that change their sign in the product with the root of order 4. */
DF_NOINLINE void FN(four)(const FN(rows) *rows, M quarter)
{
    const FN(rows) r = *rows;
    const T ones[6] = {1, 0, 1, 0, 1, 0}, *w = r.turns ? r.turns : ones;
    const FN(factor) p = FN(one_factor)(w), q = FN(one_factor)(w + 2), s = FN(one_factor)(w + 4);
    for (int64_t i = 0; i < r.count; i += LANES) {
        const T *x = r.x + i;
        T *y = r.y + i;
        const V a = FN(load)(x), b = FN(load)(x + r.xs);
        const V c = FN(load)(x + 2 * r.xs), d = FN(load)(x + 3 * r.xs);
        const V e = a + c, f = a - c, g = b + d, h = FN(flip)(FN(exchange)(b - d), quarter);
        V one = f + h, two = e - g, three = f - h;
        if (r.turns) {
            one = FN(times)(one, p);
            two = FN(times)(two, q);
            three = FN(times)(three, s);
        }
        FN(store)(y, e + g);
        FN(store)(y + r.ys, one);
        FN(store)(y + 2 * r.ys, two);
        FN(store)(y + 3 * r.ys, three);
    }
}

/* An odd radix. With the powers c + i s of the root of unity, results k and radix - k are
 * x[0] + sum of c[jk] (x[j] + x[radix - j]) +- i sum of s[jk] (x[j] - x[radix - j]), j < radix / 2.
 */
DF_INLINE void FN(butterfly)(const FN(rows) *r, int64_t i, int radix, const T *roots)
{
    V sum[DF_FOURIER_RADIX / 2], difference[DF_FOURIER_RADIX / 2];
    const V first = FN(load)(r->x + i);
    V all = first;
    const int half = radix / 2;
#pragma GCC unroll 2
    for (int j = 0; j < half; j++) {
        const V a = FN(load)(r->x + (j + 1) * r->xs + i);
        const V b = FN(load)(r->x + (radix - 1 - j) * r->xs + i);
        sum[j] = a + b;
        difference[j] = FN(flip)(FN(exchange)(a - b), FN(sign_of_part)(0));
        all += sum[j];
    }
    FN(store)(r->y + i, all);
#pragma GCC unroll 2
    for (int k = 1; k <= half; k++) {
        V even = first, odd = {0};
#pragma GCC unroll 2
        for (int j = 0, at = k; j < half; j++) { /* at = (j + 1) k % radix */
            even = FN(fma)(sum[j], FN(splat)(roots[2 * at]), even);
            odd = FN(fma)(difference[j], FN(splat)(roots[2 * at + 1]), odd);
            at = at + k < radix ? at + k : at + k - radix;
        }
        V up = even + odd, down = even - odd;
        if (r->turns) {
            up = FN(times)(up, FN(one_factor)(r->turns + 2 * (k - 1)));
            down = FN(times)(down, FN(one_factor)(r->turns + 2 * (radix - k - 1)));
        }
        FN(store)(r->y + k * r->ys + i, up);
        FN(store)(r->y + (radix - k) * r->ys + i, down);
    }
}

DF_NOINLINE void FN(odd)(const FN(rows) *rows, int radix, const T *roots)
{
    const FN(rows) r = *rows;
    int64_t i = 0;
    for (; radix == 3 && i < r.count; i += LANES) FN(butterfly)(&r, i, 3, roots);
    for (; radix == 5 && i < r.count; i += LANES) FN(butterfly)(&r, i, 5, roots);
    for (; i < r.count; i += LANES) FN(butterfly)(&r, i, radix, roots);
}

/* --- steps ------------------------------------------------------------------------------------ */

DF_INLINE int64_t FN(padded)(int64_t n) { return df_ceil_div(n, LANES) * LANES; }

DF_NOINLINE void FN(copy_rows)(int64_t n, int64_t count, const T *x, int64_t xs, T *y, int64_t ys)
{
    for (int64_t j = 0; j < n; j++) memcpy(y + j * ys, x + j * xs, (size_t)count * sizeof(T));
}

/* Transforms the rows x + j xs, each of `c` elements, a multiple of LANES, to rows y + k ys.
 * `scratch` has 2 n c elements. T. Stockham's order, "High-speed convolution and correlation",
 * 1966: a pass with s, the product of the radices before it, maps rows q + s (p + m j) to rows
 * q + s (radix p + k), q < s, p < m = n / (s radix). */
DF_NOINLINE void FN(passes)(const df_fourier_step *step, bool inverse, int64_t c, const T *x,
                            int64_t xs, T *y, int64_t ys, T *scratch)
{
    const int64_t n = step->n;
    const T *roots = step->roots;
    const M quarter = FN(sign_of_part)(!inverse);
    if (step->n_passes == 0) memcpy(y, x, (size_t)c * sizeof(T));
    for (int64_t pass = 0, s = 1; pass < step->n_passes; pass++) {
        const int radix = step->radix[pass];
        const int64_t m = n / (s * radix);
        T *out = pass == step->n_passes - 1 ? y : scratch + pass % 2 * n * c;
        const int64_t out_step = out == y ? ys : c;
        /* neighbouring rows without gaps are one row */
        const int64_t joined = (xs == c && out_step == c) || s == 1 ? s : 1;
        T roots_of_radix[2 * DF_FOURIER_RADIX], turns[2 * DF_FOURIER_RADIX];
        for (int j = 0; j < radix; j++)
            memcpy(roots_of_radix + 2 * j, roots + 2 * (n / radix) * j, 2 * sizeof(T));
        for (int64_t p = 0; p < m; p++) {
            for (int64_t k = 1; p && k < radix; k++)
                memcpy(turns + 2 * (k - 1), roots + 2 * p * k * s, 2 * sizeof(T));
            FN(rows) r = {joined * c, x + p * s * xs, s * m * xs, out + p * s * radix * out_step,
                          s * out_step, p ? turns : NULL};
            for (int64_t q = 0; q < s; q += joined, r.x += xs, r.y += out_step) {
                if (radix == 4) FN(four)(&r, quarter);
                else if (radix == 2) FN(two)(&r);
                else FN(odd)(&r, radix, roots_of_radix);
            }
        }
        s *= radix;
        x = out;
        xs = out_step;
    }
}

/* y = x w for n elements; `sign` changes signs of lanes of x. w has n elements, or, if `one`, a
 * single complex number. */
DF_NOINLINE void FN(turn)(int64_t n, T *y, const T *x, M sign, const T *w, bool one)
{
    const FN(factor) f = one ? FN(one_factor)(w) : (FN(factor)){{0}, {0}};
    for (int64_t i = 0; i < n; i += LANES) {
        const int64_t few = df_min(LANES, n - i);
        const V z = FN(flip)(FN(load_upto)(x + i, few), sign);
        const FN(factor) g = one ? f : FN(factors)(FN(load_upto)(w + i, few));
        FN(store_upto)(y + i, FN(times)(z, g), few);
    }
}

/* Transforms rows of `count` elements, for any count. `scratch` has 3 n c elements, where c is
 * count rounded up to a multiple of LANES. */
DF_NOINLINE void FN(step)(const df_fourier_plan *p, int which, int64_t count, const T *x,
                          int64_t xs, T *y, int64_t ys, T *scratch)
{
    const df_fourier_step *step = &p->step[which];
    const bool inverse = p->inverse && !p->chirp;
    const int64_t c = FN(padded)(count);
    if (c == count) {
        FN(passes)(step, inverse, c, x, xs, y, ys, scratch);
        return;
    }
    T *block = scratch + 2 * step->n * c;
    memset(block, 0, (size_t)(step->n * c) * sizeof(T));
    FN(copy_rows)(step->n, count, x, xs, block, c);
    FN(passes)(step, inverse, c, block, c, block, c, scratch);
    FN(copy_rows)(step->n, count, block, c, y, ys);
}

/* Stores the transpose of a tile in registers. */
DF_INLINE void FN(store_columns)(v_f64 *tile, T *y, int64_t ys)
{
    enum { EDGE = LANES / 2 };
#pragma GCC unroll 3
    for (int h = 1; h < EDGE; h *= 2)
#pragma GCC unroll 8
        for (int r = 0; r < EDGE; r++)
            if (!(r & h)) trade(&tile[r], &tile[r + h], h * (int)sizeof(T) / 4);
#pragma GCC unroll 8
    for (int r = 0; r < EDGE; r++) FN(store)(y + r * ys, (V)tile[r]);
}

/* Transposes a matrix of complex numbers by tiles. Element (k, j) is multiplied by
 * root k (j + begin) of the plan. Rows of x are xs apart, rows of y ys; both have memory for whole
 * tiles. */
DF_NOINLINE void FN(turn_over)(const df_fourier_plan *p, int64_t columns, const T *x, int64_t xs,
                               T *y, int64_t ys, int64_t begin)
{
    enum { EDGE = LANES / 2 };
    const int64_t width = df_fourier_whole_lines(p, p->step[0].width);
    for (int64_t k = 0; k < p->step[0].n; k += EDGE) {
        FN(factor) first[EDGE];
#pragma GCC unroll 8
        for (int r = 0; r < EDGE; r++) first[r] = (FN(factor)){{0}, {0}};
        for (int64_t r = 0; r < EDGE && begin; r++) {
            double re, im;
            df_fourier_root(&p->roots, df_min(k + r, p->step[0].n - 1) * begin, &re, &im);
            first[r] = FN(one_factor)((const T[]){(T)re, (T)im});
        }
        for (int64_t j = 0; j < columns; j += EDGE) {
            v_f64 tile[EDGE];
#pragma GCC unroll 8
            for (int r = 0; r < EDGE; r++) {
                const T *w = (const T *)p->turns + 2 * ((k + r) * width + j);
                V z = FN(load)(x + (k + r) * xs + 2 * j);
                if (begin) z = FN(times)(z, first[r]);
                tile[r] = (v_f64)FN(times)(z, FN(factors)(FN(load)(w)));
            }
            FN(store_columns)(tile, y + j * ys + 2 * k, ys);
        }
    }
}

/* The first of two steps for columns [begin, begin + width) of the matrix x of step[1].n columns.
 * Stores its transpose: `y` has a row of step[0].n numbers per column of x. */
static void FN(first_step)(const df_fourier_plan *p, const T *x, int64_t begin, T *y, T *scratch)
{
    const int64_t n = p->step[0].n, columns = p->step[1].n;
    const int64_t width = df_min(p->step[0].width, columns - begin);
    const int64_t c = FN(padded)(2 * width), ys = 2 * df_fourier_whole_lines(p, n);
    T *rest = scratch + df_fourier_whole_lines(p, n) * c;
    FN(step)(p, 0, 2 * width, x + 2 * begin, 2 * columns, scratch, c, rest);
    FN(turn_over)(p, width, scratch, c, y + ys * begin, ys, begin);
}

/* The second step for columns [begin, begin + width) of the matrix x of step[0].n columns. */
static void FN(second_step)(const df_fourier_plan *p, const T *x, int64_t begin, T *y, T *scratch)
{
    const int64_t columns = p->step[0].n, width = df_min(p->step[1].width, columns - begin);
    FN(step)(p, 1, 2 * width, x + 2 * begin, 2 * df_fourier_whole_lines(p, columns), y + 2 * begin,
             2 * columns, scratch);
}

/* The transform of length m of a block of columns. */
DF_NOINLINE void FN(steps)(const df_fourier_plan *p, int64_t columns, const T *x, int64_t xs, T *y,
                           int64_t ys, T *scratch)
{
    if (p->n_steps == 1) {
        FN(step)(p, 0, 2 * columns, x, xs, y, ys, scratch);
        return;
    }
    T *rest = scratch + df_fourier_middle(p) / (int64_t)sizeof(T);
    for (int64_t j = 0; j < p->step[1].n; j += p->step[0].width)
        FN(first_step)(p, x, j, scratch, rest);
    for (int64_t j = 0; j < p->step[0].n; j += p->step[1].width)
        FN(second_step)(p, scratch, j, y, rest);
}

/* Multiplies n rows by the chirps, or, without gaps between rows of one number, all at once. */
DF_NOINLINE void FN(chirp)(const T *chirps, int64_t n, int64_t c, const T *x, int64_t xs, M sign,
                           T *y, int64_t ys)
{
    if (c == 2 && xs == 2 && ys == 2) FN(turn)(2 * n, y, x, sign, chirps, false);
    else
        for (int64_t j = 0; j < n; j++)
            FN(turn)(c, y + j * ys, x + j * xs, sign, chirps + 2 * j, true);
}

/* X[k] = chirp[k] sum of conj(chirp[k - j]) (x[j] chirp[j]): 2 j k = j^2 + k^2 - (k - j)^2. The
 * convolution's inverse transform is the conjugate of the transform of conjugates. */
static void FN(transform_columns)(const df_fourier_plan *p, int64_t columns, const T *x, int64_t xs,
                                  T *y, int64_t ys, T *scratch)
{
    const int64_t c = 2 * columns, n = p->n, m = p->m;
    if (!p->chirp) {
        FN(steps)(p, columns, x, xs, y, ys, scratch);
        const T scale[2] = {(T)p->scale, 0};
        for (int64_t k = 0; k < n && p->n_steps == 1 && p->scale != 1; k++)
            FN(turn)(c, y + k * ys, y + k * ys, (M){0}, scale, true);
        return;
    }
    const M conjugate = FN(sign_of_part)(1);
    T *a = scratch, *b = a + m * c, *rest = b + m * c;
    FN(chirp)(p->chirps, n, c, x, xs, (M){0}, a, c);
    memset(a + n * c, 0, (size_t)((m - n) * c) * sizeof(T));
    FN(steps)(p, columns, a, c, b, c, rest);
    FN(chirp)(p->filter, m, c, b, c, conjugate, b, c);
    FN(steps)(p, columns, b, c, a, c, rest);
    FN(chirp)(p->chirps, n, c, a, c, conjugate, y, ys);
}

/* Replaces the filter by the conjugate of its transform, times scale / m. */
static void CN(transform_filter)(const df_fourier_plan *p, void *memory)
{
    T *scratch = memory;
    const T scale[2] = {(T)(p->scale / (double)p->m), 0};
    FN(steps)(p, 1, p->filter, 2, scratch, 2, scratch + 2 * p->m);
    FN(turn)(2 * p->m, p->filter, scratch, FN(sign_of_part)(1), scale, true);
}
