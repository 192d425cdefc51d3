/* Part of reduce.c, included once per signed integer dtype: max(x ^ flip) ^ flip. */

#if DTYPE_SIGNED

DF_INLINE V FN(flipped)(V x, V flip) { return x ^ flip; }

DF_NOINLINE void FN(extreme_rows)(T *out, const T *x, int64_t rows, int64_t n, T flip)
{
    FN(reduce_rows_with)(out, x, NULL, FN(splat)(flip), rows, n, FN(lowest)(), FN(flipped),
                         FN(max));
    for (int64_t i = 0; i < rows; i++) out[i] ^= flip;
}

DF_NOINLINE void FN(extreme_columns)(T *out, const T *x, int64_t rows, int64_t cols,
                                     int64_t stride, T flip)
{
    FN(reduce_columns_with)(out, x, NULL, FN(splat)(flip), rows, cols, stride, FN(lowest)(),
                            FN(flipped), FN(max));
    for (int64_t c = 0; c < cols; c++) out[c] ^= flip;
}

#endif
