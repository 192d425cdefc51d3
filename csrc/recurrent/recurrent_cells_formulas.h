/* Included once per floating dtype: the cells, forward and backward, one row at a time.
 *
 * Names: z, r, h of a GRU; i, f, g, o and the cell c of an LSTM, each after its activation.
 * Residuals of a step, in units of H: LSTM i f g o c; GRU z r h and, for DF_GRU_AFTER, the
 * recurrent product of h with its bias, for DF_GRU_BEFORE, r times the previous state. */

/* work(..., u, n) for each vector of a row of units; n is the constant LANES for whole vectors. */
#define EACH_VECTOR(units, work, ...)                                                            \
    do {                                                                                         \
        int64_t u = 0;                                                                           \
        for (; u + LANES <= (units); u += LANES) work(__VA_ARGS__, u, LANES);                    \
        if (u < (units)) work(__VA_ARGS__, u, (units) - u);                                      \
    } while (0)
#define ONE_VECTOR(n, work, ...)                                                                 \
    do {                                                                                         \
        if ((n) == LANES) work(__VA_ARGS__, LANES);                                              \
        else work(__VA_ARGS__, n);                                                               \
    } while (0)

/* Row i of step s in x, out or their gradients (rows of `width` elements), or in the residuals. */
DF_INLINE T *FN(outer_row)(const void *block, const FN(step) *s, int64_t i, int64_t width)
{
    return (T *)block + (s->t * s->of->t_step + (s->row0 + i) * s->of->b_step) * width;
}
DF_INLINE T *FN(residual_row)(const FN(step) *s, int64_t i)
{
    const df_recurrence *r = &s->of->r;
    return (T *)r->residuals + (s->t * r->rows + s->row0 + i) * s->of->n_residuals * r->units;
}

DF_INLINE int64_t FN(length_of)(const FN(step) *s, int64_t i)
{
    return s->of->r.lengths[s->row0 + i];
}
DF_INLINE bool FN(held)(const FN(step) *s, int64_t i) { return s->t >= FN(length_of)(s, i); }

/* True if the previous state is the initial state. */
DF_INLINE bool FN(first)(const FN(step) *s, int64_t i)
{
    return s->of->r.reverse ? s->t == FN(length_of)(s, i) - 1 : s->t == 0;
}

/* The previous state and cell, read from memory that the backward pass has. */
DF_INLINE const T *FN(state_before)(const FN(step) *s, int64_t i)
{
    const df_recurrence *r = &s->of->r;
    if (FN(first)(s, i)) return (const T *)r->h0 + (s->row0 + i) * r->units;
    const int64_t step = s->of->t_step * r->units;
    return FN(outer_row)(r->out, s, i, r->units) + (r->reverse ? step : -step);
}
DF_INLINE const T *FN(cell_before)(const FN(step) *s, int64_t i)
{
    const df_recurrence *r = &s->of->r;
    if (FN(first)(s, i)) return (const T *)r->c0 + (s->row0 + i) * r->units;
    const int64_t step = r->rows * s->of->n_residuals * r->units;
    return FN(residual_row)(s, i) + (r->reverse ? step : -step) + 4 * r->units;
}

DF_INLINE void FN(put_state)(const FN(step) *s, int64_t i, int64_t u, int64_t n, V h)
{
    const int64_t units = s->of->r.units;
    FN(store_upto)(s->h_new + i * units + u, h, n);
    FN(store_upto)(FN(outer_row)(s->of->r.out, s, i, units) + u, h, n);
}

DF_INLINE void FN(hold)(const FN(step) *s, int64_t i, int64_t u, int64_t n)
{
    const int64_t units = s->of->r.units;
    T *residuals = FN(residual_row)(s, i) + u;
    FN(store_upto)(s->h_new + i * units + u, FN(load_upto)(s->h + i * units + u, n), n);
    FN(store_upto)(FN(outer_row)(s->of->r.out, s, i, units) + u, (V){0}, n);
    for (int64_t k = 0; k < s->of->n_residuals; k++)
        FN(store_upto)(residuals + k * units, (V){0}, n);
}

/* y (1 - y): the derivative of the sigmoid with value y. Below, 1 - y^2: the derivative of tanh. */
DF_INLINE V FN(sigmoid_slope)(V y) { return y * (1 - y); }
DF_INLINE V FN(tanh_slope)(V y) { return 1 - y * y; }

/* --- simple ----------------------------------------------------------------------------------- */

static void FN(rnn)(const FN(step) *s, int64_t i, int64_t p, const T *tile)
{
    const bool relu = s->of->r.cell == DF_RNN_RELU;
    for (int64_t j = 0, n; j < s->of->first.width; j++) {
        const int64_t u = FN(column_of)(&s->of->first, p, j, &n);
        if (n == 0) return;
        if (FN(held)(s, i)) {
            FN(hold)(s, i, u, n);
            continue;
        }
        const V x = FN(load_upto)(s->z + i * s->of->ldz + u, n) + FN(load)(tile + j * LANES);
        FN(put_state)(s, i, u, n, relu ? FN(max0)(x) : FN(tanh)(x));
    }
}

DF_INLINE void FN(rnn_grad_at)(const FN(step) *s, const T *y, const T *g, T *dh, T *dz, int64_t u,
                               int64_t n)
{
    const V d = FN(load_upto)(dh + u, n) + FN(load_upto)(g + u, n), h = FN(load_upto)(y + u, n);
    const V relu = FN(select)(h > (V){0}, d, (V){0});
    FN(store_upto)(dz + u, s->of->r.cell == DF_RNN_RELU ? relu : d * FN(tanh_slope)(h), n);
    FN(store_upto)(dh + u, (V){0}, n);
}

static void FN(rnn_grad)(const FN(step) *s, int64_t i)
{
    const df_recurrence *r = &s->of->r;
    const int64_t units = r->units;
    const T *y = FN(outer_row)(r->out, s, i, units), *g = FN(outer_row)(r->g_out, s, i, units);
    EACH_VECTOR(units, FN(rnn_grad_at), s, y, g, s->h + i * units, s->z + i * s->of->ldz);
}

/* --- LSTM ------------------------------------------------------------------------------------- */

DF_INLINE void FN(lstm_at)(const FN(step) *s, int64_t i, const T *tile, int64_t u, int64_t n)
{
    const int64_t units = s->of->r.units;
    const T *z = s->z + i * s->of->ldz + u;
    T *c = s->c + i * units + u, *residuals = FN(residual_row)(s, i) + u;
    V gate[4];
    UNROLL for (int k = 0; k < 4; k++) {
        const V x = FN(load_upto)(z + k * units, n) + FN(load)(tile + k * LANES);
        gate[k] = k == 2 ? FN(tanh)(x) : FN(sigmoid)(x);
        FN(store_upto)(residuals + k * units, gate[k], n);
    }
    const V cell = gate[1] * FN(load_upto)(c, n) + gate[0] * gate[2];
    FN(store_upto)(c, cell, n);
    FN(store_upto)(residuals + 4 * units, cell, n);
    FN(put_state)(s, i, u, n, gate[3] * FN(tanh)(cell));
}

static void FN(lstm)(const FN(step) *s, int64_t i, int64_t p, const T *tile)
{
    const int64_t u = p * LANES, n = df_min(LANES, s->of->r.units - u);
    if (FN(held)(s, i)) FN(hold)(s, i, u, n);
    else ONE_VECTOR(n, FN(lstm_at), s, i, tile, u);
}

DF_INLINE void FN(lstm_grad_at)(int64_t units, const T *residuals, const T *g_out, const T *before,
                                T *dh, T *dc, T *dz, int64_t u, int64_t n)
{
    V gate[4];
    UNROLL for (int k = 0; k < 4; k++) gate[k] = FN(load_upto)(residuals + k * units + u, n);
    const V tanh_c = FN(tanh)(FN(load_upto)(residuals + 4 * units + u, n));
    const V d = FN(load_upto)(dh + u, n) + FN(load_upto)(g_out + u, n);
    const V to_c = FN(load_upto)(dc + u, n) + d * gate[3] * FN(tanh_slope)(tanh_c);
    FN(store_upto)(dz + u, to_c * gate[2] * FN(sigmoid_slope)(gate[0]), n);
    FN(store_upto)(dz + units + u,
                   to_c * FN(load_upto)(before + u, n) * FN(sigmoid_slope)(gate[1]), n);
    FN(store_upto)(dz + 2 * units + u, to_c * gate[0] * FN(tanh_slope)(gate[2]), n);
    FN(store_upto)(dz + 3 * units + u, d * tanh_c * FN(sigmoid_slope)(gate[3]), n);
    FN(store_upto)(dc + u, to_c * gate[1], n);
    FN(store_upto)(dh + u, (V){0}, n);
}

static void FN(lstm_grad)(const FN(step) *s, int64_t i)
{
    const df_recurrence *r = &s->of->r;
    const int64_t units = r->units;
    EACH_VECTOR(units, FN(lstm_grad_at), units, FN(residual_row)(s, i),
                FN(outer_row)(r->g_out, s, i, units), FN(cell_before)(s, i), s->h + i * units,
                s->c + i * units, s->z + i * s->of->ldz);
}

/* --- GRU -------------------------------------------------------------------------------------- */

/* The sigmoid of gate k; also stores it as a residual. */
DF_INLINE V FN(gru_gate)(const FN(step) *s, int64_t i, int64_t u, int64_t n, int k, const T *tile)
{
    const int64_t at = k * s->of->r.units + u;
    const V outer = FN(load_upto)(s->z + i * s->of->ldz + at, n);
    const V y = FN(sigmoid)(outer + FN(load)(tile + k * LANES));
    FN(store_upto)(FN(residual_row)(s, i) + at, y, n);
    return y;
}

/* Computes the new state. `keep` is the gate z, `inner` the argument of tanh without the input,
 * `last` the fourth residual. */
DF_INLINE void FN(gru_state)(const FN(step) *s, int64_t i, int64_t u, int64_t n, V keep, V inner,
                             V last)
{
    const int64_t units = s->of->r.units;
    T *residuals = FN(residual_row)(s, i) + u;
    const V y = FN(tanh)(FN(load_upto)(s->z + i * s->of->ldz + 2 * units + u, n) + inner);
    FN(store_upto)(residuals + 2 * units, y, n);
    FN(store_upto)(residuals + 3 * units, last, n);
    FN(put_state)(s, i, u, n, keep * FN(load_upto)(s->h + i * units + u, n) + (1 - keep) * y);
}

DF_INLINE void FN(gru_after_at)(const FN(step) *s, int64_t i, const T *tile, int64_t u, int64_t n)
{
    const V keep = FN(gru_gate)(s, i, u, n, 0, tile), reset = FN(gru_gate)(s, i, u, n, 1, tile);
    const V bias = FN(load_upto)((const T *)s->of->r.inner_bias + u, n);
    const V inner = FN(load)(tile + 2 * LANES) + bias;
    FN(gru_state)(s, i, u, n, keep, reset * inner, inner);
}

static void FN(gru_after)(const FN(step) *s, int64_t i, int64_t p, const T *tile)
{
    const int64_t u = p * LANES, n = df_min(LANES, s->of->r.units - u);
    if (FN(held)(s, i)) FN(hold)(s, i, u, n);
    else ONE_VECTOR(n, FN(gru_after_at), s, i, tile, u);
}

/* Sets d to r times the state, the operand of the second product. */
static void FN(gru_before_gates)(const FN(step) *s, int64_t i, int64_t p, const T *tile)
{
    const int64_t units = s->of->r.units, u = p * LANES, n = df_min(LANES, units - u);
    V reset = {0};
    if (!FN(held)(s, i)) {
        FN(gru_gate)(s, i, u, n, 0, tile);
        reset = FN(gru_gate)(s, i, u, n, 1, tile);
    }
    FN(store_upto)(s->d + i * s->of->ldd + u, reset * FN(load_upto)(s->h + i * units + u, n), n);
}

static void FN(gru_before)(const FN(step) *s, int64_t i, int64_t p, const T *tile)
{
    for (int64_t j = 0, n; j < s->of->second.width; j++) {
        const int64_t u = FN(column_of)(&s->of->second, p, j, &n);
        if (n == 0) return;
        if (FN(held)(s, i)) {
            FN(hold)(s, i, u, n);
            continue;
        }
        const V keep = FN(load_upto)(FN(residual_row)(s, i) + u, n);
        FN(gru_state)(s, i, u, n, keep, FN(load)(tile + j * LANES),
                      FN(load_upto)(s->d + i * s->of->ldd + u, n));
    }
}

/* Backward: for DF_GRU_AFTER, d is the cotangent of the recurrent product (of z, r and h); for
 * DF_GRU_BEFORE, r times the previous state. In the latter case the cotangent of gate r is computed
 * later, from the product with the cotangent of h. */
DF_INLINE void FN(gru_grad_at)(const FN(step) *s, const T *residuals, const T *g_out,
                               const T *before,
                               T *dh, T *dz, T *d, int64_t u, int64_t n)
{
    const int64_t units = s->of->r.units;
    const V keep = FN(load_upto)(residuals + u, n), reset = FN(load_upto)(residuals + units + u, n);
    const V y = FN(load_upto)(residuals + 2 * units + u, n);
    const V last = FN(load_upto)(residuals + 3 * units + u, n);
    const V to_h = FN(load_upto)(dh + u, n) + FN(load_upto)(g_out + u, n);
    const V to_keep = to_h * (FN(load_upto)(before + u, n) - y) * FN(sigmoid_slope)(keep);
    const V to_y = to_h * (1 - keep) * FN(tanh_slope)(y);
    FN(store_upto)(dh + u, to_h * keep, n);
    FN(store_upto)(dz + u, to_keep, n);
    FN(store_upto)(dz + 2 * units + u, to_y, n);
    if (s->of->r.cell == DF_GRU_BEFORE) {
        FN(store_upto)(d + u, last, n);
        return;
    }
    const V to_reset = to_y * last * FN(sigmoid_slope)(reset);
    FN(store_upto)(dz + units + u, to_reset, n);
    FN(store_upto)(d + u, to_keep, n);
    FN(store_upto)(d + units + u, to_reset, n);
    FN(store_upto)(d + 2 * units + u, to_y * reset, n);
}

static void FN(gru_grad)(const FN(step) *s, int64_t i)
{
    const df_recurrence *r = &s->of->r;
    const int64_t units = r->units;
    EACH_VECTOR(units, FN(gru_grad_at), s, FN(residual_row)(s, i),
                FN(outer_row)(r->g_out, s, i, units),
                FN(state_before)(s, i), s->h + i * units, s->z + i * s->of->ldz,
                s->d + i * s->of->ldd);
}

/* From the cotangent of r times the state. */
static void FN(gru_reset_grad)(const FN(step) *s, int64_t i, int64_t p, const T *tile)
{
    const int64_t units = s->of->r.units;
    if (FN(held)(s, i)) return;
    const T *before = FN(state_before)(s, i);
    for (int64_t j = 0, n; j < s->of->second.width; j++) {
        const int64_t u = FN(column_of)(&s->of->second, p, j, &n);
        if (n == 0) return;
        const V reset = FN(load_upto)(FN(residual_row)(s, i) + units + u, n);
        const V g = FN(load)(tile + j * LANES);
        T *dh = s->h + i * units + u;
        FN(store_upto)(s->z + i * s->of->ldz + units + u,
                       g * FN(load_upto)(before + u, n) * FN(sigmoid_slope)(reset), n);
        FN(store_upto)(dh, FN(load_upto)(dh, n) + g * reset, n);
    }
}
