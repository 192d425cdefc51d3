/* Loops of cumulative.c, compiled once per dtype. */

/* One column, with the accumulator in a register; or a column of each of `n_outer` blocks, whose
 * chains of operations do not wait for each other. */
DF_INLINE void FN(cumulate_column)(T *out, const T *x, const block_shape *s, ACC identity,
                                   ACC (*f)(ACC, T), const int n_outer, const bool exclusive)
{
    ACC acc[OUTER_AT_ONCE];
    for (int o = 0; o < n_outer; o++) acc[o] = identity;
    for (int64_t k = 0; k < s->n; k++, out += s->step, x += s->step) {
#pragma GCC unroll 4
        for (int o = 0; o < n_outer; o++) {
            const ACC next = f(acc[o], x[o * s->outer_step]);
            out[o * s->outer_step] = (T)(exclusive ? acc[o] : next);
            acc[o] = next;
        }
    }
}

/* One row at a time, with the accumulators in L1. */
DF_INLINE void FN(cumulate_rows)(T *out, const T *x, const block_shape *s, ACC identity,
                             ACC (*f)(ACC, T))
{
    ACC acc[BLOCK_COLUMNS];
    for (int64_t c = 0; c < s->cols; c++) acc[c] = identity;
    for (int64_t k = 0; k < s->n; k++, out += s->step, x += s->step) {
        if (s->exclusive)
            for (int64_t c = 0; c < s->cols; c++) {
                const T next = x[c];
                out[c] = (T)acc[c];
                acc[c] = f(acc[c], next);
            }
        else
            for (int64_t c = 0; c < s->cols; c++) {
                acc[c] = f(acc[c], x[c]);
                out[c] = (T)acc[c];
            }
    }
}

#define FEW_COLUMNS 3 /* accumulators in registers are faster than in L1, even one at a time */

DF_INLINE void FN(cumulate)(T *out, const T *x, const block_shape *shape, ACC identity,
                            ACC (*f)(ACC, T))
{
    const block_shape s = *shape;
    int64_t o = 0;
#if DTYPE_FLOAT /* others wait for one cycle only */
    for (; s.cols <= FEW_COLUMNS && o + OUTER_AT_ONCE <= s.outer; o += OUTER_AT_ONCE)
        for (int64_t c = 0; c < s.cols; c++) {
            const int64_t at = o * s.outer_step + c;
            if (s.exclusive)
                FN(cumulate_column)(out + at, x + at, &s, identity, f, OUTER_AT_ONCE, true);
            else
                FN(cumulate_column)(out + at, x + at, &s, identity, f, OUTER_AT_ONCE, false);
        }
#endif
    for (; o < s.outer; o++) {
        const int64_t at = o * s.outer_step;
        if (s.cols > FEW_COLUMNS) FN(cumulate_rows)(out + at, x + at, &s, identity, f);
        else
            for (int64_t c = at; c < at + s.cols; c++)
                if (s.exclusive)
                    FN(cumulate_column)(out + c, x + c, &s, identity, f, 1, true);
                else
                    FN(cumulate_column)(out + c, x + c, &s, identity, f, 1, false);
    }
}

DF_INLINE ACC FN(add_1)(ACC a, T b) { return (ACC)(a + b); }
DF_INLINE ACC FN(multiply_1)(ACC a, T b) { return (ACC)(a * b); }

#if DTYPE_SIGNED
static void FN(cumsum_block)(void *out, const void *const *in, const block_shape *s)
{
    FN(cumulate)(out, in[0], s, 0, FN(add_1));
}

static void FN(cumprod_block)(void *out, const void *const *in, const block_shape *s)
{
    FN(cumulate)(out, in[0], s, 1, FN(multiply_1));
}
#endif

#if DTYPE_FLOAT

/* log(e^a + e^b): the larger, plus the contribution of the smaller. The case a == b includes equal
 * infinities, whose difference is NaN. */
DF_INLINE ACC FN(log_add_1)(ACC a, T b)
{
    if (a == b) return a + M_LN2;
    const ACC high = a > b ? a : b, low = a > b ? b : a;
    return high + log1p(exp(low - high));
}

static void FN(logsumexp_block)(void *out, const void *const *in, const block_shape *s)
{
    FN(cumulate)(out, in[0], s, -INFINITY, FN(log_add_1));
}

DF_INLINE void FN(recurrence)(T *out, const T *a, const T *b, const block_shape *s)
{
    for (int64_t c = 0; c < s->cols; c++) out[c] = s->exclusive ? 0 : b[c];
    for (int64_t k = 1; k < s->n; k++) {
        const T *plus = b + (s->exclusive ? k - 1 : k) * s->step, *by = a + (k - 1) * s->step;
        const T *before = out;
        out += s->step;
        for (int64_t c = 0; c < s->cols; c++) out[c] = plus[c] + by[c] * before[c];
    }
}

static void FN(recurrence_block)(void *out, const void *const *in, const block_shape *s)
{
    const T *a = in[0], *b = in[1];
    for (int64_t at = 0; at < s->outer * s->outer_step; at += s->outer_step)
        FN(recurrence)((T *)out + at, a + at, b + at, s);
}

#endif

#undef FEW_COLUMNS
