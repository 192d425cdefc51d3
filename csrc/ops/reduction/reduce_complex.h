/* Sums of complex numbers, part by part, and products, by the tile function of multiply. Included
 * in reduce.c. */
#include "ops/elementwise/complex.h"

#define COMPLEX_AT_ONCE 64 /* of a row */

typedef void (*multiply_fn)(int64_t n, void *out, const void *const *in, const df_attr *attrs);

/* out *= x, for n numbers. */
DF_NOINLINE void multiply_by(multiply_fn multiply, char *out, const char *x, int64_t n)
{
    const void *in[2] = {out, x};
    multiply(n, out, in, NULL);
}

DF_NOINLINE void complex_prod_columns(multiply_fn multiply, int64_t bytes, char *out, const char *x,
                                      int64_t rows, int64_t cols, int64_t stride)
{
    memcpy(out, x, (size_t)(cols * bytes));
    for (int64_t r = 1; r < rows; r++) multiply_by(multiply, out, x + r * stride * bytes, cols);
}

DF_NOINLINE void complex_prod_rows(multiply_fn multiply, int64_t bytes, char *out, const char *x,
                                   int64_t rows, int64_t n)
{
    char product[COMPLEX_AT_ONCE * DF_MAX_BYTES] __attribute__((aligned(DF_ALIGNMENT)));
    const int64_t whole = n / COMPLEX_AT_ONCE;
    for (int64_t r = 0; r < rows; r++, x += n * bytes) {
        int64_t m = df_min(n, COMPLEX_AT_ONCE);
        complex_prod_columns(multiply, bytes, product, x, whole, m, COMPLEX_AT_ONCE);
        if (whole)
            multiply_by(multiply, product, x + whole * m * bytes, n - whole * m);
        for (; m > 1; m -= m / 2)
            multiply_by(multiply, product, product + (m - m / 2) * bytes, m / 2);
        memcpy(out + r * bytes, product, (size_t)bytes);
    }
}

/* The products of no numbers. */
DF_NOINLINE void fill_ones(df_dtype dtype, void *out, int64_t n)
{
    for (int64_t i = 0; i < 2 * n; i++) {
        if (dtype == DF_C64) ((float *)out)[i] = i % 2 == 0;
        else ((double *)out)[i] = i % 2 == 0;
    }
}

#define COMPLEX_PROD(complex, dtype, bytes)                                                      \
    static void prod_rows_##complex(void *out, const void *x, const void *p, int64_t rows,       \
                                    int64_t n)                                                   \
    {                                                                                            \
        (void)p;                                                                                 \
        if (n) complex_prod_rows(DF_SYM(df_multiply_##complex), bytes, out, x, rows, n);         \
        else fill_ones(dtype, out, rows);                                                        \
    }                                                                                            \
    static void prod_columns_##complex(void *out, const void *x, const void *p, int64_t rows,    \
                                       int64_t cols, int64_t stride)                             \
    {                                                                                            \
        (void)p;                                                                                 \
        if (!rows) fill_ones(dtype, out, cols);                                                  \
        else                                                                                     \
            complex_prod_columns(DF_SYM(df_multiply_##complex), bytes, out, x, rows, cols,       \
                                 stride);                                                        \
    }
DF_WHERE(C64, COMPLEX_PROD(c64, DF_C64, 8))
DF_WHERE(C128, COMPLEX_PROD(c128, DF_C128, 16))
#define COMPLEX_REDUCERS(name)                                                                   \
    DF_OF_ALL(C64, REDUCER_OF(name, c64)), DF_OF_ALL(C128, REDUCER_OF(name, c128))

/* Reduces two columns, the parts of complex numbers: several numbers side by side as columns, which
 * fill vectors; then these columns and the numbers that remain. */
#define WIDE_PAIRS 16
static void reduce_pairs(const reducer *r, void *out, const char *x, int64_t rows, int bytes)
{
    char columns[2 * WIDE_PAIRS * sizeof(double)] __attribute__((aligned(DF_ALIGNMENT)));
    char results[4 * sizeof(double)] __attribute__((aligned(DF_ALIGNMENT)));
    const int64_t whole = rows / WIDE_PAIRS, rest = rows % WIDE_PAIRS;
    if (whole == 0) {
        r->columns(out, x, NULL, rows, 2, 2);
        return;
    }
    r->columns(columns, x, NULL, whole, 2 * WIDE_PAIRS, 2 * WIDE_PAIRS);
    r->columns(results, columns, NULL, WIDE_PAIRS, 2, 2);
    r->columns(results + 2 * bytes, x + whole * WIDE_PAIRS * 2 * bytes, NULL, rest, 2, 2);
    r->columns(out, results, NULL, 2, 2, 2);
}
