/* sparse_dense_matmul: the product of a sparse matrix, given as the positions and values of its
 * entries, and a dense one. Each row of the result has one task, which adds the terms of the row in
 * the order of the entries, so the bits do not depend on the number of threads. Entries that are
 * not sorted by the row of the result are ordered first, by a counting sort.
 *
 * Another thread may write shared memory (DLPack) between check and use, so an index is checked
 * again when it is used. */
#include "ops/in_float.h"
#include "simd/lanes.h"
#include "base/thread.h"

enum { ROWS, ADJOINT };
enum { SUM_BLOCK = 512 };     /* terms that are added one after another */
enum { AHEAD = 12 };          /* entries between the prefetch of a row of `dense` and its use */
enum { CHECK_GRAIN = 16384 }; /* entries per block of the check */

typedef struct product_job product_job;
/* Computes rows [begin, end), whose entries are [first, last). False if these are not in the order
 * of rows, or outside of the matrix. */
typedef bool (*rows_fn)(const product_job *p, int64_t begin, int64_t end, int64_t first,
                        int64_t last);

struct product_job {
    const int64_t *indices; /* [entries, 2]; if sorted, row of the result and row of `dense` */
    const void *values, *dense;
    void *out;
    int64_t entries, rows, depth, n; /* the result is [rows, n], `dense` [depth, n] */
    bool adjoint;                    /* column 1 of the unsorted indices is the row of the result */
    rows_fn run;
    int bad, faulty; /* atomic; positions outside of the matrix; the same, or not sorted */
};

/* A part of the position of an entry. */
DF_INLINE int64_t part_of(const product_job *p, int64_t e, int part)
{
    return ((const volatile int64_t *)p->indices)[2 * e + part];
}

#define TEMPLATE "ops/sparse/sparse_matmul_formulas.h"
#include "ops/each_float.h"
#undef TEMPLATE

typedef struct {
    rows_fn rows;
} kernel;

static const kernel KERNELS[DF_N_DTYPES] = {
    [DF_F32] = {product_rows_f32},
    DF_OF_ALL(F64, {product_rows_f64}),
};

DF_ONCE(df_status, infer_sparse_matmul, (const df_call *call, df_error *err))
{
    const df_tensor *indices = call->in[0], *values = call->in[1], *dense = call->in[2];
    const int64_t rows = call->attrs[ROWS].i;
    if (indices->dtype != DF_I64) return df_fail_dtype(call, 0, "int64 indices", err);
    if (!KERNELS[values->dtype].rows) return df_fail_dtype(call, 1, "a floating dtype", err);
    if (indices->ndim != 2 || values->ndim != 1 || dense->ndim != 2
        || (indices->shape[1] != 2 && indices->shape[1] != DF_UNKNOWN)
        || (indices->shape[0] != values->shape[0] && indices->shape[0] != DF_UNKNOWN
            && values->shape[0] != DF_UNKNOWN))
        return df_fail(err, DF_BAD_SHAPE, "%s: indices are %s, values %s and the dense matrix %s, "
                       "expected shapes (entries, 2), (entries,) and (k, n)", call->op->name,
                       df_tensor_text(indices).text, df_tensor_text(values).text,
                       df_tensor_text(dense).text);
    if (rows < 0 && rows != DF_OPEN && rows != DF_UNKNOWN)
        return df_fail(err, DF_INVALID_ARGUMENT, "%s: rows is %lld, expected at least 0",
                       call->op->name, (long long)rows);
    const int64_t shape[2] = {rows < 0 ? DF_UNKNOWN : rows, dense->shape[1]};
    return df_tensor_set(call->out[0], values->dtype, 2, shape, call->op->name, err);
}

static void check_block(void *context, int64_t begin, int64_t end)
{
    product_job *p = context;
    const uint64_t rows = (uint64_t)p->rows, depth = (uint64_t)p->depth;
    int bad = 0;
    for (int64_t e = begin; e < end; e++)
        bad |= ((uint64_t)part_of(p, e, p->adjoint) >= rows)
               | ((uint64_t)part_of(p, e, !p->adjoint) >= depth);
    if (bad) __atomic_store_n(&p->bad, 1, __ATOMIC_RELAXED);
}

static df_status fail_position(const df_call *call, const product_job *p, df_error *err)
{
    const int64_t shape[2] = {p->adjoint ? p->depth : p->rows, p->adjoint ? p->rows : p->depth};
    int64_t e = 0;
    const int64_t *i = p->indices;
    while (e + 1 < p->entries && (uint64_t)i[2 * e] < (uint64_t)shape[0]
           && (uint64_t)i[2 * e + 1] < (uint64_t)shape[1])
        e++;
    return df_fail(err, DF_OUT_OF_RANGE, "%s: indices[%lld] is [%lld, %lld], outside of a sparse "
                   "matrix of shape %s", call->op->name, (long long)e, (long long)i[2 * e],
                   (long long)i[2 * e + 1], df_shape_text(2, shape).text);
}

/* Sorts positions and values by row of the result; entries of a row keep their order. `buffer` has
 * 3 entries + rows + 1 elements. If another thread changes a position, the order of the entries is
 * undefined, but no access is outside of the buffer. */
static void sort_entries(product_job *p, int64_t *buffer, int64_t bytes)
{
    int64_t *pairs = buffer, *ends = buffer + 3 * p->entries;
    char *values = (char *)(buffer + 2 * p->entries);
    memset(buffer, 0, (size_t)(3 * p->entries + p->rows + 1) * sizeof *buffer);
    for (int64_t e = 0; e < p->entries; e++) {
        const int64_t row = part_of(p, e, p->adjoint);
        if ((uint64_t)row < (uint64_t)p->rows) ends[row + 1]++;
    }
    for (int64_t i = 0; i < p->rows; i++) ends[i + 1] += ends[i];
    for (int64_t e = 0; e < p->entries; e++) {
        const int64_t row = part_of(p, e, p->adjoint);
        if ((uint64_t)row >= (uint64_t)p->rows || ends[row] >= p->entries) continue;
        const int64_t to = ends[row]++;
        pairs[2 * to] = row;
        pairs[2 * to + 1] = part_of(p, e, !p->adjoint);
        memcpy(values + to * bytes, (const char *)p->values + e * bytes, (size_t)bytes);
    }
    p->indices = pairs;
    p->values = values;
}

/* The first entry of a row >= `row` of sorted entries. */
static int64_t first_entry(const product_job *p, int64_t row)
{
    int64_t low = 0, high = p->entries;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (part_of(p, middle, 0) < row) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* Blocks of sorted entries are adjacent, since the border of two blocks is one search. So the
 * entries are sorted if those of each block are, and the blocks begin and end with the entries. */
static void product_block(void *context, int64_t begin, int64_t end)
{
    product_job *p = context;
    if (__atomic_load_n(&p->faulty, __ATOMIC_RELAXED)) return;
    const int64_t first = first_entry(p, begin), last = first_entry(p, end);
    const bool whole = (begin > 0 || first == 0) && (end < p->rows || last == p->entries);
    if (!p->run(p, begin, end, first, last) || !whole)
        __atomic_store_n(&p->faulty, 1, __ATOMIC_RELAXED);
}

static void run_rows(product_job *p)
{
    const double terms = (double)p->entries * (double)p->n / (double)p->rows;
    const int64_t grain = (int64_t)(16384 / (terms + (double)p->n + 16));
    p->faulty = 0;
    df_parallel_for(p->rows, df_max(grain, 1), 10 + 0.1 * terms, product_block, p);
}

/* Assumes that the entries are sorted, which the kernel checks; if they are not, sorts them. */
static df_status run_product(const df_call *call, df_error *err)
{
    const df_tensor *out = call->out[0], *dense = call->in[2];
    product_job p = {.indices = call->in[0]->data, .values = call->in[1]->data,
                     .dense = dense->data, .out = out->data, .entries = call->in[1]->size,
                     .rows = out->shape[0], .depth = dense->shape[0], .n = dense->shape[1],
                     .adjoint = call->attrs[ADJOINT].i != 0, .run = KERNELS[out->dtype].rows};
    if (!p.adjoint && out->size > 0 && dense->size > 0) {
        run_rows(&p);
        if (!p.faulty) return DF_OK;
    }
    df_parallel_for(p.entries, CHECK_GRAIN, 0.5, check_block, &p);
    if (p.bad) return fail_position(call, &p, err);
    if (out->size == 0) return DF_OK;
    df_buffer *sorted = NULL;
    int64_t bytes; /* rows and entries are sizes of tensors in memory, below 2^60 */
    if (df_mul_size(p.rows + 1 + 3 * p.entries, (int64_t)sizeof(int64_t), &bytes))
        sorted = df_buffer_new(bytes);
    if (!sorted)
        return df_fail(err, DF_OUT_OF_MEMORY, "%s: no memory to sort the entries", call->op->name);
    sort_entries(&p, sorted->data, df_dtypes[out->dtype].bytes);
    run_rows(&p);
    df_buffer_release(sorted);
    return DF_OK;
}

static double product_flops(const df_call *call)
{
    return 2 * (double)call->in[1]->size * (double)call->in[2]->shape[1];
}

/* Inputs: indices, values, dense. The sparse matrix, or its transpose with `adjoint`, has `rows`
 * rows and as many columns as `dense` has rows. */
DF_OP(sparse_dense_matmul) = {.name = "sparse_dense_matmul", .kind = DF_GENERAL, .n_in = 3,
                              .n_out = 1, .n_attrs = 2, .promote = 6,
                              .attrs = {{"rows", DF_ATTR_INT, .open = true},
                                        {"adjoint", DF_ATTR_BOOL}},
                              .infer = infer_sparse_matmul, .run = run_product, RUN_IN_FLOAT,
                              .flops = product_flops};
