/* Matrix times vector. op(A) op(B) with one column is the same as op(B)' op(A)' with one row, so
 * either way there is a vector x, a result y and a stored matrix read along its rows. */
#include "simd/lanes.h"
#include "base/thread.h"
#include "gemm/gemv.h"

#define UNROLL _Pragma("GCC unroll 8")
#define DOT_ROWS 4 /* rows at a time: 8 sums in registers */
#define CHAINS 4   /* of dependent multiply-adds when rows are combined */
#define SLICE 512  /* elements of y combined at a time */
#define DEPTH 512  /* terms of an inner sum */
#define NS_PER_BYTE 0.02 /* reading the matrix from L2 or L3 on one core */

typedef struct {
    const void *matrix, *x;
    void *y;
    int64_t ld;       /* of the matrix */
    int64_t y_step, n; /* elements of y */
    int64_t depth;    /* elements of x */
    bool accumulate;
} gemv;

#define DTYPE f32
#include "gemm/gemv_formulas.h"
#undef DTYPE
#define DTYPE f64
#include "gemm/gemv_formulas.h"
#undef DTYPE
#define DTYPE i32
#include "gemm/gemv_formulas.h"
#undef DTYPE
#define DTYPE i64
#include "gemm/gemv_formulas.h"
#undef DTYPE

typedef struct {
    void (*dots)(const gemv *g, int64_t begin, int64_t end);    /* M is n x depth */
    void (*combine)(const gemv *g, int64_t begin, int64_t end); /* M is depth x n */
    void (*gather)(void *to, const void *from, int64_t n, int64_t step);
    int bytes;
} gemv_kernel;

static const gemv_kernel KERNELS[DF_N_DTYPES] = {
    [DF_F32] = {dots_f32, combine_f32, gather_f32, 4},
    [DF_F64] = {dots_f64, combine_f64, gather_f64, 8},
    [DF_I32] = {dots_i32, combine_i32, gather_i32, 4},
    [DF_I64] = {dots_i64, combine_i64, gather_i64, 8},
};

/* Distance between the elements of the vector. */
static int64_t vector_step(const df_gemm *g)
{
    if (g->m == 1)
        return g->transpose_a ? g->lda : 1;
    return g->transpose_b ? 1 : g->ldb;
}

int64_t DF_SYM(df_gemv_workspace)(const df_gemm *g)
{
    int64_t bytes = vector_step(g) == 1 || g->k == 1 ? 0 : g->k * KERNELS[g->dtype].bytes;
    return df_ceil_div(bytes, DF_ALIGNMENT) * DF_ALIGNMENT;
}

typedef struct {
    gemv g;
    void (*run)(const gemv *g, int64_t begin, int64_t end);
    const df_gemm *gemm;
    int64_t row; /* of the batch, where y starts */
} gemv_job;

static void gemv_task(void *context, int64_t begin, int64_t end)
{
    const gemv_job *job = context;
    const df_gemm *g = job->gemm;
    job->run(&job->g, begin, end);
    if (!g->epilogue)
        return;
    const int64_t n = end - begin;
    char *y = (char *)job->g.y + begin * job->g.y_step * KERNELS[g->dtype].bytes;
    if (g->m == 1)
        g->epilogue(g->context, job->row, 1, begin, n, y, g->ldc);
    else
        g->epilogue(g->context, job->row + begin, n, 0, 1, y, g->ldc);
}

void DF_SYM(df_gemv)(const df_gemm *g, int64_t row, void *workspace)
{
    const gemv_kernel *kernel = &KERNELS[g->dtype];
    const bool is_row = g->m == 1;
    /* rows of the stored matrix run along k */
    const bool by_dots = is_row ? g->transpose_b : !g->transpose_a;
    gemv_job job = {.run = by_dots ? kernel->dots : kernel->combine, .gemm = g, .row = row};
    job.g = (gemv){.matrix = is_row ? g->b : g->a, .x = is_row ? g->a : g->b, .y = g->c,
                   .ld = is_row ? g->ldb : g->lda, .y_step = is_row ? 1 : g->ldc,
                   .n = is_row ? g->n : g->m, .depth = g->k, .accumulate = g->accumulate};
    const int64_t step = vector_step(g);
    if (step != 1 && g->k != 1) {
        kernel->gather(workspace, job.g.x, g->k, step);
        job.g.x = workspace;
    }
    /* 16 KB of matrix or more per block of dots: enough work to be worth claiming */
    const int64_t grain = by_dots ? df_max(DOT_ROWS, 16384 / (g->k * kernel->bytes)) : SLICE;
    const double cost = (double)(g->k * kernel->bytes) * NS_PER_BYTE;
    df_parallel_for(job.g.n, by_dots ? grain / DOT_ROWS * DOT_ROWS : grain, cost, gemv_task, &job);
}
