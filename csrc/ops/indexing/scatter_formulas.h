/* Loops of scatter.c for one dtype: rows of updates are combined with the rows of a table that
 * their indices select, in the order of the indices. */
DF_INLINE T FN(plus)(T a, T b) { return a + b; }
DF_INLINE T FN(minus)(T a, T b) { return a - b; }
DF_INLINE T FN(times)(T a, T b) { return a * b; }
DF_INLINE T FN(other)(T a, T b) { (void)a; return b; }
#if DTYPE_FLOAT
DF_INLINE bool FN(is_nan)(T x) { return x != x; }
#else
DF_INLINE bool FN(is_nan)(T x) { (void)x; return false; }
#endif
DF_INLINE T FN(least)(T a, T b) { return ((b < a) | FN(is_nan)(b)) ? b : a; } /* NaN stays NaN */
DF_INLINE T FN(greatest)(T a, T b) { return ((b > a) | FN(is_nan)(b)) ? b : a; }

DF_INLINE void FN(combine)(const scatter_part *p, T (*f)(T, T))
{
    const int64_t n_rows = p->end_row - p->begin_row, width = p->end_col - p->begin_col;
    T *table = (T *)p->table + p->begin_col;
    const T *updates = (const T *)p->updates + p->begin_col;
    if (p->inner == 1) {
        for (int64_t j = 0; j < p->n; j++) {
            const int64_t r = p->rows[j];
            if ((uint64_t)(r - p->begin_row) < (uint64_t)n_rows) table[r] = f(table[r], updates[j]);
        }
        return;
    }
    for (int64_t j = 0; j < p->n; j++) {
        const int64_t r = p->rows[j];
        if ((uint64_t)(r - p->begin_row) >= (uint64_t)n_rows) continue;
        T *to = table + r * p->inner;
        const T *from = updates + j * p->inner;
        for (int64_t i = 0; i < width; i++) to[i] = f(to[i], from[i]);
    }
}

#if DTYPE_SIGNED
static void FN(scatter_add)(const scatter_part *p) { FN(combine)(p, FN(plus)); }
static void FN(scatter_sub)(const scatter_part *p) { FN(combine)(p, FN(minus)); }
static void FN(scatter_mul)(const scatter_part *p) { FN(combine)(p, FN(times)); }
static void FN(scatter_update)(const scatter_part *p) { FN(combine)(p, FN(other)); }
#endif
static void FN(scatter_min)(const scatter_part *p) { FN(combine)(p, FN(least)); }
static void FN(scatter_max)(const scatter_part *p) { FN(combine)(p, FN(greatest)); }
