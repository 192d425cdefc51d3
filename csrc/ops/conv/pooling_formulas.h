/* Formulas for one pixel of the result, part of pooling.c; compiled once per dtype. */

#if DTYPE_FLOAT
#define LOWEST (-(T)INFINITY)
/* The first NaN is greater than any number. */
DF_INLINE M FN(beats)(V v, V best) { return ~(v <= best) & (best == best); }
#else
#define LOWEST ((T)((uint64_t)1 << (8 * sizeof(T) - 1)))
DF_INLINE M FN(beats)(V v, V best) { return v > best; }
#endif

/* Positions (bytes or int32 in memory) in lanes as wide as an element. */
typedef int32_t FN(places) __attribute__((vector_size(DF_VEC_BYTES / sizeof(T) * 4)));

DF_INLINE M FN(load_places)(const void *p, bool bytes, int64_t n)
{
    FN(places) wide = {0};
    if (bytes) return n == LANES ? FN(load_bytes)(p) : FN(load_bytes_n)(p, n);
    if (n == LANES) memcpy(&wide, p, sizeof wide);
    else memcpy(&wide, p, (size_t)n * sizeof(int32_t));
    return __builtin_convertvector(wide, M);
}

DF_INLINE void FN(store_places)(void *p, M places, bool bytes, int64_t n)
{
    const B narrow = __builtin_convertvector(places, B);
    const FN(places) wide = __builtin_convertvector(places, FN(places));
    if (bytes && n == LANES) memcpy(p, &narrow, sizeof narrow);
    else if (bytes) memcpy(p, &narrow, (size_t)n);
    else if (n == LANES) memcpy(p, &wide, sizeof wide);
    else memcpy(p, &wide, (size_t)n * sizeof(int32_t));
}

DF_INLINE M FN(splat_place)(int64_t place)
{
    return (__typeof__(((M){0})[0]))place - (M){0};
}

/* The maximum of a patch and its position; of equal elements, or NaNs, the first. `u` vectors, the
 * last with n lanes. */
DF_INLINE void FN(max_vectors)(T *y, char *places, const T *x, const patch *p, bool bytes, int u,
                               int64_t n)
{
    V best[4];
    M place[4];
    int64_t first = 1; /* starts with the first pixel */
#pragma GCC unroll 4
    for (int k = 0; k < u; k++) {
        best[k] = FN(load_upto)(x + k * LANES, n);
        place[k] = FN(splat_place)(p->place);
    }
    for (int64_t d = 0; d < p->n[0]; d++)
        for (int64_t h = 0; h < p->n[1]; h++) {
            const T *row = x + d * p->jump[0] + h * p->jump[1];
            const int64_t number = p->place + d * p->place_jump[0] + h * p->place_jump[1];
            for (int64_t w = first; w < p->n[2]; w++) {
                const M here = FN(splat_place)(number + w * p->place_jump[2]);
#pragma GCC unroll 4
                for (int k = 0; k < u; k++) {
                    const V v = FN(load_upto)(row + w * p->jump[2] + k * LANES, n);
                    const M more = FN(beats)(v, best[k]);
                    best[k] = FN(select)(more, v, best[k]);
                    place[k] = (M)FN(select)(more, (V)here, (V)place[k]);
                }
            }
            first = 0;
        }
#pragma GCC unroll 4
    for (int k = 0; k < u; k++) {
        FN(store_upto)(y + k * LANES, best[k], n);
        FN(store_places)(places + k * LANES * (bytes ? 1 : 4), place[k], bytes, n);
    }
}

/* Calls vectors(u, lanes) over all channels. */
#define OVER_CHANNELS(channels, vectors)                                                         \
    int64_t c = 0;                                                                               \
    for (; c + 4 * LANES <= channels; c += 4 * LANES) vectors(4, LANES);                         \
    if (c + 2 * LANES <= channels) {                                                             \
        vectors(2, LANES);                                                                       \
        c += 2 * LANES;                                                                          \
    }                                                                                            \
    if (c + LANES <= channels) {                                                                 \
        vectors(1, LANES);                                                                       \
        c += LANES;                                                                              \
    }                                                                                            \
    if (c < channels) vectors(1, channels - c);

DF_INLINE void FN(max_pixel)(T *y, char *at, const T *x, const char *unused, const patch *p)
{
    (void)unused;
    if (p->n[0] * p->n[1] * p->n[2] == 0) { /* only padding */
        for (int64_t c = 0; c < p->channels; c++) y[c] = LOWEST;
        memset(at, -1, (size_t)(p->channels * p->place_bytes));
        return;
    }
#define WIDE(u, lanes) FN(max_vectors)(y + c, at + 4 * c, x + c, p, false, u, lanes)
#define BYTES(u, lanes) FN(max_vectors)(y + c, at + c, x + c, p, true, u, lanes)
    if (p->place_bytes == 1) {
        OVER_CHANNELS(p->channels, BYTES)
    } else {
        OVER_CHANNELS(p->channels, WIDE)
    }
#undef WIDE
#undef BYTES
}

/* Sum of the cotangents of the windows whose maximum is this pixel. */
DF_INLINE void FN(max_grad_vectors)(T *dx, const T *g, const char *places, const patch *p,
                                    bool bytes, int u, int64_t n)
{
    V sum[4] = {0};
    for (int64_t d = 0; d < p->n[0]; d++)
        for (int64_t h = 0; h < p->n[1]; h++) {
            int64_t at = d * p->jump[0] + h * p->jump[1];
            int64_t place = p->place + d * p->place_jump[0] + h * p->place_jump[1];
            for (int64_t w = 0; w < p->n[2]; w++) {
                const M here = FN(splat_place)(place);
#pragma GCC unroll 4
                for (int k = 0; k < u; k++) {
                    const char *of = places + (at + k * LANES) * (bytes ? 1 : 4);
                    const M same = FN(load_places)(of, bytes, n) == here;
                    const V v = FN(load_upto)(g + at + k * LANES, n);
                    sum[k] += FN(select)(same, v, (V){0});
                }
                at += p->jump[2];
                place += p->place_jump[2];
            }
        }
#pragma GCC unroll 4
    for (int k = 0; k < u; k++) FN(store_upto)(dx + k * LANES, sum[k], n);
}

DF_INLINE void FN(max_grad_pixel)(T *dx, char *unused, const T *g, const char *at, const patch *p)
{
    (void)unused;
#define WIDE(u, lanes) FN(max_grad_vectors)(dx + c, g + c, at + 4 * c, p, false, u, lanes)
#define BYTES(u, lanes) FN(max_grad_vectors)(dx + c, g + c, at + c, p, true, u, lanes)
    if (p->place_bytes == 1) {
        OVER_CHANNELS(p->channels, BYTES)
    } else {
        OVER_CHANNELS(p->channels, WIDE)
    }
#undef WIDE
#undef BYTES
}

#if DTYPE_FLOAT

/* Mean of a patch: rows of pixels are summed first, long rows in runs, so that no sum is long. */
DF_INLINE void FN(avg_vectors)(T *y, const T *x, const patch *p, int u, int64_t n)
{
    V sum[4] = {0};
    const V share = FN(splat)((T)p->share);
    for (int64_t d = 0; d < p->n[0]; d++)
        for (int64_t h = 0; h < p->n[1]; h++) {
            const T *at = x + d * p->jump[0] + h * p->jump[1];
            for (int64_t done = 0; done < p->n[2]; done += RUN) {
                V row[4] = {0};
                for (int64_t w = df_min(RUN, p->n[2] - done); w > 0; w--, at += p->jump[2])
#pragma GCC unroll 4
                    for (int k = 0; k < u; k++) row[k] += FN(load_upto)(at + k * LANES, n);
#pragma GCC unroll 4
                for (int k = 0; k < u; k++) sum[k] += row[k];
            }
        }
#pragma GCC unroll 4
    for (int k = 0; k < u; k++) FN(store_upto)(y + k * LANES, sum[k] * share, n);
}

DF_INLINE void FN(avg_pixel)(T *y, char *unused, const T *x, const char *unused_too,
                             const patch *p)
{
    (void)unused;
    (void)unused_too;
#define VECTORS(u, lanes) FN(avg_vectors)(y + c, x + c, p, u, lanes)
    OVER_CHANNELS(p->channels, VECTORS)
#undef VECTORS
}

/* Sum of the cotangents of the windows of a pixel, each divided by the number of its pixels. */
DF_INLINE void FN(avg_grad_vectors)(T *dx, const T *g, const patch *p, int u, int64_t n)
{
    V sum[4] = {0};
    for (int64_t d = 0; d < p->n[0]; d++)
        for (int64_t h = 0; h < p->n[1]; h++) {
            const double rows = p->shares[0][d * p->step[0]].share *
                                p->shares[1][h * p->step[1]].share;
            const T *at = g + d * p->jump[0] + h * p->jump[1];
            for (int64_t w = 0; w < p->n[2]; w++, at += p->jump[2]) {
                const V share = FN(splat)((T)(rows * p->shares[2][w * p->step[2]].share));
#pragma GCC unroll 4
                for (int k = 0; k < u; k++) sum[k] += FN(load_upto)(at + k * LANES, n) * share;
            }
        }
#pragma GCC unroll 4
    for (int k = 0; k < u; k++) FN(store_upto)(dx + k * LANES, sum[k], n);
}

DF_INLINE void FN(avg_grad_pixel)(T *dx, char *unused, const T *g, const char *unused_too,
                                  const patch *p)
{
    (void)unused;
    (void)unused_too;
#define VECTORS(u, lanes) FN(avg_grad_vectors)(dx + c, g + c, p, u, lanes)
    OVER_CHANNELS(p->channels, VECTORS)
#undef VECTORS
}

#endif

#undef OVER_CHANNELS
#undef LOWEST

/* The elements at given positions of a patch; 0 for a position outside it. */
DF_INLINE void FN(pick_pixel)(T *y, char *places, const T *x, const char *unused, const patch *p)
{
    (void)unused;
    for (int64_t c = 0; c < p->channels; c++) {
        const int64_t at = offset_of(p, places, c);
        y[c] = at < 0 ? 0 : x[at + c];
    }
}

/* Applies a formula to each pixel of a row. */
DF_INLINE void FN(over_row)(const row *r, void (*pixel)(T *, char *, const T *, const char *,
                                                        const patch *))
{
    patch p = r->p;
    T *out = r->out;
    char *places = r->places;
    for (int64_t w = 0; w < r->width; w++, out += p.channels) {
        const df_reach wide = r->wide[w];
        const int64_t at = wide.first * p.channels;
        const char *places_in = r->places_in;
        p.n[2] = wide.n;
        p.place = r->p.place + (p.place_bytes == 1 ? wide.tap : r->back ? w : wide.first);
        p.share = r->p.share * wide.share;
        p.shares[2] = r->windows + wide.first;
        pixel(out, places, (const T *)r->in + at,
              places_in ? places_in + at * p.place_bytes : NULL, &p);
        if (places) places += p.channels * p.place_bytes;
    }
}

#define ROW(name) \
    static void FN(name##_row)(const row *r) { FN(over_row)(r, FN(name##_pixel)); }
ROW(max)
ROW(max_grad)
ROW(pick)
#if DTYPE_FLOAT
ROW(avg)
ROW(avg_grad)
#endif
#undef ROW
