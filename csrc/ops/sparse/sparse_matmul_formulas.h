/* Part of sparse_matmul.c, included once per floating dtype: some rows of a product. */

DF_INLINE V FN(add_term)(V sum, V a, V b)
{
#ifdef __FMA__
    return FN(fma)(a, b, sum);
#else
    return sum + a * b;
#endif
}

/* Stores a sum, or adds it to the sums of earlier blocks of the row. */
DF_INLINE void FN(put)(T *to, V *sum, int vectors, int64_t width, bool adds)
{
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++, to += LANES) {
        if (adds) sum[v] += width < LANES ? FN(load_n)(to, width) : FN(load)(to);
        if (width < LANES) FN(store_n)(to, sum[v], width);
        else FN(store)(to, sum[v]);
        sum[v] = (V){0};
    }
}

/* Computes columns c to c + width of rows [begin, end), in one pass over their entries: `vectors`
 * vectors, or a part of one. Long sums are split into blocks, which keeps them accurate.
 * Returns false if the entries are not sorted, or outside of the matrix. */
DF_INLINE bool FN(product_columns)(const product_job *job, int64_t begin, int64_t end,
                                   int64_t first, int64_t last, int64_t c, int vectors,
                                   int64_t width)
{
    const product_job copy = *job, *p = &copy; /* which stores cannot change */
    V sum[4] = {{0}, {0}, {0}, {0}};
    T *out = (T *)p->out + c;
    const uintptr_t row_bytes = (uintptr_t)p->n * sizeof(T);
    int64_t row = begin, limit = first + SUM_BLOCK;
    bool adds = false, valid = true;
    const T *values = p->values, *dense = (const T *)p->dense + c;
    for (int64_t j = first; j < last; j++) {
        int64_t i = part_of(p, j, 0), k = part_of(p, j, 1);
        if (i != row || j == limit) {
            FN(put)(out + row * p->n, sum, vectors, width, adds);
            adds = i == row;
            if (i < row || i >= end) valid = false, i = row;
            while (row < i) {
                row++;
                if (row < i) FN(put)(out + row * p->n, sum, vectors, width, false);
            }
            row = i;
            limit = j + SUM_BLOCK;
        }
        if ((uint64_t)k >= (uint64_t)p->depth) valid = false, k = 0;
        if (j + AHEAD < last)
            __builtin_prefetch((const void *)((uintptr_t)dense + (uintptr_t)part_of(p, j + AHEAD, 1)
                                                                   * row_bytes));
        const T *from = dense + k * p->n;
        const V value = FN(splat)(values[j]);
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++)
            sum[v] = FN(add_term)(sum[v], value, width < LANES ? FN(load_n)(from, width)
                                                               : FN(load)(from + v * LANES));
    }
    FN(put)(out + row * p->n, sum, vectors, width, adds);
    while (++row < end) FN(put)(out + row * p->n, sum, vectors, width, false);
    return valid;
}

/* As product_columns for the only column of `dense`, one number at a time. */
static bool FN(product_column)(const product_job *job, int64_t begin, int64_t end, int64_t first,
                               int64_t last)
{
    const product_job copy = *job, *p = &copy;
    T *out = p->out, sum = 0;
    int64_t row = begin, limit = first + SUM_BLOCK;
    bool valid = true;
    const T *values = p->values, *dense = p->dense;
    memset(out + begin, 0, (size_t)(end - begin) * sizeof(T));
    for (int64_t j = first; j < last; j++) {
        int64_t i = part_of(p, j, 0), k = part_of(p, j, 1);
        if (i != row || j == limit) {
            out[row] += sum;
            sum = 0;
            if (i < row || i >= end) valid = false, i = row;
            row = i;
            limit = j + SUM_BLOCK;
        }
        if ((uint64_t)k >= (uint64_t)p->depth) valid = false, k = 0;
#ifdef __FMA__
        sum = (T)(sizeof(T) == 4 ? __builtin_fmaf((float)values[j], (float)dense[k], (float)sum)
                                 : __builtin_fma(values[j], dense[k], sum));
#else
        sum += values[j] * dense[k];
#endif
    }
    if (last > first) out[row] += sum;
    return valid;
}

static bool FN(product_rows)(const product_job *p, int64_t begin, int64_t end, int64_t first,
                             int64_t last)
{
    int64_t c = 0;
    bool valid = true;
    if (p->n == 1) return FN(product_column)(p, begin, end, first, last);
    for (; c + 4 * LANES <= p->n; c += 4 * LANES)
        valid &= FN(product_columns)(p, begin, end, first, last, c, 4, 4 * LANES);
    for (; c + LANES <= p->n; c += LANES)
        valid &= FN(product_columns)(p, begin, end, first, last, c, 1, LANES);
    if (c < p->n)
        valid &= FN(product_columns)(p, begin, end, first, last, c, 1, p->n - c);
    return valid;
}
