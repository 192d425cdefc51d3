/* df_gemm against a plain loop, at one SIMD level, on 1 and 2 threads.
 *
 * Entries are small integers, so every sum is exact in every dtype and results must be equal. Each
 * matrix is a separate block that ends with its last element, so that the address sanitizer detects
 * accesses beyond it. Exit status 77: this CPU cannot run the level. */
#include "gemm/gemm.h"

#include "check.h"
#include "base/cpu.h"
#include "base/thread.h"

#include <stdlib.h>
#include <string.h>

#define MAX_BATCH 2

typedef struct {
    df_dtype dtype;
    bool transpose_a, transpose_b, accumulate;
    int64_t m, n, k, pad;           /* pad: elements between rows */
    int64_t batch[MAX_BATCH];       /* 0: no such dimension */
    bool a_repeats[MAX_BATCH], b_repeats[MAX_BATCH];
} shape;

static const df_dtype DTYPES[] = {DF_F32, DF_F64, DF_I32, DF_I64};
static uint32_t seed = 1;

static int64_t small_random(int64_t below)
{
    seed = seed * 1664525u + 1013904223u;
    return (int64_t)(seed >> 8) % below;
}

static double get(df_dtype dtype, const void *p, int64_t i)
{
    switch (dtype) {
    case DF_F32: return ((const float *)p)[i];
    case DF_F64: return ((const double *)p)[i];
    case DF_I32: return ((const int32_t *)p)[i];
    default: return (double)((const int64_t *)p)[i];
    }
}

static void set(df_dtype dtype, void *p, int64_t i, int64_t value)
{
    switch (dtype) {
    case DF_F32: ((float *)p)[i] = (float)value; break;
    case DF_F64: ((double *)p)[i] = (double)value; break;
    case DF_I32: ((int32_t *)p)[i] = (int32_t)value; break;
    default: ((int64_t *)p)[i] = value;
    }
}

/* `count` matrices of rows x cols, rows * ld apart; the last row has no padding. */
static void *matrices(df_dtype dtype, int64_t count, int64_t rows, int64_t cols, int64_t ld)
{
    int64_t n = count && rows ? (count * rows - 1) * ld + cols : 0;
    void *p = malloc((size_t)(n * df_dtypes[dtype].bytes) + (n == 0));
    CHECK(p != NULL);
    for (int64_t i = 0; i < n; i++) set(dtype, p, i, small_random(17) - 8);
    return p;
}

/* The value added by the epilogue, which depends on the position; detects wrong positions and
 * repeated calls. */
static int64_t mark(int64_t row, int64_t col) { return 1 + row % 7 + 3 * (col % 5); }

static void add_marks(const void *context, int64_t row, int64_t rows, int64_t col0, int64_t cols,
                      void *c, int64_t ldc)
{
    const df_gemm *g = context;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) {
            const int64_t at = i * ldc + j;
            set(g->dtype, c, at, (int64_t)get(g->dtype, c, at) + mark(row + i, col0 + j));
        }
}

static double expected(const df_gemm *g, const void *c0, int64_t a, int64_t b, int64_t c)
{
    const int64_t i = c / g->ldc % (g->m ? g->m : 1), j = c % g->ldc;
    double sum = g->accumulate ? get(g->dtype, c0, c) : 0;
    if (g->epilogue) sum += (double)mark(c / g->ldc, j);
    for (int64_t p = 0; p < g->k; p++)
        sum += get(g->dtype, g->a, a + (g->transpose_a ? p * g->lda + i : i * g->lda + p)) *
               get(g->dtype, g->b, b + (g->transpose_b ? j * g->ldb + p : p * g->ldb + j));
    return sum;
}

/* Compares all elements of small products, evenly spaced ones of large products. */
static void compare(const df_gemm *g, const void *c0, int64_t n_batch)
{
    const int64_t stride = 1 + g->m * g->n * g->k / 100000;
    for (int64_t t = 0; t < n_batch; t++) {
        int64_t a = 0, b = 0, rest = t;
        for (int d = g->batch_ndim - 1; d >= 0; d--) {
            a += rest % g->batch_shape[d] * g->a_strides[d];
            b += rest % g->batch_shape[d] * g->b_strides[d];
            rest /= g->batch_shape[d];
        }
        for (int64_t row = t * g->m; row < (t + 1) * g->m; row++) {
            int64_t end = t == n_batch - 1 && row == (t + 1) * g->m - 1 ? g->n : g->ldc;
            for (int64_t j = row % stride; j < end; j += stride) {
                int64_t at = row * g->ldc + j;
                double want = j < g->n ? expected(g, c0, a, b, at) : get(g->dtype, c0, at);
                CHECK(get(g->dtype, g->c, at) == want);
            }
        }
    }
}

static void run(df_gemm *g, int64_t n_batch)
{
    df_error err;
    const int64_t bytes = DF_SYM(df_gemm_workspace)(g);
    void *workspace = aligned_alloc(64, (size_t)df_max(64, df_ceil_div(bytes, 64) * 64));
    void *c0 = matrices(g->dtype, n_batch, g->m, g->n, g->ldc);
    CHECK(workspace != NULL);
    g->context = g;
    for (int variant = 0; variant < 4; variant++) {
        const int threads = 1 + variant % 2;
        g->epilogue = variant < 2 ? NULL : add_marks;
        CHECK(df_set_num_threads(threads, &err) == DF_OK);
        g->c = matrices(g->dtype, n_batch, g->m, g->n, g->ldc);
        int64_t n = n_batch && g->m ? (n_batch * g->m - 1) * g->ldc + g->n : 0;
        memcpy(g->c, c0, (size_t)(n * df_dtypes[g->dtype].bytes));
        DF_SYM(df_gemm)(g, workspace);
        compare(g, c0, n_batch);
        free(g->c);
    }
    free(c0);
    free(workspace);
}

static void check(shape s)
{
    const int64_t a_rows = s.transpose_a ? s.k : s.m, a_cols = s.transpose_a ? s.m : s.k;
    const int64_t b_rows = s.transpose_b ? s.n : s.k, b_cols = s.transpose_b ? s.k : s.n;
    df_gemm g = {.dtype = s.dtype, .transpose_a = s.transpose_a, .transpose_b = s.transpose_b,
                 .accumulate = s.accumulate, .m = s.m, .n = s.n, .k = s.k, .lda = a_cols + s.pad,
                 .ldb = b_cols + s.pad, .ldc = s.n + s.pad};
    int64_t a_strides[MAX_BATCH], b_strides[MAX_BATCH], n_a = 1, n_b = 1, n_batch = 1;
    while (g.batch_ndim < MAX_BATCH && s.batch[g.batch_ndim]) g.batch_ndim++;
    for (int d = g.batch_ndim - 1; d >= 0; d--) {
        a_strides[d] = s.a_repeats[d] ? 0 : n_a * a_rows * g.lda;
        b_strides[d] = s.b_repeats[d] ? 0 : n_b * b_rows * g.ldb;
        n_a *= s.a_repeats[d] ? 1 : s.batch[d];
        n_b *= s.b_repeats[d] ? 1 : s.batch[d];
        n_batch *= s.batch[d];
    }
    g.batch_shape = s.batch;
    g.a_strides = a_strides;
    g.b_strides = b_strides;
    void *a = matrices(s.dtype, n_a, a_rows, a_cols, g.lda);
    void *b = matrices(s.dtype, n_b, b_rows, b_cols, g.ldb);
    g.a = a;
    g.b = b;
    run(&g, n_batch);
    free(a);
    free(b);
}

/* Every remainder of the kernel sizes, several of each kind. */
static void check_small(shape s)
{
    for (int i = 0; i < 60; i++) {
        s.m = small_random(71);
        s.n = small_random(71);
        s.k = small_random(40);
        s.pad = small_random(3);
        s.accumulate = small_random(2);
        check(s);
    }
}

/* Several passes over k, groups of rows and panels, packing, vectors, empty products. */
static void check_large(shape s)
{
    static const int64_t sizes[][3] = {
        {0, 3, 4},      {3, 0, 4},     {3, 4, 0},   {1, 1, 1},     {1, 700, 300}, {700, 1, 300},
        {1, 3, 1100},   {20, 70, 1100}, {2060, 50, 5}, {9, 2100, 5}, {20, 256, 16},
        {520, 1030, 260}, {150, 300, 700}, {33, 130, 520}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        s.m = sizes[i][0];
        s.n = sizes[i][1];
        s.k = sizes[i][2];
        s.accumulate = i % 2;
        check(s);
    }
}

static void check_batches(shape s)
{
    for (int repeats = 0; repeats < 4; repeats++)
        for (int64_t m = 1; m < 40; m += 19) {
            s.m = m;
            s.n = 35;
            s.k = 9;
            s.batch[0] = 3;
            s.batch[1] = 7;
            s.a_repeats[0] = repeats & 1;
            s.b_repeats[1] = repeats & 2;
            check(s);
        }
}

static bool can_run(void)
{
#if defined(__AVX512F__)
    return df_cpu_has(DF_ISA_AVX512);
#elif defined(__AVX2__)
    return df_cpu_has(DF_ISA_AVX2);
#else
    return true;
#endif
}

int main(void)
{
    if (!can_run()) return 77;
    for (int i = 0; i < 16; i++) {
        shape s = {.dtype = DTYPES[i % 4], .transpose_a = i / 4 % 2, .transpose_b = i / 8};
        check_small(s);
        check_large(s);
        check_batches(s);
    }
    CHECK(DF_SYM(df_gemm_has)(DF_F16, DF_F16) && DF_SYM(df_gemm_has)(DF_I64, DF_I64));
    CHECK(DF_SYM(df_gemm_has)(DF_I8, DF_I32) && !DF_SYM(df_gemm_has)(DF_I8, DF_I8));
    return 0;
}
