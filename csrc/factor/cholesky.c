/* Cholesky factors, a block of columns at a time: a product with all columns before it
 * (left-looking), the factor of the diagonal block, and a triangular solve for the rows below. */
#include "factor/factor.h"
#include "base/thread.h"
#include "simd/lanes.h"

typedef struct {
    df_dtype dtype;
    int64_t n;
    char *to;
    const char *from;
} lower_copy;

#define TEMPLATE "factor/cholesky_formulas.h"
#define DTYPE f32
#include TEMPLATE
#undef DTYPE
#if DF_BUILT_F64
#define DTYPE f64
#include TEMPLATE
#undef DTYPE
#endif
#undef TEMPLATE

/* Sizes of the product that precedes the block of columns that begins at `begin`: all rows from
 * there on, times the rows of the block. */
static df_update update_of(int64_t n, int64_t begin)
{
    return (df_update){.transpose_b = true, .m = n - begin, .n = df_min(FACTOR_BLOCK, n - begin),
                       .k = begin, .lda = n, .ldb = n, .ldc = n};
}

int64_t DF_SYM(df_cholesky_workspace)(df_dtype dtype, int64_t n)
{
    int64_t most = 0;
    for (int64_t begin = FACTOR_BLOCK; begin < n; begin += FACTOR_BLOCK) {
        const df_update u = update_of(n, begin);
        most = df_max(most, DF_SYM(df_update_workspace)(dtype, &u));
    }
    return df_ceil_div(most, 64) * 64;
}

static void negate_lower_task(void *context, int64_t begin, int64_t end)
{
    const lower_copy *of = context;
    (of->dtype == DF_F32 ? negate_lower_f32 : DF_HAS(F64, negate_lower_f64))(of, begin, end);
}

int64_t DF_SYM(df_cholesky)(df_dtype dtype, int64_t n, void *to, const void *a, void *workspace)
{
    const int64_t bytes = df_dtypes[dtype].bytes;
    lower_copy copy = {dtype, n, to, a};
    _Alignas(64) char factor[FACTOR_BLOCK * FACTOR_BLOCK * sizeof(double)];
    df_parallel_for(n, df_max(1, 16384 / df_max(n, 1)), 0.2 * (double)n, negate_lower_task, &copy);
    for (int64_t begin = 0; begin < n; begin += FACTOR_BLOCK) {
        df_update u = update_of(n, begin);
        u.a = u.b = (char *)to + begin * n * bytes;
        u.c = (char *)to + begin * (n + 1) * bytes;
        if (begin > 0) DF_SYM(df_update_run)(dtype, &u, workspace);
        const int64_t bad = (dtype == DF_F32 ? cholesky_block_f32
                             : DF_HAS(F64, cholesky_block_f64))(u.c, n, u.n, factor);
        if (bad >= 0) return begin + bad;
        /* L21 L11^T = A21, or L11 L21^T = A21^T: the columns of L21^T are rows of memory. */
        const df_block_solve s = {.dtype = dtype, .rows = u.n, .k = u.m - u.n, .step = bytes,
                                  .column_step = n * bytes, .packed = factor,
                                  .b = u.c + u.n * n * bytes};
        DF_SYM(df_solve_block)(&s);
    }
    return -1;
}
