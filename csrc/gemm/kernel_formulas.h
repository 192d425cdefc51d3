/* Included once per dtype: the register-blocked kernel for a column panel of C and, without
 * PANEL_ONLY, packing. With ONE_FORM, panels of whole vectors run the code for parts of vectors,
 * which halves the size of the kernel.
 *
 * The kernel holds a block of GEMM_ROWS x GEMM_COLS vectors of C in registers over the whole depth
 * k. Per step it loads GEMM_COLS vectors of B and broadcasts GEMM_ROWS elements of A. Both operands
 * are read from their original memory or from a packed copy; only strides differ. */

#if defined(ONE_FORM) && !LOAD_N_IS_FAST /* if it is fast, `_n` accepts whole vectors */
#define PART(name) FN(name##_upto)
#else
#define PART(name) FN(name##_n)
#endif

/* Computes rows x (cols vectors) of C at `c` with op(A) from `a`. rows, cols, partial and copies
 * are constants at every call, so each combination becomes straight-line code. Three rows of A
 * share a pointer, because base + {0, 1, 2} * a_row is one address mode.
 *
 * C is prefetched and the next panel of B copied or prefetched while the block is computed, a few
 * lines at a time: more would fill the line-fill buffers and delay the loads of this panel. */
DF_INLINE void FN(block)(const int rows, const int cols, const bool partial, const bool copies,
                         const gemm_panel *panel, gemm_copy *next, gemm_fetch *fetch,
                         const T *a, T *c)
{
    const int64_t a_row = panel->a_row, a_col = panel->a_col, b_row = panel->b_row;
    const int64_t n_last = panel->cols - (cols - 1) * LANES;
    const bool masked = partial && LOAD_N_IS_FAST; /* otherwise B is packed, padded with zeros */
    const T *b = panel->b;
    T *copy = panel->copy;
    const T *a_three[(GEMM_ROWS + 2) / 3];
    V sum[GEMM_ROWS][GEMM_COLS];
    UNROLL for (int i = 0; i < rows; i += 3) a_three[i / 3] = a + i * a_row;
    UNROLL for (int i = 0; i < rows; i++)
        UNROLL for (int j = 0; j < cols; j++) sum[i][j] = (V){0};
    const T *c_row = c, *c_end = c + rows * panel->c_row;

    for (int64_t left = panel->k; left > 0; left -= panel->steps) {
        OPAQUE(c_row);
        UNROLL for (int i = 0; i < FETCH_ROWS && c_row < c_end; i++, c_row += panel->c_row)
            UNROLL for (int j = 0; j < cols; j++) __builtin_prefetch(c_row + j * LANES, 1);
        if (rows == GEMM_ROWS && cols > 1 && !copies)
            prefetch_some(cols, fetch);
        copy_some(cols, next);
        for (int64_t p = df_min(left, panel->steps); p > 0; p--) {
            V row[GEMM_COLS];
            UNROLL for (int j = 0; j < cols; j++)
                row[j] = masked && j == cols - 1 ? PART(load)(b + j * LANES, n_last)
                                                 : FN(load)(b + j * LANES);
            if (copies) {
                UNROLL for (int j = 0; j < cols; j++) {
                    FN(store)(copy + j * LANES, row[j]);
                    __builtin_prefetch(b + AHEAD * b_row + j * LANES);
                }
                copy += cols * LANES;
            }
            UNROLL for (int i = 0; i < rows; i++) {
                const V x = FN(splat)(a_three[i / 3][i % 3 * a_row]);
                UNROLL for (int j = 0; j < cols; j++) sum[i][j] = FN(fma)(x, row[j], sum[i][j]);
            }
            UNROLL for (int i = 0; i < rows; i += 3) a_three[i / 3] += a_col;
            b += b_row;
        }
    }

    UNROLL for (int i = 0; i < rows; i++)
        UNROLL for (int j = 0; j < cols; j++) {
            T *to = c + i * panel->c_row + j * LANES;
            if (partial && j == cols - 1) {
                V old = panel->accumulate ? PART(load)(to, n_last) : (V){0};
                PART(store)(to, old + sum[i][j], n_last);
            } else {
                FN(store)(to, panel->accumulate ? FN(load)(to) + sum[i][j] : sum[i][j]);
            }
        }
}

/* Computes all rows of a column panel of C, at most GEMM_COLS vectors wide. */
DF_INLINE void FN(all_rows)(const int cols, const bool partial, const gemm_panel *panel)
{
    const T *a = panel->a;
    T *c = panel->c;
    int64_t left = panel->rows;
    gemm_copy next = panel->next;
    gemm_fetch fetch = panel->fetch;
    gemm_panel rest;
    if (panel->copy) {
        FN(block)(GEMM_ROWS, cols, partial, true, panel, &next, &fetch, a, c);
        a += panel->a_block;
        c += GEMM_ROWS * panel->c_row;
        left -= GEMM_ROWS;
        rest = *panel;
        rest.b = panel->copy;
        rest.b_row = cols * LANES;
        panel = &rest;
    }
    for (; left >= GEMM_ROWS; left -= GEMM_ROWS) {
        FN(block)(GEMM_ROWS, cols, partial, false, panel, &next, &fetch, a, c);
        a += panel->a_block;
        c += GEMM_ROWS * panel->c_row;
    }
    if (GEMM_ROWS > 4 && left >= 4) {
        FN(block)(4, cols, partial, false, panel, &next, &fetch, a, c);
        left -= 4;
        a += 4 * panel->a_row;
        c += 4 * panel->c_row;
    }
    if (left >= 2) {
        FN(block)(2, cols, partial, false, panel, &next, &fetch, a, c);
        left -= 2;
        a += 2 * panel->a_row;
        c += 2 * panel->c_row;
    }
    if (left)
        FN(block)(1, cols, partial, false, panel, &next, &fetch, a, c);
    while (next.rows > 0) copy_some(cols, &next);
}

#undef PART

#if !defined(ONE_FORM)
static void FN(panel_whole)(const gemm_panel *panel)
{
    if (panel->cols == 1 * LANES)
        FN(all_rows)(1, false, panel);
    else if (panel->cols == 2 * LANES)
        FN(all_rows)(2, false, panel);
    else
        FN(all_rows)(GEMM_COLS, false, panel);
}
#endif

static void FN(panel_partial)(const gemm_panel *panel)
{
    if (panel->cols <= 1 * LANES)
        FN(all_rows)(1, true, panel);
    else if (panel->cols <= 2 * LANES)
        FN(all_rows)(2, true, panel);
    else
        FN(all_rows)(GEMM_COLS, true, panel);
}

static void FN(panel)(const gemm_panel *panel)
{
#if !defined(ONE_FORM)
    if (panel->cols % LANES == 0) {
        FN(panel_whole)(panel);
        return;
    }
#endif
    FN(panel_partial)(panel);
}

#if !defined(PANEL_ONLY)
typedef T FN(four) __attribute__((vector_size(4 * sizeof(T))));

/* to[p * width + i] = from[i * step + p] for a 4 x 4 block. */
DF_INLINE void FN(transpose_four)(T *to, int64_t width, const T *from, int64_t step)
{
    FN(four) r0, r1, r2, r3;
    memcpy(&r0, from, sizeof r0);
    memcpy(&r1, from + step, sizeof r0);
    memcpy(&r2, from + 2 * step, sizeof r0);
    memcpy(&r3, from + 3 * step, sizeof r0);
    const FN(four) low01 = DF_SHUFFLE(r0, r1, 0, 4, 1, 5);
    const FN(four) high01 = DF_SHUFFLE(r0, r1, 2, 6, 3, 7);
    const FN(four) low23 = DF_SHUFFLE(r2, r3, 0, 4, 1, 5);
    const FN(four) high23 = DF_SHUFFLE(r2, r3, 2, 6, 3, 7);
    r0 = DF_SHUFFLE(low01, low23, 0, 1, 4, 5);
    r1 = DF_SHUFFLE(low01, low23, 2, 3, 6, 7);
    r2 = DF_SHUFFLE(high01, high23, 0, 1, 4, 5);
    r3 = DF_SHUFFLE(high01, high23, 2, 3, 6, 7);
    memcpy(to, &r0, sizeof r0);
    memcpy(to + width, &r1, sizeof r0);
    memcpy(to + 2 * width, &r2, sizeof r0);
    memcpy(to + 3 * width, &r3, sizeof r0);
}

static void FN(pack_transposed)(T *to, int64_t width, const T *from, int64_t n, int64_t step,
                                int64_t depth)
{
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
        int64_t p = 0;
        for (; p + 4 <= depth; p += 4)
            FN(transpose_four)(to + p * width + i, width, from + i * step + p, step);
        for (; p < depth; p++)
            for (int64_t r = i; r < i + 4; r++) to[p * width + r] = from[r * step + p];
    }
    for (; i < n; i++)
        for (int64_t p = 0; p < depth; p++) to[p * width + i] = from[i * step + p];
}

/* See kernel.h. */
static void FN(pack)(void *packed, int64_t width, const void *source, int64_t n, int64_t step,
                     int64_t depth, int64_t depth_step)
{
    T *to = packed;
    const T *from = source;
    if (step != 1)
        FN(pack_transposed)(to, width, from, n, step, depth);
    else if (n == GEMM_ROWS && width == GEMM_ROWS)
        for (int64_t p = 0; p < depth; p++)
            memcpy(to + p * GEMM_ROWS, from + p * depth_step, GEMM_ROWS * sizeof(T));
    else
        for (int64_t p = 0; p < depth; p++)
            memcpy(to + p * width, from + p * depth_step, (size_t)n * sizeof(T));
    if (n < width)
        for (int64_t p = 0; p < depth; p++)
            memset(to + p * width + n, 0, (size_t)(width - n) * sizeof(T));
}
#endif
