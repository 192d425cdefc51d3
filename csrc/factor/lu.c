/* LU factors with partial pivoting, recursively: the left half of the columns, a triangular solve
 * and a product for the right half, and the right half (S. Toledo, "Locality of reference in LU
 * decomposition with partial pivoting", 1997). Panels of few columns are factored in a transposed
 * copy, whose columns are contiguous. */
#include "factor/complex_blocks.h"
#include "simd/lanes.h"

enum { PANEL = 16, UNROLLED = 4 }; /* columns of a panel; vectors of a column at a time */
#define UNROLL _Pragma("GCC unroll 4")

/* A factorisation in progress. */
typedef struct {
    df_dtype dtype;
    int64_t m, n, bytes;
    char *a;
    int32_t *rows;
    int64_t swaps[PANEL]; /* of the panel: row j was exchanged with row swaps[j] */
    int sign;
    char *panel;     /* columns of `height` elements */
    int64_t height;
    char *workspace; /* of products */
} factoring;

static char *element(const factoring *f, int64_t row, int64_t column)
{
    return f->a + (row * f->n + column) * f->bytes;
}

#define TEMPLATE "factor/lu_formulas.h"
#define DTYPE f32
#include TEMPLATE
#undef DTYPE
#if DF_BUILT_F64
#define DTYPE f64
#include TEMPLATE
#undef DTYPE
#endif
#undef TEMPLATE

static int64_t part_bytes(df_dtype dtype) { return df_dtypes[df_real_dtype(dtype)].bytes; }

/* Elements of a column of a panel, or their real parts: an odd number of cache lines, so that no
 * power of two separates the elements of a row. */
static int64_t height_of(int64_t m, int64_t bytes)
{
    return (df_ceil_div(m * bytes, 64) | 1) * 64 / bytes;
}

static void swap_bytes(char *x, char *y, int64_t n)
{
    char held[1024];
    for (int64_t i = 0; i < n; i += (int64_t)sizeof held) {
        const size_t some = (size_t)df_min((int64_t)sizeof held, n - i);
        memcpy(held, x + i, some);
        memcpy(x + i, y + i, some);
        memcpy(y + i, held, some);
    }
}

/* Applies the exchanges of a panel, whose columns are [begin, end), to the other columns. */
static void swap_rows(factoring *f, int64_t begin, int64_t end)
{
    for (int64_t j = begin; j < end; j++) {
        const int64_t other = f->swaps[j - begin];
        if (other == j) continue;
        swap_bytes(element(f, j, 0), element(f, other, 0), begin * f->bytes);
        swap_bytes(element(f, j, end), element(f, other, end), (f->n - end) * f->bytes);
        const int32_t row = f->rows[j];
        f->rows[j] = f->rows[other];
        f->rows[other] = row;
        f->sign = -f->sign;
    }
}

/* Sizes of the solve of columns [middle, end) with the triangle of columns [begin, middle), and of
 * the product that follows it. */
static df_triangle triangle_of(const factoring *f, int64_t begin, int64_t middle)
{
    return (df_triangle){.dtype = f->dtype, .lower = true, .unit = true, .n = middle - begin,
                         .ld = f->n};
}
static df_update update_of(const factoring *f, int64_t begin, int64_t middle, int64_t end)
{
    return (df_update){.m = f->m - middle, .n = end - middle, .k = middle - begin, .lda = f->n,
                       .ldb = f->n, .ldc = f->n};
}

/* The first half of columns [begin, end): a multiple of PANEL. */
static int64_t middle_of(int64_t begin, int64_t end)
{
    return begin + df_ceil_div(end - begin, 2 * PANEL) * PANEL;
}

static void solve_right(factoring *f, int64_t begin, int64_t middle, int64_t end)
{
    char *right = element(f, begin, middle);
    df_triangle t = triangle_of(f, begin, middle);
    t.a = element(f, begin, begin);
    DF_SYM(df_triangle_solve)(&t, end - middle, right, f->n, false, f->workspace);
    df_update u = update_of(f, begin, middle, end);
    u.a = element(f, middle, begin);
    u.b = right;
    u.c = element(f, middle, middle);
    if (u.m > 0) DF_SYM(df_update_run)(f->dtype, &u, f->workspace);
}

static void factor_complex_panel(factoring *f, int64_t begin, int64_t end)
{
    const df_panel p = {.dtype = f->dtype, .rows = f->m - begin, .width = end - begin, .ld = f->n,
                        .height = f->height, .a = element(f, begin, begin), .panel = f->panel,
                        .swaps = f->swaps};
    DF_SYM(df_lu_complex_panel)(&p);
    for (int64_t j = 0; j < p.width; j++) f->swaps[j] += begin;
}

/* Factors columns [begin, end), at most m, from row `begin` on. The depth of the recursion is the
 * logarithm of the number of columns. */
static void factor_columns(factoring *f, int64_t begin, int64_t end)
{
    if (end - begin <= PANEL) {
        if (df_is_complex(f->dtype)) factor_complex_panel(f, begin, end);
        else (f->dtype == DF_F32 ? factor_panel_f32 : DF_HAS(F64, factor_panel_f64))(f, begin, end);
        swap_rows(f, begin, end);
        return;
    }
    const int64_t middle = middle_of(begin, end);
    factor_columns(f, begin, middle);
    solve_right(f, begin, middle, end);
    factor_columns(f, middle, end);
}

int DF_SYM(df_lu)(df_dtype dtype, int64_t m, int64_t n, void *a, int32_t *rows, void *workspace)
{
    const int64_t bytes = df_dtypes[dtype].bytes, height = height_of(m, part_bytes(dtype));
    factoring f = {.dtype = dtype, .m = m, .n = n, .bytes = bytes, .a = a, .rows = rows, .sign = 1,
                   .panel = workspace, .height = height,
                   .workspace = (char *)workspace + PANEL * height * bytes};
    for (int64_t i = 0; i < m; i++) rows[i] = (int32_t)i;
    const int64_t square = df_min(m, n);
    if (square > 0) factor_columns(&f, 0, square);
    if (square > 0 && n > m) solve_right(&f, 0, m, n);
    return f.sign;
}

/* The most that the products of factor_columns need. */
static int64_t products_workspace(const factoring *f, int64_t begin, int64_t end)
{
    if (end - begin <= PANEL) return 0;
    const int64_t middle = middle_of(begin, end);
    const df_triangle t = triangle_of(f, begin, middle);
    const df_update u = update_of(f, begin, middle, end);
    int64_t most = df_max(products_workspace(f, begin, middle), products_workspace(f, middle, end));
    most = df_max(most, DF_SYM(df_triangle_workspace)(&t, end - middle, false));
    return u.m > 0 ? df_max(most, DF_SYM(df_update_workspace)(f->dtype, &u)) : most;
}

int64_t DF_SYM(df_lu_workspace)(df_dtype dtype, int64_t m, int64_t n)
{
    const int64_t bytes = df_dtypes[dtype].bytes, square = df_min(m, n);
    const factoring f = {.dtype = dtype, .m = m, .n = n, .bytes = bytes};
    int64_t most = products_workspace(&f, 0, square);
    if (n > m) {
        const df_triangle t = triangle_of(&f, 0, m);
        most = df_max(most, DF_SYM(df_triangle_workspace)(&t, n - m, false));
    }
    return df_ceil_div(PANEL * height_of(m, part_bytes(dtype)) * bytes + most, 64) * 64;
}
