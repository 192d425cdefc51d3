/* Part of fake_quant.c, compiled once per floating dtype. */

/* The grid of a range: its limits, nudged so that 0 is on the grid, its step and the inverse. */
typedef struct {
    V low, high, scale, inverse, zero;
    M empty; /* the range is 0 to 0 */
} FN(grid);

/* Source: Jacob et al., Quantization and Training of Neural Networks for Efficient
 * Integer-Arithmetic-Only Inference (2018), section 3.1; in the order of TensorFlow's kernels. */
static FN(grid) FN(nudged)(V min, V max, T least, T most)
{
    FN(grid) r;
    r.empty = (min == 0) & (max == 0);
    const V steps = FN(splat)(most - least), span = FN(select)(r.empty, FN(splat)(1), max - min);
    r.scale = span / steps, r.inverse = steps / span;
    const V exact = least - min / r.scale, whole = FN(trunc)(exact);
    const V nearest = whole + FN(trunc)((exact - whole) * 2); /* ties away from 0 */
    const V zero_point = FN(max)(FN(min)(nearest, FN(splat)(most)), FN(splat)(least));
    r.low = (least - zero_point) * r.scale;
    r.high = FN(select)(r.empty, (V){0}, (most - zero_point) * r.scale);
    r.zero = FN(floor)(-r.low * r.inverse + (T)0.5);
    return r;
}

/* Number of elements, at least one vector, whose vectors of limits equal the first. */
static int64_t FN(same_range)(int64_t n, const T *min, const T *max)
{
    int64_t i = LANES;
    if (n < LANES) return n;
    const V low = FN(load)(min), high = FN(load)(max);
    while (i + LANES <= n &&
           !FN(any)((FN(load)(min + i) != low) | (FN(load)(max + i) != high))) i += LANES;
    return i;
}

/* Formulas of x and g; `last` is the last attribute. */
DF_INLINE V FN(to_grid)(V x, V g, const FN(grid) *r, int64_t last)
{
    (void)g;
    const V shifted = FN(max)(FN(min)(x, r->high), r->low) - r->low;
    const V steps = last ? shifted / r->scale : shifted * r->inverse;
    return FN(floor)(steps - r->zero + (T)0.5) * r->scale;
}

DF_INLINE V FN(beyond)(V x, V g, const FN(grid) *r, int64_t last)
{
    const M chosen = last < 0 ? x < r->low : x > r->high;
    return FN(select)(chosen & ~r->empty, g, (V){0});
}

DF_INLINE V FN(within)(V x, V g, const FN(grid) *r, int64_t last)
{
    (void)last;
    return FN(select)(((x >= r->low) & (x <= r->high)) | r->empty, g, (V){0});
}

/* Applies a formula in runs of elements with one grid: often the range is one number. */
DF_INLINE void FN(map_grid)(int64_t n, T *out, const T *g, const T *const *in, const df_attr *attrs,
                            V (*f)(V, V, const FN(grid) *, int64_t))
{
    const int64_t last = attrs[LAST].i;
    const T *x = in[0], *min = in[1], *max = in[2];
    for (int64_t i = 0, end; i < n; i = end) {
        const int64_t some = df_min(LANES, n - i);
        const FN(grid) r = FN(nudged)(FN(load_upto)(min + i, some), FN(load_upto)(max + i, some),
                                      (T)attrs[LEAST].f, (T)attrs[MOST].f);
        end = i + FN(same_range)(n - i, min + i, max + i);
        for (int64_t k = i; k + LANES <= end; k += LANES)
            FN(store)(out + k, f(FN(load)(x + k), FN(load)(g + k), &r, last));
        if (some < LANES)
            FN(store_n)(out + i, f(FN(load_n)(x + i, some), FN(load_n)(g + i, some), &r, last),
                        some);
    }
}

TILE_HEAD(fake_quant, 3)
{
    FN(map_grid)(n, out, in[0], (const T *const[]){in[0], in[1], in[2]}, attrs, FN(to_grid));
}

TILE_HEAD(fake_quant_grad, 4)
{
    const T *const rest[] = {in[1], in[2], in[3]};
    if (attrs[LAST].i) FN(map_grid)(n, out, in[0], rest, attrs, FN(beyond));
    else FN(map_grid)(n, out, in[0], rest, attrs, FN(within));
}
