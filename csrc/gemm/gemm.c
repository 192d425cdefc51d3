/* Batches of products: one after another, or in parallel if each is small. product.c computes one
 * product, gemv.c and gemv_bytes.c one with a vector, tiles.c one in AMX tiles. */
#include "simd/simd.h"
#include "base/thread.h"
#include "gemm/gemv.h"
#include "gemm/product.h"
#include "gemm/tiles.h"

#include <stdlib.h>

#define BATCH_BLOCKS 16   /* workspaces if products of a batch run in parallel */
#define SMALL_NS 2500     /* a product with a smaller estimate runs in one piece: too short to
                           * share */
#define LARGE_PRODUCT 3e7 /* multiply-adds: parallel inside each product instead of over the
                           * batch */

bool DF_SYM(df_gemm_has)(df_dtype dtype, df_dtype result)
{
    const gemm_kernel *kernel = DF_SYM(df_gemm_kernel)(dtype);
    return kernel->panel && kernel->result == result;
}

static bool is_bytes(const df_gemm *g)
{
    return (DF_PRODUCT_I8 || DF_PRODUCT_U8) && df_dtypes[g->dtype].bytes == 1;
}

static int64_t result_bytes(const df_gemm *g)
{
    return df_dtypes[DF_SYM(df_gemm_kernel)(g->dtype)->result].bytes;
}

/* The products of a batch; blocks of `grain` products share a workspace of `bytes`. */
struct df_gemm_plan {
    df_gemm g;
    int64_t n, grain, bytes;
    double cost;      /* estimated ns of a product */
    bool in_parallel; /* parallel over the batch, each product on one thread */
    bool is_vector, in_tiles, is_small;
    gemm_product one; /* of each product that gemv does not compute; its pointers are unset */
    int64_t sums_bytes; /* of float32 sums that are rounded at the end, at the start of a
                         * workspace */
    int64_t dims[]; /* storage for the batch dimensions of g, if the plan owns them */
};

static int64_t batch_size(const df_gemm *g)
{
    int64_t n = 1;
    for (int d = 0; d < g->batch_ndim; d++) n *= g->batch_shape[d];
    return n;
}

static void plan_batch(const df_gemm *g, df_gemm_plan *p)
{
    p->g = *g;
    p->n = batch_size(g);
    p->grain = 1;
    p->bytes = p->sums_bytes = 0;
    p->in_parallel = p->is_vector = p->in_tiles = p->is_small = false;
    if (p->n == 0 || g->m == 0 || g->n == 0 || g->k == 0)
        return;
    const bool is_complex = df_is_complex(g->dtype);
    const double macs = (is_complex ? 4.0 : 1.0) * (double)g->m * (double)g->n * (double)g->k;
    const gemm_kernel *kernel = DF_SYM(df_gemm_kernel)(g->dtype);
    p->cost = macs * 0.125 / DF_VEC_BYTES * kernel->bytes / kernel->group + 50;
    p->in_parallel = p->n > 1 && macs < LARGE_PRODUCT;
    p->grain = p->in_parallel ? df_ceil_div(p->n, BATCH_BLOCKS) : p->n;
    p->is_vector = df_gemv_applies(g) && !g->packed_b;
    if (p->is_vector) {
        p->bytes = is_bytes(g)   ? DF_SYM(df_gemv_bytes_workspace)(g)
                   : is_complex ? DF_SYM(df_gemv_complex_workspace)(g)
                               : DF_SYM(df_gemv_workspace)(g);
        return;
    }
    p->in_tiles = DF_SYM(df_tiles_apply)(g);
    if (p->in_tiles) {
        p->bytes = DF_SYM(df_tiles_workspace)(g);
        return;
    }
    df_gemm parts;
    if (is_complex) DF_SYM(df_gemm_of_parts)(g, &parts);
    DF_SYM(df_product_plan)(&p->one, is_complex ? &parts : g);
    p->is_small = p->cost < SMALL_NS && DF_SYM(df_product_can_run_whole)(&p->one);
    if (p->is_small || p->in_parallel)
        p->one.n_slots = df_min(p->one.n_slots, 1); /* for one thread */
    if (df_is_reduced_float(g->dtype))
        p->sums_bytes = df_ceil_div(g->m * g->n * 4, DF_ALIGNMENT) * DF_ALIGNMENT;
    p->bytes = p->sums_bytes + DF_SYM(df_product_workspace)(&p->one);
}

df_gemm_plan *DF_SYM(df_gemm_plan_new)(const df_gemm *g)
{
    const size_t ndim = (size_t)g->batch_ndim, bytes = ndim * sizeof(int64_t);
    df_gemm_plan *p = malloc(sizeof *p + 3 * bytes);
    if (!p)
        return NULL;
    plan_batch(g, p);
    if (ndim) {
        memcpy(p->dims, g->batch_shape, bytes);
        memcpy(p->dims + ndim, g->a_strides, bytes);
        memcpy(p->dims + 2 * ndim, g->b_strides, bytes);
    }
    p->g.batch_shape = p->dims;
    p->g.a_strides = p->dims + ndim;
    p->g.b_strides = p->dims + 2 * ndim;
    return p;
}

/* One run of a plan. */
typedef struct {
    const df_gemm_plan *plan;
    const df_gemm_data *data;
    char *workspace;
} batch_run;

/* Destination of rounded float32 sums. */
typedef struct {
    const df_gemm *g;
    int64_t batch_row;
} rounding;

static void round_piece(const void *context, int64_t row, int64_t rows, int64_t col0, int64_t cols,
                        void *sums, int64_t ld)
{
    const rounding *to = context;
    const df_gemm *g = to->g;
    uint16_t *c = (uint16_t *)g->c + (row - to->batch_row) * g->ldc + col0;
    for (int64_t i = 0; i < rows; i++)
        DF_SYM(df_copy_narrow)(g->dtype, cols, c + i * g->ldc, (const float *)sums + i * ld);
    if (g->epilogue)
        g->epilogue(g->context, row, rows, col0, cols, c, g->ldc);
}

/* An epilogue of complex numbers for a piece of their parts. */
static void complex_piece(const void *context, int64_t row, int64_t rows, int64_t col0,
                          int64_t cols, void *c, int64_t ld)
{
    const df_gemm *g = context;
    g->epilogue(g->context, row, rows, col0 / 2, cols / 2, c, ld / 2);
}

/* Computes one product of the batch; its first row in the batch is `row`. */
static void run_product(const df_gemm_plan *plan, const df_gemm *g, int64_t row, char *workspace)
{
    gemm_product t = plan->one;
    df_gemm other;
    const rounding to = {g, row};
    t.g = g;
    if (DF_BUILT_HALVES && plan->sums_bytes) {
        other = *g;
        other.c = workspace;
        other.ldc = g->n;
        other.epilogue = round_piece;
        other.context = &to;
        t.g = &other;
        workspace += plan->sums_bytes;
    } else if (df_is_complex(g->dtype)) {
        DF_SYM(df_gemm_of_parts)(g, &other);
        if (g->epilogue) {
            other.epilogue = complex_piece;
            other.context = g;
        }
        t.g = &other;
    }
    t.a = t.g->a;
    t.b = t.g->b;
    t.c = t.g->c;
    t.batch_row = row;
    if (plan->is_small)
        DF_SYM(df_product_run_whole)(&t, workspace);
    else
        DF_SYM(df_product_run)(&t, workspace);
}

static void batch_task(void *context, int64_t begin, int64_t end)
{
    const batch_run *run = context;
    const df_gemm_plan *plan = run->plan;
    const int64_t bytes = df_dtypes[plan->g.dtype].bytes;
    char *workspace = run->workspace + begin / plan->grain * plan->bytes;
    df_gemm one = plan->g;
    one.context = run->data->context;
    for (int64_t i = begin; i < end; i++) {
        int64_t a = 0, c = i * one.m * one.ldc, rest = i, w = 0;
        for (int d = one.batch_ndim - 1; d >= 0; d--) {
            int64_t at = rest % one.batch_shape[d];
            rest /= one.batch_shape[d];
            a += at * one.a_strides[d];
            w += at * one.b_strides[d];
        }
        one.a = (const char *)run->data->a + a * bytes;
        one.b = (const char *)run->data->b + w * bytes;
        one.c = (char *)run->data->c + c * result_bytes(&one);
        if (plan->is_vector && is_bytes(&one))
            DF_SYM(df_gemv_bytes)(&one, i * one.m, workspace);
        else if (plan->is_vector && df_is_complex(one.dtype))
            DF_SYM(df_gemv_complex)(&one, i * one.m, workspace);
        else if (plan->is_vector)
            DF_SYM(df_gemv)(&one, i * one.m, workspace);
        else if (plan->in_tiles)
            DF_SYM(df_tiles)(&one, i * one.m, workspace);
        else
            run_product(plan, &one, i * one.m, workspace);
    }
}

/* Products with k = 0: sets rows [begin, end) of the batch. */
static void empty_sum_task(void *context, int64_t begin, int64_t end)
{
    const batch_run *run = context;
    const df_gemm *g = &run->plan->g;
    char *c = run->data->c;
    const int64_t bytes = result_bytes(g);
    if (!g->accumulate)
        for (int64_t i = begin; i < end; i++)
            memset(c + i * g->ldc * bytes, 0, (size_t)(g->n * bytes));
    if (g->epilogue)
        g->epilogue(run->data->context, begin, end - begin, 0, g->n, c + begin * g->ldc * bytes,
                    g->ldc);
}

int64_t DF_SYM(df_gemm_plan_workspace)(const df_gemm_plan *plan)
{
    return df_ceil_div(plan->n, plan->grain) * plan->bytes;
}

void DF_SYM(df_gemm_run)(const df_gemm_plan *plan, const df_gemm_data *data, void *workspace)
{
    const df_gemm *g = &plan->g;
    batch_run run = {.plan = plan, .data = data, .workspace = workspace};
    if (plan->n == 0 || g->m == 0 || g->n == 0)
        return;
    if (g->k == 0)
        df_parallel_for(plan->n * g->m, df_max(1, 16384 / g->n), 0.2 * (double)g->n,
                        empty_sum_task, &run);
    else if (plan->in_parallel)
        df_parallel_for(plan->n, plan->grain, plan->cost, batch_task, &run);
    else
        batch_task(&run, 0, plan->n);
}

int64_t DF_SYM(df_gemm_packed_bytes)(const df_gemm *g)
{
    int64_t bytes;
    if (g->m == 0 || g->n == 0 || g->k == 0 || df_gemv_applies(g))
        return 0;
    /* upper bound for every packing */
    if (!df_mul_size(g->k, g->n, &bytes) || !df_mul_size(bytes, 16 * DF_VEC_BYTES, &bytes))
        return -1;
    df_gemm parts;
    if (df_is_complex(g->dtype)) {
        DF_SYM(df_gemm_of_parts)(g, &parts);
        g = &parts;
    }
    return DF_SYM(df_tiles_apply)(g) ? DF_SYM(df_tiles_packed_bytes)(g)
                                     : DF_SYM(df_product_packed_bytes)(g);
}

void DF_SYM(df_gemm_pack)(const df_gemm *g, void *packed)
{
    df_gemm parts;
    if (df_is_complex(g->dtype)) {
        DF_SYM(df_gemm_of_parts)(g, &parts);
        g = &parts;
    }
    if (DF_SYM(df_tiles_apply)(g))
        DF_SYM(df_tiles_pack)(g, packed);
    else
        DF_SYM(df_product_pack)(g, packed);
}

int64_t DF_SYM(df_gemm_workspace)(const df_gemm *g)
{
    df_gemm_plan plan;
    if (!df_gemv_applies(g) && DF_SYM(df_product_packs_nothing)(g))
        return 0; /* spares the smallest products one of two plans */
    plan_batch(g, &plan);
    return DF_SYM(df_gemm_plan_workspace)(&plan);
}

void DF_SYM(df_gemm)(const df_gemm *g, void *workspace)
{
    df_gemm_plan plan;
    plan_batch(g, &plan);
    const df_gemm_data data = {.a = g->a, .b = g->b, .c = g->c, .context = g->context};
    DF_SYM(df_gemm_run)(&plan, &data, workspace);
}
