/* Triangular systems: substitution within blocks of rows, and products for the rest. */
#include "factor/complex_blocks.h"
#include "base/thread.h"
#include "gemm/gemm.h"
#include "simd/lanes.h"

#define UNROLL _Pragma("GCC unroll 4")
#define NEGATE_ELEMENTS 16384 /* per task */
#define FEW_COLUMNS 4    /* up to this many are solved one by one */
#define COLUMN_BLOCK 256 /* rows of a block of these */

#define TEMPLATE "factor/triangle_formulas.h"
#define DTYPE f32
#include TEMPLATE
#undef DTYPE
#if DF_BUILT_F64
#define DTYPE f64
#include TEMPLATE
#undef DTYPE
#endif
#undef TEMPLATE

static int64_t parts_of(df_dtype dtype) { return df_is_complex(dtype) ? 2 : 1; }

/* --- negation --------------------------------------------------------------------------------- */

typedef struct {
    df_dtype dtype;
    void *to;
    const void *from;
} negation;

static void negate_task(void *context, int64_t begin, int64_t end)
{
    const negation *of = context;
    const int64_t parts = parts_of(of->dtype);
    (df_real_dtype(of->dtype) == DF_F32
         ? negate_f32 : DF_HAS(F64, negate_f64))(of->to, of->from, begin * parts, end * parts);
}

void DF_SYM(df_negate)(df_dtype dtype, void *to, const void *from, int64_t n)
{
    negation of = {dtype, to, from};
    df_parallel_for(n, NEGATE_ELEMENTS, 0.1, negate_task, &of);
}

void DF_SYM(df_conjugate)(df_dtype dtype, void *x, int64_t n)
{
    for (int64_t i = 0; i < n && DF_BUILT_C64 && dtype == DF_C64; i++)
        ((float *)x)[2 * i + 1] *= -1;
    for (int64_t i = 0; i < n && DF_BUILT_C128 && dtype == DF_C128; i++)
        ((double *)x)[2 * i + 1] *= -1;
}

int64_t DF_SYM(df_zero_on_diagonal)(df_dtype dtype, int64_t n, const void *a)
{
    return (df_real_dtype(dtype) == DF_F32
                ? find_zero_f32 : DF_HAS(F64, find_zero_f64))(n, a, parts_of(dtype));
}

/* --- products --------------------------------------------------------------------------------- */

static df_gemm product_of(df_dtype dtype, const df_update *u)
{
    return (df_gemm){.dtype = dtype, .transpose_a = u->transpose_a, .transpose_b = u->transpose_b,
                     .accumulate = true, .m = u->m, .n = u->n, .k = u->k, .a = u->a, .b = u->b,
                     .c = u->c, .lda = u->lda, .ldb = u->ldb, .ldc = u->ldc};
}

void DF_SYM(df_update_run)(df_dtype dtype, const df_update *u, void *workspace)
{
    const df_gemm g = product_of(dtype, u);
    DF_SYM(df_gemm)(&g, workspace);
}

int64_t DF_SYM(df_update_workspace)(df_dtype dtype, const df_update *u)
{
    const df_gemm g = product_of(dtype, u);
    return DF_SYM(df_gemm_workspace)(&g);
}

/* --- blocks ----------------------------------------------------------------------------------- */

static void strip_task(void *context, int64_t begin, int64_t end)
{
    const df_block_solve *s = context;
    if (df_is_complex(s->dtype)) DF_SYM(df_solve_complex_strips)(s, begin, end);
    else (s->dtype == DF_F32 ? solve_strips_f32 : DF_HAS(F64, solve_strips_f64))(s, begin, end);
}

void DF_SYM(df_solve_block)(const df_block_solve *s)
{
    const int64_t bytes = df_dtypes[s->dtype].bytes, parts = parts_of(s->dtype);
    const int64_t width = (parts == 2 ? 2 : STRIP_VECTORS) * DF_VEC_BYTES / bytes;
    const double macs = (double)(parts * s->rows) * (double)(s->rows / 2 + 4) * (double)width;
    df_parallel_for(df_ceil_div(s->k, width), 1, 0.5 * macs * (double)bytes / DF_VEC_BYTES,
                    strip_task, (void *)s);
}

/* The solve proceeds down if op(A) is lower triangular, otherwise up. */
static bool goes_down(const df_triangle *t) { return t->lower != t->transpose; }

static bool few_columns(const df_triangle *t, int64_t k)
{
    return k <= FEW_COLUMNS && !df_is_complex(t->dtype);
}

/* Rows that are solved without products. */
static int64_t block_of(const df_triangle *t, int64_t k)
{
    return few_columns(t, k) ? COLUMN_BLOCK : FACTOR_BLOCK;
}

/* The end of the first half of rows [begin, end): whole blocks. */
static int64_t middle_of(int64_t begin, int64_t end, int64_t block)
{
    return begin + df_ceil_div(end - begin, 2 * block) * block;
}

/* Sizes of the product that adds the solved half of rows [begin, end) to the other half. */
static df_update update_of(const df_triangle *t, int64_t begin, int64_t middle, int64_t end,
                           int64_t k, int64_t ld)
{
    const int64_t low = middle - begin, high = end - middle;
    const bool down = goes_down(t);
    return (df_update){.transpose_a = t->transpose, .m = down ? high : low, .n = k,
                       .k = down ? low : high, .lda = t->ld, .ldb = ld, .ldc = ld};
}

static int64_t rows_workspace(const df_triangle *t, int64_t begin, int64_t end, int64_t k,
                              bool lower_result)
{
    if (end - begin <= block_of(t, k)) return 0;
    const int64_t middle = middle_of(begin, end, block_of(t, k));
    const df_update u = update_of(t, begin, middle, end, lower_result ? middle : k, k);
    const int64_t most = df_max(rows_workspace(t, begin, middle, k, lower_result),
                                rows_workspace(t, middle, end, k, lower_result));
    return df_max(most, DF_SYM(df_update_workspace)(t->dtype, &u));
}

int64_t DF_SYM(df_triangle_workspace)(const df_triangle *t, int64_t k, bool lower_result)
{
    const int64_t bytes = k > 0 ? rows_workspace(t, 0, t->n, k, lower_result) : 0;
    return df_ceil_div(bytes, 64) * 64;
}

typedef struct {
    const df_triangle *t;
    int64_t k, ld;
    char *b;
    bool lower_result;
    void *workspace;
} solve;

static void solve_one_block(const solve *s, int64_t begin, int64_t end)
{
    const df_triangle *t = s->t;
    const bool down = goes_down(t);
    const int64_t bytes = df_dtypes[t->dtype].bytes, step = s->ld * bytes;
    const bool few = few_columns(t, s->k), is_f32 = df_real_dtype(t->dtype) == DF_F32;
    for (int64_t j = 0; j < s->k && few; j++)
        (is_f32 ? solve_column_f32
                : DF_HAS(F64, solve_column_f64))(t, begin, end, s->b + j * bytes, step);
    if (few) return;
    _Alignas(64) char packed[FACTOR_BLOCK_BYTES];
    const int64_t parts = parts_of(t->dtype);
    for (int64_t offset = 0; offset < parts; offset++)
        (is_f32 ? pack_triangle_f32
                : DF_HAS(F64, pack_triangle_f64))(t, begin, end, down, parts, offset, packed);
    const df_block_solve block = {.dtype = t->dtype, .rows = end - begin,
                                  .k = s->lower_result ? end : s->k, .packed = packed,
                                  .step = down ? step : -step,
                                  .column_step = bytes,
                                  .b = s->b + (down ? begin : end - 1) * step};
    DF_SYM(df_solve_block)(&block);
}

/* Rows [begin, end) of the solution, recursively: one half, a product, and the other half. */
static void solve_rows(const solve *s, int64_t begin, int64_t end)
{
    if (end - begin <= block_of(s->t, s->k)) {
        solve_one_block(s, begin, end);
        return;
    }
    const df_triangle *t = s->t;
    const int64_t middle = middle_of(begin, end, block_of(t, s->k));
    const int64_t bytes = df_dtypes[t->dtype].bytes;
    const int64_t solved = goes_down(t) ? begin : middle, other = goes_down(t) ? middle : begin;
    const int64_t row = t->transpose ? solved : other, column = t->transpose ? other : solved;
    df_update u = update_of(t, begin, middle, end, s->lower_result ? middle : s->k, s->ld);
    u.a = (const char *)t->a + (row * t->ld + column) * bytes;
    u.b = s->b + solved * s->ld * bytes;
    u.c = s->b + other * s->ld * bytes;
    if (goes_down(t)) solve_rows(s, begin, middle);
    else solve_rows(s, middle, end);
    DF_SYM(df_update_run)(t->dtype, &u, s->workspace);
    if (goes_down(t)) solve_rows(s, middle, end);
    else solve_rows(s, begin, middle);
}

void DF_SYM(df_triangle_solve)(const df_triangle *t, int64_t k, void *b, int64_t ld,
                               bool lower_result, void *workspace)
{
    const solve s = {t, k, ld, b, lower_result, workspace};
    if (t->n > 0 && k > 0) solve_rows(&s, 0, t->n);
}
