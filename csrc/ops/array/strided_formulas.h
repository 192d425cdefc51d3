/* Part of strided.c, included once per element size with DTYPE an unsigned integer of that size:
 * rows of strided elements, and matrices transposed by tiles in registers. */

/* Copies n elements, from_step bytes apart, to consecutive memory. A constant step of two elements
 * lets the compiler load vectors. */
static void FN(gather_row)(char *restrict to, const char *restrict from, int64_t n,
                           int64_t from_step)
{
    T *restrict out = (T *)to;
    if (from_step == 0) {
        const T x = *(const T *)from;
        for (int64_t i = 0; i < n; i++) out[i] = x;
    } else if (from_step == -(int64_t)sizeof(T)) {
        const T *last = (const T *)from;
        for (int64_t i = 0; i < n; i++) out[i] = last[-i];
    } else if (from_step == 2 * sizeof(T)) {
        const T *restrict in = (const T *)from;
        for (int64_t i = 0; i < n; i++) out[i] = in[2 * i];
    } else {
        for (int64_t i = 0; i < n; i++) out[i] = *(const T *)(from + i * from_step);
    }
}

/* Same, to elements to_step bytes apart. */
static void FN(move_row)(char *to, const char *from, int64_t n, int64_t from_step, int64_t to_step)
{
    if (to_step == sizeof(T)) {
        FN(gather_row)(to, from, n, from_step);
        return;
    }
    for (int64_t i = 0; i < n; i++) *(T *)(to + i * to_step) = *(const T *)(from + i * from_step);
}

#ifdef TILE
/* Transposes a tile of TILE rows of TILE elements. A pass interleaves row i with row i + TILE / 2;
 * after log2(TILE) passes every element is in its final position (a repeated perfect shuffle). */
static inline void FN(transpose_tile)(char *to, int64_t to_step, const char *from,
                                      int64_t from_step, bool stream)
{
    typedef T tile __attribute__((vector_size(TILE * sizeof(T))));
    tile a[TILE], b[TILE];
    for (int i = 0; i < TILE; i++) memcpy(&a[i], from + i * from_step, sizeof(tile));
#pragma GCC unroll 8
    for (int half = TILE / 2; half > 0; half /= 2) {
#pragma GCC unroll 16
        for (int i = 0; i < TILE / 2; i++) {
            b[2 * i] = DF_SHUFFLE(a[i], a[i + TILE / 2], LOW);
            b[2 * i + 1] = DF_SHUFFLE(a[i], a[i + TILE / 2], HIGH);
        }
#pragma GCC unroll 16
        for (int i = 0; i < TILE; i++) a[i] = b[i];
    }
#if TILE_BYTES == DF_VEC_BYTES
    if (stream) {
        for (int i = 0; i < TILE; i++) store_past_caches(to + i * to_step, (v_i64)a[i]);
        return;
    }
#else
    (void)stream;
#endif
    for (int i = 0; i < TILE; i++) memcpy(to + i * to_step, &a[i], sizeof(tile));
}
#endif

/* Transposes columns of a matrix by plain loops: the part that does not fill tiles. */
static void FN(transpose_rest)(char *to, int64_t to_step, const char *from, int64_t from_step,
                               int64_t rows, int64_t cols)
{
    for (int64_t c = 0; c < cols; c++)
        FN(gather_row)(to + c * to_step, from + c * (int64_t)sizeof(T), rows, from_step);
}

/* Interleaves few rows: all elements of a column are adjacent in `to`, column after column. */
DF_INLINE void FN(interleave)(T *restrict to, const char *restrict from, int64_t from_step,
                              const int rows, int64_t cols)
{
    for (int64_t c = 0; c < cols; c++)
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++)
            to[c * rows + r] = *(const T *)(from + r * from_step + c * (int64_t)sizeof(T));
}

/* The reverse, for few columns. */
DF_INLINE void FN(separate)(char *restrict to, int64_t to_step, const T *restrict from,
                            int64_t rows, const int cols)
{
    for (int64_t r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int c = 0; c < cols; c++)
            *(T *)(to + c * to_step + r * (int64_t)sizeof(T)) = from[r * cols + c];
}

/* Transposes a matrix of two to four rows or columns that are adjacent; returns false for other
 * matrices. */
static bool FN(transpose_few)(char *to, int64_t to_step, const char *from, int64_t from_step,
                              int64_t rows, int64_t cols)
{
    const int64_t size = sizeof(T);
    const bool pairs = to_step == rows * size, apart = from_step == cols * size;
    if (pairs && rows == 2) FN(interleave)((T *)to, from, from_step, 2, cols);
    else if (pairs && rows == 3) FN(interleave)((T *)to, from, from_step, 3, cols);
    else if (pairs && rows == 4) FN(interleave)((T *)to, from, from_step, 4, cols);
    else if (apart && cols == 2) FN(separate)(to, to_step, (const T *)from, rows, 2);
    else if (apart && cols == 3) FN(separate)(to, to_step, (const T *)from, rows, 3);
    else if (apart && cols == 4) FN(separate)(to, to_step, (const T *)from, rows, 4);
    else return false;
    return true;
}

#ifdef TILE
/* Transposes a matrix whose element (r, c) is read at from + r * from_step + c * sizeof(T) and
 * written at to + c * to_step + r * sizeof(T). Tiles are processed in squares of whole cache lines,
 * so that a line is read, and written, once even if rows are a multiple of a page apart. */
static void FN(transpose_matrix)(char *to, int64_t to_step, const char *from, int64_t from_step,
                                 int64_t rows, int64_t cols, bool stream)
{
    enum { SIZE = sizeof(T), EDGE = 64 / sizeof(T) };
    if (FN(transpose_few)(to, to_step, from, from_step, rows, cols)) return;
    const int64_t tile_rows = rows / TILE * TILE, tile_cols = cols / TILE * TILE;
    stream = stream && ((uintptr_t)to | (uintptr_t)to_step) % DF_VEC_BYTES == 0;
    for (int64_t r0 = 0; r0 < tile_rows; r0 += EDGE)
        for (int64_t c0 = 0; c0 < tile_cols; c0 += EDGE)
            for (int64_t c = c0; c < df_min(c0 + EDGE, tile_cols); c += TILE)
                for (int64_t r = r0; r < df_min(r0 + EDGE, tile_rows); r += TILE)
                    FN(transpose_tile)(to + c * to_step + r * SIZE, to_step,
                                       from + r * from_step + c * SIZE, from_step, stream);
    FN(transpose_rest)(to + tile_cols * to_step, to_step, from + tile_cols * SIZE, from_step,
                       tile_rows, cols - tile_cols);
    FN(transpose_rest)(to + tile_rows * SIZE, to_step, from + tile_rows * from_step, from_step,
                       rows - tile_rows, cols);
}
#else
static void FN(transpose_matrix)(char *to, int64_t to_step, const char *from, int64_t from_step,
                                 int64_t rows, int64_t cols, bool stream)
{
    enum { EDGE = 8 }; /* elements: two cache lines */
    (void)stream;
    if (FN(transpose_few)(to, to_step, from, from_step, rows, cols)) return;
    for (int64_t r = 0; r < rows; r += EDGE)
        FN(transpose_rest)(to + r * (int64_t)sizeof(T), to_step, from + r * from_step, from_step,
                           df_min(EDGE, rows - r), cols);
}
#endif
