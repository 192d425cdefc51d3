/* Matrix times vector: a product with one row or one column; gemm.c calls it. A product with one
 * column is the transpose of a product with one row, so both cases have a vector x, a result y and
 * a stored matrix M, which is read along its rows. */
#include "simd/lanes_half.h"
#include "base/thread.h"
#include "gemm/gemv.h"
#include "gemm/kernel.h"

#define UNROLL _Pragma("GCC unroll 8")
#define DOT_ROWS 4 /* rows at a time, each with two vectors of sums: 8 registers */
#define CHAINS 4   /* dependent chains of multiply-adds when rows are combined */
#define SLICE 512  /* elements of y per block when rows are combined */
#define DEPTH 512  /* terms of an inner sum */
#define SHORT_DEPTH 16 /* terms; shorter rows are added up term by term */
#define NS_PER_BYTE 0.02 /* cost of reading the matrix from L2 or L3 on one core */

typedef struct {
    const void *matrix, *x;
    void *y;
    int64_t ld;       /* of the matrix */
    int64_t y_step, n; /* elements of y */
    int64_t depth;    /* elements of x */
    bool accumulate;
} gemv;

/* The matrix has the dtype of the vectors. */
#define STORED T
#define STORED_AS_T 1
#if defined(DF_HAVE_FMA) /* one rounding for a float, like FN(fma) for vectors of floats */
#define MULTIPLY_ADD(a, b, c)                                                                    \
    _Generic((c), float: __builtin_fmaf(a, b, c), double: __builtin_fma(a, b, c),                \
             default: (a) * (b) + (c))
#else
#define MULTIPLY_ADD(a, b, c) ((a) * (b) + (c))
#endif
#define load_m_f32 load_f32
#define load_m_n_f32 load_n_f32
#define DTYPE f32
#include "gemm/gemv_formulas.h"
#undef DTYPE
#define load_m_f64 load_f64
#define load_m_n_f64 load_n_f64
#if DF_PRODUCT_F64
#define DTYPE f64
#include "gemm/gemv_formulas.h"
#undef DTYPE
#endif
#define load_m_i32 load_i32
#define load_m_n_i32 load_n_i32
#if DF_PRODUCT_I32 || DF_PRODUCT_U32
#define DTYPE i32
#include "gemm/gemv_formulas.h"
#undef DTYPE
#endif
#define load_m_i64 load_i64
#define load_m_n_i64 load_n_i64
#if DF_PRODUCT_I64 || DF_PRODUCT_U64
#define DTYPE i64
#include "gemm/gemv_formulas.h"
#undef DTYPE
#endif
#undef STORED
#undef STORED_AS_T
#define STORED_AS_T 0

/* The matrix has a 16-bit float dtype; vectors and sums are float32. */
#define STORED uint16_t
typedef float t_bf16_wide;
typedef v_f32 v_bf16_wide;
#define load_m_bf16_wide widen_bf16
#define load_m_n_bf16_wide widen_n_bf16
#define load_bf16_wide load_f32
#define load_n_bf16_wide load_n_f32
#define store_bf16_wide store_f32
#define splat_bf16_wide splat_f32
#define fma_bf16_wide fma_f32
#define sum_bf16_wide sum_f32
#if DF_PRODUCT_BF16
#define DTYPE bf16_wide
#include "gemm/gemv_formulas.h"
#undef DTYPE
#endif
typedef float t_f16_wide;
typedef v_f32 v_f16_wide;
#define load_m_f16_wide widen_f16
#define load_m_n_f16_wide widen_n_f16
#define load_f16_wide load_f32
#define load_n_f16_wide load_n_f32
#define store_f16_wide store_f32
#define splat_f16_wide splat_f32
#define fma_f16_wide fma_f32
#define sum_f16_wide sum_f32
#if DF_PRODUCT_F16
#define DTYPE f16_wide
#include "gemm/gemv_formulas.h"
#undef DTYPE
#endif
#undef STORED
#undef STORED_AS_T

typedef struct {
    void (*dots)(const gemv *g, int64_t begin, int64_t end);    /* M is n x depth */
    void (*short_dots)(const gemv *g, int64_t begin, int64_t end); /* depth up to SHORT_DEPTH */
    void (*combine)(const gemv *g, int64_t begin, int64_t end); /* M is depth x n */
    int bytes; /* of an element of y */
} gemv_kernel;

#define KERNEL(type, bytes) {dots_##type, short_dots_##type, combined_##type, bytes}
#define KERNEL_WIDE(type) {dots_##type, dots_##type, combined_##type, 4}
static const gemv_kernel KERNELS[DF_N_DTYPES] = {
    [DF_F32] = KERNEL(f32, 4),
    OF_PRODUCTS(F64, KERNEL(f64, 8)),
    OF_PRODUCTS(I32, KERNEL(i32, 4)),
    OF_PRODUCTS(I64, KERNEL(i64, 8)),
    OF_PRODUCTS(U32, KERNEL(i32, 4)),
    OF_PRODUCTS(U64, KERNEL(i64, 8)),
    OF_PRODUCTS(BF16, KERNEL_WIDE(bf16_wide)),
    OF_PRODUCTS(F16, KERNEL_WIDE(f16_wide)),
};

/* Distance between elements of the vector. */
static int64_t vector_step(const df_gemm *g)
{
    if (g->m == 1)
        return g->transpose_a ? g->lda : 1;
    return g->transpose_b ? 1 : g->ldb;
}

/* True if the vector is copied: it is strided, or its 16-bit floats become float32. */
static bool copies_vector(const df_gemm *g)
{
    return df_is_reduced_float(g->dtype) || (vector_step(g) != 1 && g->k != 1);
}

static int64_t aligned(int64_t bytes) { return df_ceil_div(bytes, DF_ALIGNMENT) * DF_ALIGNMENT; }

static int64_t vector_bytes(const df_gemm *g)
{
    return copies_vector(g) ? aligned(g->k * KERNELS[g->dtype].bytes) : 0;
}

int64_t DF_SYM(df_gemv_workspace)(const df_gemm *g)
{
    const int64_t sums = df_is_reduced_float(g->dtype) ? aligned(g->m * g->n * 4) : 0;
    return vector_bytes(g) + sums;
}

static void copy_vector(const df_gemm *g, void *to, const void *from)
{
    const int64_t step = vector_step(g);
    const uint16_t *narrow = from;
    if (df_is_reduced_float(g->dtype) && step == 1)
        DF_SYM(df_copy_wide)(g->dtype, g->k, to, from);
    else if (df_is_reduced_float(g->dtype))
        for (int64_t i = 0; i < g->k; i++)
            ((float *)to)[i] = df_half_to_f32(narrow[i * step], g->dtype);
    else if (KERNELS[g->dtype].bytes == 8)
        for (int64_t i = 0; i < g->k; i++) ((int64_t *)to)[i] = ((const int64_t *)from)[i * step];
    else
        for (int64_t i = 0; i < g->k; i++) ((int32_t *)to)[i] = ((const int32_t *)from)[i * step];
}

typedef struct {
    gemv g;
    void (*run)(const gemv *g, int64_t begin, int64_t end);
    const df_gemm *gemm;
    int64_t row; /* of the batch: first row of y */
} gemv_job;

/* Rounds sums [begin, end) to a 16-bit float dtype. */
static void round_sums(const gemv_job *job, int64_t begin, int64_t end)
{
    const df_gemm *g = job->gemm;
    const float *sums = job->g.y;
    uint16_t *y = g->c;
    if (g->m == 1 || g->ldc == 1)
        DF_SYM(df_copy_narrow)(g->dtype, end - begin, y + begin, sums + begin);
    else
        for (int64_t i = begin; i < end; i++)
            DF_SYM(df_copy_narrow)(g->dtype, 1, y + i * g->ldc, sums + i);
}

static void gemv_task(void *context, int64_t begin, int64_t end)
{
    const gemv_job *job = context;
    const df_gemm *g = job->gemm;
    job->run(&job->g, begin, end);
    if (df_is_reduced_float(g->dtype))
        round_sums(job, begin, end);
    if (!g->epilogue)
        return;
    const int64_t n = end - begin, step = g->m == 1 ? 1 : g->ldc;
    char *y = (char *)g->c + begin * step * df_dtypes[g->dtype].bytes;
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
    const bool is_short = g->k < SHORT_DEPTH && g->k % (DF_VEC_BYTES / kernel->bytes) != 0;
    gemv_job job = {.gemm = g, .row = row};
    job.run = !by_dots ? kernel->combine : is_short ? kernel->short_dots : kernel->dots;
    job.g = (gemv){.matrix = is_row ? g->b : g->a, .x = is_row ? g->a : g->b, .y = g->c,
                   .ld = is_row ? g->ldb : g->lda, .y_step = is_row ? 1 : g->ldc,
                   .n = is_row ? g->n : g->m, .depth = g->k, .accumulate = g->accumulate};
    if (copies_vector(g)) {
        copy_vector(g, workspace, job.g.x);
        job.g.x = workspace;
    }
    if (df_is_reduced_float(g->dtype)) {
        job.g.y = (char *)workspace + vector_bytes(g);
        job.g.y_step = 1;
    }
    const int64_t bytes = g->k * df_dtypes[g->dtype].bytes;
    /* dot products: about 16 KB of the matrix per chunk */
    const int64_t grain = by_dots ? df_max(DOT_ROWS, 16384 / bytes) : SLICE;
    const double cost = (double)bytes * NS_PER_BYTE;
    df_parallel_for(job.g.n, by_dots ? grain / DOT_ROWS * DOT_ROWS : grain, cost, gemv_task, &job);
}
