/* Part of local_response.c, included once per floating dtype. */

/* w[i] = the sum of v^2, or of v, over the existing channels from c + i - radius to c + i + radius,
 * for the `n` channels from c on. Wide windows are summed in parts. */
static void FN(window)(T *w, const T *v, const response *r, int64_t c, int64_t n, bool squares)
{
    T near[2 * PIECE];
    memset(w, 0, (size_t)n * sizeof(T));
    for (int64_t first = -r->radius; first <= r->radius; first += PIECE) {
        const int64_t width = df_min(PIECE, r->radius + 1 - first);
        for (int64_t i = 0; i < n + width - 1; i++) {
            const int64_t at = c + first + i;
            const T x = at >= 0 && at < r->c ? v[at] : 0;
            near[i] = squares ? x * x : x;
        }
        for (int64_t i = 0; i < n; i += LANES) {
            const int64_t some = df_min(LANES, n - i);
            V sum = FN(load_upto)(w + i, some);
            for (int64_t k = 0; k < width; k++) sum += FN(load_upto)(near + i + k, some);
            FN(store_upto)(w + i, sum, some);
        }
    }
}

DF_INLINE V FN(power_of_size)(V window, const response *r, double exponent)
{
    return FN(pow)((T)r->bias + (T)r->alpha * window, FN(splat)((T)exponent));
}

/* y = x (bias + alpha window(x^2))^-beta. */
static void FN(respond)(const response *r, int64_t begin, int64_t end)
{
    T w[PIECE];
    for (int64_t row = begin; row < end; row++)
        for (int64_t c = 0; c < r->c; c += PIECE) {
            const int64_t n = df_min(PIECE, r->c - c);
            const T *x = (const T *)r->x + row * r->c;
            T *y = (T *)r->out + row * r->c + c;
            FN(window)(w, x, r, c, n, true);
            for (int64_t i = 0; i < n; i += LANES) {
                const int64_t some = df_min(LANES, n - i);
                const V by = FN(power_of_size)(FN(load_upto)(w + i, some), r, -r->beta);
                FN(store_upto)(y + i, FN(load_upto)(x + c + i, some) * by, some);
            }
        }
}

/* d = g s^-beta and u = g x s^(-beta - 1), where s = bias + alpha window(x^2). */
static void FN(flow_alone)(const response *r, int64_t row)
{
    T w[PIECE], *u = (T *)r->u + row * r->c, *d = (T *)r->out + row * r->c;
    const T *x = (const T *)r->x + row * r->c, *g = (const T *)r->g + row * r->c;
    for (int64_t c = 0; c < r->c; c += PIECE) {
        const int64_t n = df_min(PIECE, r->c - c);
        FN(window)(w, x, r, c, n, true);
        for (int64_t i = 0; i < n; i += LANES) {
            const int64_t some = df_min(LANES, n - i), at = c + i;
            const V size = FN(load_upto)(w + i, some), flow = FN(load_upto)(g + at, some);
            FN(store_upto)(d + at, flow * FN(power_of_size)(size, r, -r->beta), some);
            FN(store_upto)(u + at, flow * FN(load_upto)(x + at, some) *
                                FN(power_of_size)(size, r, -r->beta - 1), some);
        }
    }
}

/* d - 2 alpha beta x window(u). */
static void FN(flow_back)(const response *r, int64_t begin, int64_t end)
{
    T w[PIECE];
    const V twice = FN(splat)((T)(2 * r->alpha * r->beta));
    for (int64_t row = begin; row < end; row++) {
        const T *x = (const T *)r->x + row * r->c;
        T *d = (T *)r->out + row * r->c;
        FN(flow_alone)(r, row);
        for (int64_t c = 0; c < r->c; c += PIECE) {
            const int64_t n = df_min(PIECE, r->c - c);
            FN(window)(w, (const T *)r->u + row * r->c, r, c, n, false);
            for (int64_t i = 0; i < n; i += LANES) {
                const int64_t some = df_min(LANES, n - i), at = c + i;
                const V less = twice * FN(load_upto)(x + at, some) * FN(load_upto)(w + i, some);
                FN(store_upto)(d + at, FN(load_upto)(d + at, some) - less, some);
            }
        }
    }
}
