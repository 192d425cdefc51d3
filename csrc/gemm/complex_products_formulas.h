/* Included once per dtype of the parts. */

/* Packs both rows of an element of B; whole vectors of adjacent elements by shuffles. */
void DF_SYM(CN(df_pack_b))(void *packed, int64_t width, const void *source, int64_t n, int64_t step,
                           int64_t depth, int64_t depth_step)
{
    const V minus = FN(splat)((T)-0.0), sign = DF_SHUFFLE(minus, (V){0}, DF_LIST(DF_LOW));
    const int64_t whole = step == 1 ? n / LANES * LANES : 0;
    T *to = packed;
    const T *from = source;
    for (int64_t p = 0; p < depth; p += 2, to += 2 * width, from += 2 * depth_step) {
        T *second = to + width;
        for (int64_t i = 0; i < whole; i += LANES) {
            const V x = FN(load)(from + i);
            __builtin_prefetch(from + i + AHEAD * 2 * depth_step); /* rows are far apart */
            const V turned = DF_SHUFFLE(x, x, DF_LIST(DF_SWAPPED));
            FN(store)(to + i, x);
            FN(store)(second + i, (V)((M)turned ^ (M)sign));
        }
        for (int64_t i = whole; i < width; i += 2) {
            const T re = i < n ? from[i * step] : 0, im = i < n ? from[i * step + 1] : 0;
            to[i] = re;
            to[i + 1] = im;
            second[i] = -im;
            second[i + 1] = re;
        }
    }
}

void DF_SYM(CN(df_pack_a))(void *packed, int64_t width, const void *source, int64_t n, int64_t step,
                           int64_t depth, int64_t depth_step)
{
    T *to = packed;
    const T *from = source;
    for (int64_t p = 0; p < depth; p += 2, to += 2 * width, from += 2 * depth_step)
        for (int64_t i = 0; i < width; i++) {
            to[i] = i < n ? from[i * step] : 0;
            to[width + i] = i < n ? from[i * step + 1] : 0;
        }
}

/* Separates the vector x of k elements into two vectors of real numbers. For dot products with rows
 * of pairs, they are (re, -im) and (im, re); otherwise the parts. */
static void CN(separate_vector)(bool by_dots, int64_t k, int64_t step, const void *vector,
                                void *parts)
{
    const T *x = vector;
    T *to = parts, *second = to + 2 * k;
    for (int64_t p = 0; p < k; p++, x += 2 * step) {
        to[p << by_dots] = x[0];
        second[p << by_dots] = x[1];
        if (!by_dots) continue;
        to[2 * p + 1] = -x[1];
        second[2 * p + 1] = x[0];
    }
}

/* y = sums of rows weighted with the real parts of x, plus i times those with the imaginary parts,
 * plus y if `add`. */
static void CN(join_sums)(bool add, int64_t n, const void *sums, const void *sums_im, void *out,
                          int64_t step)
{
    const T *by_re = sums, *by_im = sums_im;
    T *y = out;
    for (int64_t i = 0; i < 2 * n; i += 2, y += 2 * step) {
        const T re = by_re[i] - by_im[i + 1], im = by_re[i + 1] + by_im[i];
        y[0] = add ? y[0] + re : re;
        y[1] = add ? y[1] + im : im;
    }
}
