/* Cholesky factors, a block of columns at a time: a product with all columns before it
 * (left-looking), the factor of the diagonal block, and a triangular solve for the rows below. */
#include "factor/complex_blocks.h"
#include "base/thread.h"
#include "simd/lanes.h"

typedef struct {
    df_dtype dtype;
    int64_t parts, n;
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
static df_update update_of(df_dtype dtype, int64_t n, int64_t begin)
{
    return (df_update){.transpose_b = true, .m = n - begin, .n = df_min(FACTOR_BLOCK, n - begin),
                       .k = begin, .lda = n, .ldb = df_is_complex(dtype) ? begin : n, .ldc = n};
}

/* Bytes of a conjugate of the rows of the block. */
static int64_t rows_bytes(df_dtype dtype, const df_update *u)
{
    return df_is_complex(dtype) ? df_ceil_div(u->n * u->k * df_dtypes[dtype].bytes, 64) * 64 : 0;
}

/* Adds the product with the adjoint of the rows of the block, the first rows of `a`. */
static void update_block(df_dtype dtype, df_update *u, char *workspace)
{
    const int64_t bytes = df_dtypes[dtype].bytes, row = u->k * bytes;
    if (df_is_complex(dtype)) {
        for (int64_t i = 0; i < u->n; i++)
            memcpy(workspace + i * row, u->a + i * u->lda * bytes, (size_t)row);
        DF_SYM(df_conjugate)(dtype, workspace, u->n * u->k);
        u->b = workspace;
    }
    DF_SYM(df_update_run)(dtype, u, workspace + rows_bytes(dtype, u));
}

int64_t DF_SYM(df_cholesky_workspace)(df_dtype dtype, int64_t n)
{
    int64_t most = 0;
    for (int64_t begin = FACTOR_BLOCK; begin < n; begin += FACTOR_BLOCK) {
        const df_update u = update_of(dtype, n, begin);
        most = df_max(most, DF_SYM(df_update_workspace)(dtype, &u) + rows_bytes(dtype, &u));
    }
    return df_ceil_div(most, 64) * 64;
}

static void negate_lower_task(void *context, int64_t begin, int64_t end)
{
    const lower_copy *of = context;
    (df_real_dtype(of->dtype) == DF_F32
         ? negate_lower_f32 : DF_HAS(F64, negate_lower_f64))(of, begin, end);
}

int64_t DF_SYM(df_cholesky)(df_dtype dtype, int64_t n, void *to, const void *a, void *workspace)
{
    const int64_t bytes = df_dtypes[dtype].bytes;
    lower_copy copy = {dtype, df_is_complex(dtype) ? 2 : 1, n, to, a};
    _Alignas(64) char factor[FACTOR_BLOCK_BYTES];
    df_parallel_for(n, df_max(1, 16384 / df_max(n, 1)), 0.2 * (double)n, negate_lower_task, &copy);
    for (int64_t begin = 0; begin < n; begin += FACTOR_BLOCK) {
        df_update u = update_of(dtype, n, begin);
        u.a = u.b = (char *)to + begin * n * bytes;
        u.c = (char *)to + begin * (n + 1) * bytes;
        if (begin > 0) update_block(dtype, &u, workspace);
        const int64_t bad = df_is_complex(dtype)
            ? DF_SYM(df_cholesky_complex_block)(dtype, u.c, n, u.n, factor)
            : (dtype == DF_F32 ? cholesky_block_f32
               : DF_HAS(F64, cholesky_block_f64))(u.c, n, u.n, factor);
        if (bad >= 0) return begin + bad;
        /* L21 L11^H = A21, or conj(L11) L21^T = A21^T: the columns of L21^T are rows of memory. */
        const df_block_solve s = {.dtype = dtype, .rows = u.n, .k = u.m - u.n, .step = bytes,
                                  .column_step = n * bytes, .packed = factor,
                                  .b = u.c + u.n * n * bytes};
        DF_SYM(df_solve_block)(&s);
    }
    return -1;
}
