/* The steps of an epilogue in registers (gemm/epilogue.h). Included once per dtype by a kernel that
 * defines UNROLL. */

#define EACH_SUM(expression)                                                                       \
    UNROLL for (int i = 0; i < rows; i++)                                                          \
        UNROLL for (int v = 0; v < vectors; v++) {                                                 \
            const V x = sum[i * stride + v];                                                       \
            sum[i * stride + v] = expression;                                                      \
        }                                                                                          \
    break

#define MOST_SUMS 32

/* Applies the function of a step to each of n elements, in place. */
DF_NOINLINE void FN(map_run)(df_finish_kind kind, T *x, int64_t n)
{
#define EACH(function)                                                                             \
    for (int64_t i = 0; i < n; i += LANES) {                                                       \
        const int64_t lanes = df_min(LANES, n - i);                                                \
        const V v = FN(load_upto)(x + i, lanes);                                                   \
        FN(store_upto)(x + i, function, lanes);                                                    \
    }                                                                                              \
    break
    switch (kind) {
    case DF_FINISH_SIGMOID: EACH(FN(sigmoid)(v));
    case DF_FINISH_SWISH: EACH(v * FN(sigmoid)(v));
    default: EACH(FN(silu)(v));
    }
#undef EACH
}

/* Applies the steps to rows x vectors sums, `stride` apart per row. The first sum of row i is
 * element at + starts[i] of the result, column `column`. The last vector of a row has `lanes`
 * elements. */
DF_INLINE void FN(finish)(const df_finish *f, const int rows, const int vectors, const int stride,
                          int64_t lanes, int64_t at, const int64_t *starts, int64_t column,
                          V *sum)
{
    V kept[MOST_SUMS];
    __asm__("" : "=m"(kept)); /* KEEP writes it before a step reads it; compilers cannot know */
    for (const df_finish_step *s = f->steps; s < f->steps + f->n; s++) {
        const T *data = s->data;
        V by[4];
        if (df_finish_maps(s->kind)) {
            V mapped[MOST_SUMS];
            UNROLL for (int i = 0; i < rows; i++)
                UNROLL for (int v = 0; v < vectors; v++)
                    mapped[i * vectors + v] = sum[i * stride + v];
            FN(map_run)(s->kind, (T *)mapped, rows * vectors * LANES);
            UNROLL for (int i = 0; i < rows; i++)
                UNROLL for (int v = 0; v < vectors; v++)
                    sum[i * stride + v] = mapped[i * vectors + v];
            continue;
        }
        if (s->operand == DF_FINISH_KEPT) {
            if (s->kind == DF_FINISH_ADD)
                do { EACH_SUM(x + kept[i * stride + v]); } while (0);
            else
                do { EACH_SUM(x * kept[i * stride + v]); } while (0);
            continue;
        }
        if (s->operand == DF_FINISH_PER_ELEMENT) {
#define OPERAND                                                                                    \
    FN(load_upto)(data + at + starts[i] + v * LANES,                                              \
                  v == vectors - 1 ? lanes : LANES)
            if (s->kind == DF_FINISH_ADD)
                do { EACH_SUM(x + OPERAND); } while (0);
            else
                do { EACH_SUM(x * OPERAND); } while (0);
            continue;
#undef OPERAND
        }
        UNROLL for (int v = 0; v < vectors; v++)
            by[v] = !data ? (V){0}
                    : s->operand == DF_FINISH_ONE
                        ? FN(splat)(*data)
                        : FN(load_upto)(data + column + v * LANES,
                                        v == vectors - 1 ? lanes : LANES);
        switch (s->kind) {
        case DF_FINISH_ADD: EACH_SUM(x + by[v]);
        case DF_FINISH_MULTIPLY: EACH_SUM(x * by[v]);
        case DF_FINISH_MAXIMUM: EACH_SUM(FN(max)(x, by[v]));
        case DF_FINISH_MINIMUM: EACH_SUM(FN(min)(x, by[v]));
        case DF_FINISH_DIVIDE: EACH_SUM(x / by[v]);
        case DF_FINISH_RELU: EACH_SUM(FN(max0)(x));
        case DF_FINISH_RELU6:
            EACH_SUM(FN(select)(FN(max0)(x) > 6, FN(splat)(6), FN(max0)(x)));
        case DF_FINISH_KEEP: EACH_SUM(kept[i * stride + v] = x);
        case DF_FINISH_SIGMOID: case DF_FINISH_SILU: case DF_FINISH_SWISH: break; /* above */
        }
    }
}

#undef EACH_SUM
#undef MOST_SUMS
