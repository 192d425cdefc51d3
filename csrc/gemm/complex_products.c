/* Packers of complex matrices, and products of a complex matrix with a vector, see
 * complex_products.h. */
#include "simd/lanes.h"
#include "base/thread.h"
#include "gemm/complex_products.h"
#include "gemm/gemv.h"
#include "gemm/kernel.h"

#define AHEAD 8         /* rows of B between the prefetch and the packing */
#define CHUNK 256       /* elements of y that are sums of rows */
#define DOT_BYTES 16384 /* of the matrix per chunk of dot products */
#define LEAST_DOTS 4
#define NS_PER_BYTE 0.03

#define CN(name) DF_CAT(name, DF_COMPLEX_NAME)
#if DF_PRODUCT_C64
#define DTYPE f32
#define DF_COMPLEX_NAME c64
#include "gemm/complex_products_formulas.h"
#undef DF_COMPLEX_NAME
#undef DTYPE
#endif
#if DF_PRODUCT_C128
#define DTYPE f64
#define DF_COMPLEX_NAME c128
#include "gemm/complex_products_formulas.h"
#undef DF_COMPLEX_NAME
#undef DTYPE
#endif

void DF_SYM(df_gemm_of_parts)(const df_gemm *g, df_gemm *parts)
{
    *parts = *g;
    parts->n *= 2;
    parts->k *= 2;
    parts->ldc *= 2;
    if (!g->transpose_a) parts->lda *= 2;
}

typedef struct {
    void (*separate)(bool by_dots, int64_t k, int64_t step, const void *x, void *parts);
    void (*join)(bool add, int64_t n, const void *by_re, const void *by_im, void *y, int64_t step);
} of_dtype;

static const of_dtype OF_DTYPE[DF_N_DTYPES] = {
    OF_PRODUCTS(C64, {separate_vector_c64, join_sums_c64}),
    OF_PRODUCTS(C128, {separate_vector_c128, join_sums_c128}),
};

/* y = M x. The rows of M run along k (by_dots), or it is stored transposed. */
typedef struct {
    const df_gemm *g;
    const char *matrix, *x; /* x: two vectors of 2 k real numbers */
    int64_t bytes, ld;      /* of an element, of the matrix */
    int64_t row, y_step;    /* row: of the batch */
    bool is_row, by_dots;
} vector_job;

int64_t DF_SYM(df_gemv_complex_workspace)(const df_gemm *g)
{
    return df_ceil_div(2 * g->k * df_dtypes[g->dtype].bytes, DF_ALIGNMENT) * DF_ALIGNMENT;
}

/* The matrix is in cache when it is read a second time. */
static void vector_task(void *context, int64_t begin, int64_t end)
{
    const vector_job *job = context;
    const df_gemm *g = job->g;
    const int64_t n = end - begin;
    char *y = (char *)g->c + begin * job->y_step * job->bytes;
    double sums[2][2 * CHUNK] __attribute__((aligned(DF_ALIGNMENT)));
    df_gemm part = {.dtype = df_real_dtype(g->dtype), .transpose_a = !job->by_dots, .n = 1,
                    .lda = 2 * job->ld, .ldb = 1, .accumulate = job->by_dots && g->accumulate};
    part.m = job->by_dots ? n : 2 * n;
    part.k = job->by_dots ? 2 * g->k : g->k;
    part.a = job->matrix + begin * (job->by_dots ? job->ld : 1) * job->bytes;
    part.ldc = job->by_dots ? 2 * job->y_step : 1;
    for (int i = 0; i < 2; i++) {
        part.b = job->x + i * g->k * job->bytes;
        part.c = job->by_dots ? y + i * job->bytes / 2 : (char *)sums[i];
        DF_SYM(df_gemv)(&part, 0, NULL);
    }
    if (!job->by_dots)
        OF_DTYPE[g->dtype].join(g->accumulate, n, sums[0], sums[1], y, job->y_step);
    if (!g->epilogue)
        return;
    if (job->is_row)
        g->epilogue(g->context, job->row, 1, begin, n, y, g->ldc);
    else
        g->epilogue(g->context, job->row + begin, n, 0, 1, y, g->ldc);
}

void DF_SYM(df_gemv_complex)(const df_gemm *g, int64_t row, void *workspace)
{
    const bool is_row = g->m == 1;
    vector_job job = {.g = g, .row = row, .is_row = is_row, .matrix = is_row ? g->b : g->a,
                      .x = workspace, .ld = is_row ? g->ldb : g->lda,
                      .bytes = df_dtypes[g->dtype].bytes, .y_step = is_row ? 1 : g->ldc,
                      .by_dots = is_row ? g->transpose_b : !g->transpose_a};
    const int64_t step = is_row ? (g->transpose_a ? g->lda : 1) : g->transpose_b ? 1 : g->ldb;
    OF_DTYPE[g->dtype].separate(job.by_dots, g->k, step, is_row ? g->a : g->b, workspace);
    const int64_t bytes = g->k * job.bytes;
    const int64_t dots = df_max(LEAST_DOTS, DOT_BYTES / bytes / LEAST_DOTS * LEAST_DOTS);
    df_parallel_for(is_row ? g->n : g->m, job.by_dots ? dots : CHUNK,
                    (double)bytes * NS_PER_BYTE, vector_task, &job);
}
