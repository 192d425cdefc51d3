/* Included once per floating dtype by normalization.h: the statistics of consecutive numbers. */

DF_INLINE V FN(square_around)(V x, V mean) { return (x - mean) * (x - mean); }

/* Sums g and g (x - mean); g is multiplied by `scale` if not NULL. */
DF_INLINE void FN(flow_of)(norm_part *p, const T *x, const T *g, const T *scale, int64_t n)
{
    const V mean = FN(splat)((T)p->mean);
    V flow[4] = {{0}, {0}, {0}, {0}}, moment[4] = {{0}, {0}, {0}, {0}};
    int64_t i = 0;
    for (; i + 4 * LANES <= n; i += 4 * LANES)
#pragma GCC unroll 4
        for (int k = 0; k < 4; k++) {
            const int64_t at = i + k * LANES;
            const V gs = scale ? FN(load)(g + at) * FN(load)(scale + at) : FN(load)(g + at);
            flow[k] += gs;
            moment[k] = FN(fma)(gs, FN(load)(x + at) - mean, moment[k]);
        }
    for (; i < n; i += LANES) {
        const int64_t rest = df_min(LANES, n - i);
        V gs = FN(load_upto)(g + i, rest); /* 0 past the end */
        if (scale) gs *= FN(load_upto)(scale + i, rest);
        flow[0] += gs;
        moment[0] = FN(fma)(gs, FN(load_upto)(x + i, rest) - mean, moment[0]);
    }
    p->flow = FN(reduce_lanes)((flow[0] + flow[1]) + (flow[2] + flow[3]), FN(plus));
    p->moment = FN(reduce_lanes)((moment[0] + moment[1]) + (moment[2] + moment[3]), FN(plus));
}

/* Like part_of, for n numbers that fill `count` registers, a constant: they are read once. */
DF_INLINE norm_part FN(part_of_few)(const int count, norm_mode mode, const T *x, const T *g,
                                    const T *scale, int64_t n)
{
    const int64_t rest = n - (count - 1) * LANES;
    const M inside = FN(first_lanes)(rest);
    norm_part p = {.n = (double)n};
    V v[NORM_FEW], sum = {0}, flow = {0}, moment = {0};
#pragma GCC unroll 4
    for (int k = 0; k < count; k++) {
        v[k] = FN(load_upto)(x + k * LANES, k == count - 1 ? rest : LANES);
        sum += v[k];
    }
    if (mode == BY_DEVIATION) p.mean = FN(reduce_lanes)(sum, FN(plus)) / (T)n;
    sum = (V){0};
#pragma GCC unroll 4
    for (int k = 0; k < count; k++) {
        v[k] -= FN(splat)((T)p.mean);
        if (k == count - 1) v[k] = FN(select)(inside, v[k], (V){0});
        sum = FN(fma)(v[k], v[k], sum);
    }
    p.deviation = FN(reduce_lanes)(sum, FN(plus));
    if (!g) return p;
#pragma GCC unroll 4
    for (int k = 0; k < count; k++) {
        const int64_t some = k == count - 1 ? rest : LANES;
        V gs = FN(load_upto)(g + k * LANES, some);
        if (scale) gs *= FN(load_upto)(scale + k * LANES, some);
        flow += gs;
        moment = FN(fma)(gs, v[k], moment);
    }
    p.flow = FN(reduce_lanes)(flow, FN(plus));
    p.moment = FN(reduce_lanes)(moment, FN(plus));
    return p;
}

/* The statistics of up to NORM_CHUNK numbers, in two passes, so that nothing cancels. */
static norm_part FN(part_of)(norm_mode mode, const T *x, const T *g, const T *scale, int64_t n)
{
    norm_part p = {.n = (double)n};
    if (n <= LANES) return FN(part_of_few)(1, mode, x, g, scale, n);
    if (n <= 2 * LANES) return FN(part_of_few)(2, mode, x, g, scale, n);
    if (n <= 3 * LANES) return FN(part_of_few)(3, mode, x, g, scale, n);
    if (n <= NORM_FEW * LANES) return FN(part_of_few)(NORM_FEW, mode, x, g, scale, n);
    if (mode == BY_DEVIATION)
        p.mean = FN(reduce_row)(x, n, (V){0}, (V){0}, FN(plain), FN(plus)) / (T)n;
    p.deviation = FN(reduce_row)(x, n, FN(splat)((T)p.mean), (V){0}, FN(square_around), FN(plus));
    if (g) FN(flow_of)(&p, x, g, scale, n);
    return p;
}
