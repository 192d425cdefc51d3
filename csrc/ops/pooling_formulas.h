/* One target pixel of pooling.c, all channels; compiled once per dtype. */

#if DTYPE_FLOAT
#define LOWEST (-(T)INFINITY)
/* The first NaN beats all. */
DF_INLINE M FN(beats)(V v, V best) { return (v > best) | ((v != v) & (best == best)); }
#else
#define LOWEST ((T)((uint64_t)1 << (8 * sizeof(T) - 1)))
DF_INLINE M FN(beats)(V v, V best) { return v > best; }
#endif

/* Numbers of pixels, int32 in memory, in lanes as wide as an element. */
typedef int32_t FN(numbers) __attribute__((vector_size(DF_VEC_BYTES / sizeof(T) * 4)));

DF_INLINE M FN(load_places)(const int32_t *p, int64_t n)
{
    FN(numbers) v = {0};
    if (n == LANES) memcpy(&v, p, sizeof v);
    else memcpy(&v, p, (size_t)n * sizeof *p);
    return __builtin_convertvector(v, M);
}

DF_INLINE void FN(store_places)(int32_t *p, M places, int64_t n)
{
    const FN(numbers) v = __builtin_convertvector(places, FN(numbers));
    if (n == LANES) memcpy(p, &v, sizeof v);
    else memcpy(p, &v, (size_t)n * sizeof *p);
}

DF_INLINE V FN(load_some)(const T *p, int64_t n)
{
    return n == LANES ? FN(load)(p) : FN(load_n)(p, n);
}

DF_INLINE void FN(store_some)(T *p, V v, int64_t n)
{
    if (n == LANES) FN(store)(p, v);
    else FN(store_n)(p, v, n);
}

DF_INLINE M FN(splat_place)(int64_t place)
{
    return (__typeof__(((M){0})[0]))place - (M){0};
}

/* The largest of a patch and its pixel; of equal ones the first, and of NaNs. `u` vectors, the last
 * of n lanes. */
DF_INLINE void FN(max_vectors)(T *y, int32_t *places, const T *x, const patch *p, int u, int64_t n)
{
    V best[4];
    M place[4];
    int64_t first = 1; /* the first pixel is where it begins */
#pragma GCC unroll 4
    for (int k = 0; k < u; k++) {
        best[k] = FN(load_some)(x + k * LANES, n);
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
                    const V v = FN(load_some)(row + w * p->jump[2] + k * LANES, n);
                    const M more = FN(beats)(v, best[k]);
                    best[k] = FN(select)(more, v, best[k]);
                    place[k] = (more & here) | (~more & place[k]);
                }
            }
            first = 0;
        }
#pragma GCC unroll 4
    for (int k = 0; k < u; k++) {
        FN(store_some)(y + k * LANES, best[k], n);
        FN(store_places)(places + k * LANES, place[k], n);
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

static void FN(max_pixel)(void *out, int32_t *places, const void *in, const int32_t *unused,
                          const patch *p)
{
    T *y = out;
    const T *x = in;
    (void)unused;
    if (p->n[0] * p->n[1] * p->n[2] == 0) { /* padding alone */
        for (int64_t c = 0; c < p->channels; c++) {
            y[c] = LOWEST;
            places[c] = -1;
        }
        return;
    }
#define VECTORS(u, lanes) FN(max_vectors)(y + c, places + c, x + c, p, u, lanes)
    OVER_CHANNELS(p->channels, VECTORS)
#undef VECTORS
}

/* Sum of what flows into windows whose largest pixel is this one. */
DF_INLINE void FN(max_grad_vectors)(T *dx, const T *g, const int32_t *places, const patch *p, int u,
                                    int64_t n)
{
    V sum[4] = {0};
    const M here = FN(splat_place)(p->place);
    for (int64_t d = 0; d < p->n[0]; d++)
        for (int64_t h = 0; h < p->n[1]; h++) {
            int64_t at = d * p->jump[0] + h * p->jump[1];
            for (int64_t w = 0; w < p->n[2]; w++, at += p->jump[2])
#pragma GCC unroll 4
                for (int k = 0; k < u; k++) {
                    const M same = FN(load_places)(places + at + k * LANES, n) == here;
                    const V v = FN(load_some)(g + at + k * LANES, n);
                    sum[k] += FN(select)(same, v, (V){0});
                }
        }
#pragma GCC unroll 4
    for (int k = 0; k < u; k++) FN(store_some)(dx + k * LANES, sum[k], n);
}

static void FN(max_grad_pixel)(void *out, int32_t *unused, const void *in, const int32_t *places,
                               const patch *p)
{
    T *dx = out;
    const T *g = in;
    (void)unused;
#define VECTORS(u, lanes) FN(max_grad_vectors)(dx + c, g + c, places + c, p, u, lanes)
    OVER_CHANNELS(p->channels, VECTORS)
#undef VECTORS
}

#if DTYPE_FLOAT

/* Mean of a patch: rows of pixels are summed first, long ones in runs, so that no sum is long. */
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
                    for (int k = 0; k < u; k++) row[k] += FN(load_some)(at + k * LANES, n);
#pragma GCC unroll 4
                for (int k = 0; k < u; k++) sum[k] += row[k];
            }
        }
#pragma GCC unroll 4
    for (int k = 0; k < u; k++) FN(store_some)(y + k * LANES, sum[k] * share, n);
}

static void FN(avg_pixel)(void *out, int32_t *unused, const void *in, const int32_t *unused_too,
                          const patch *p)
{
    T *y = out;
    const T *x = in;
    (void)unused;
    (void)unused_too;
#define VECTORS(u, lanes) FN(avg_vectors)(y + c, x + c, p, u, lanes)
    OVER_CHANNELS(p->channels, VECTORS)
#undef VECTORS
}

/* Sum of what flows into the windows of a pixel, each over the number of its pixels. */
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
                for (int k = 0; k < u; k++) sum[k] += FN(load_some)(at + k * LANES, n) * share;
            }
        }
#pragma GCC unroll 4
    for (int k = 0; k < u; k++) FN(store_some)(dx + k * LANES, sum[k], n);
}

static void FN(avg_grad_pixel)(void *out, int32_t *unused, const void *in,
                               const int32_t *unused_too, const patch *p)
{
    T *dx = out;
    const T *g = in;
    (void)unused;
    (void)unused_too;
#define VECTORS(u, lanes) FN(avg_grad_vectors)(dx + c, g + c, p, u, lanes)
    OVER_CHANNELS(p->channels, VECTORS)
#undef VECTORS
}

#endif

#undef OVER_CHANNELS
#undef LOWEST

/* The numbers at given pixels of an image, 0 where there is no such pixel. */
static void FN(pick_pixel)(void *out, const void *image, const int32_t *places, int64_t pixels,
                           int64_t channels)
{
    T *y = out;
    const T *x = image;
    for (int64_t c = 0; c < channels; c++) {
        const int64_t at = places[c];
        y[c] = at >= 0 && at < pixels ? x[at * channels + c] : 0;
    }
}
