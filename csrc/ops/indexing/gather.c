/* Rows selected by index: gather, gather_nd, segments by their ids, and the indices of true
 * elements. Data is moved as bytes, independent of the dtype. Writes by index are in scatter.c. */
#include "simd/simd.h"
#include "ops/indexing/indices.h"

enum { AXIS, BATCH_DIMS };

/* --- copying -----------------------------------------------------------------------------------*/

/* Rows prefetched ahead; best of 0 to 16 for rows of 1 KB. */
enum { AHEAD = 4 };

#define DTYPE u8
#include "ops/indexing/gather_formulas.h"
#undef DTYPE
#define DTYPE i16
#include "ops/indexing/gather_formulas.h"
#undef DTYPE
#define DTYPE i32
#include "ops/indexing/gather_formulas.h"
#undef DTYPE
#define DTYPE i64
#include "ops/indexing/gather_formulas.h"
#undef DTYPE

/* Copies a row of `bytes` >= 16 in whole vectors, the last one overlapping. */
DF_INLINE void copy_row(char *to, const char *from, int64_t bytes)
{
    v_u8 v;
    if (bytes < DF_VEC_BYTES) {
        memcpy(to, from, (size_t)bytes);
        return;
    }
    for (int64_t i = 0; i < bytes - DF_VEC_BYTES; i += DF_VEC_BYTES) {
        memcpy(&v, from + i, sizeof v);
        memcpy(to + i, &v, sizeof v);
    }
    memcpy(&v, from + bytes - DF_VEC_BYTES, sizeof v);
    memcpy(to + bytes - DF_VEC_BYTES, &v, sizeof v);
}

static void copy_rows(char *to, const char *from, const int64_t *rows, int64_t n, int64_t bytes)
{
    for (int64_t j = 0; j < n; j++) {
        if (j + AHEAD < n)
            for (int64_t i = 0; i < df_min(bytes, 4096); i += 64)
                __builtin_prefetch(from + rows[j + AHEAD] * bytes + i);
        copy_row(to + j * bytes, from + rows[j] * bytes, bytes);
    }
}

static void copy_or_clear_rows(char *to, const char *from, const int64_t *rows, int64_t n,
                               int64_t bytes)
{
    for (int64_t j = 0; j < n; j++) {
        if (rows[j] < 0) memset(to + j * bytes, 0, (size_t)bytes);
        else memcpy(to + j * bytes, from + rows[j] * bytes, (size_t)bytes);
    }
}

typedef struct {
    layout l;
    int64_t row_bytes;
    const char *table;
    char *out;
} gather_job;

/* Copies output rows [begin, end) of all [batches, outer, picks]. */
static void gather_block(void *context, int64_t begin, int64_t end)
{
    const gather_job *g = context;
    const layout *l = &g->l;
    int64_t rows[CHUNK];
    while (begin < end) {
        const int64_t slab = begin / l->picks, j = begin % l->picks;
        const int64_t n = df_min(df_min(l->picks - j, end - begin), CHUNK);
        const char *from = g->table + slab * l->rows * g->row_bytes;
        char *to = g->out + begin * g->row_bytes;
        DF_SYM(df_resolve_indices)(l, slab / l->outer * l->picks + j, n, rows);
        if (l->drop_negative) copy_or_clear_rows(to, from, rows, n, g->row_bytes);
        else if (g->row_bytes == 1) pick_u8(to, from, rows, n);
        else if (g->row_bytes == 2) pick_i16(to, from, rows, n);
        else if (g->row_bytes == 4) pick_i32(to, from, rows, n);
        else if (g->row_bytes == 8) pick_i64(to, from, rows, n);
        else copy_rows(to, from, rows, n, g->row_bytes);
        begin += n;
    }
}

static df_status run_layout(const df_call *call, layout l, const char *table, df_error *err)
{
    const df_tensor *params = call->in[0];
    gather_job g = {l, l.inner * df_dtypes[params->dtype].bytes, params->data, call->out[0]->data};
    df_status status = DF_SYM(df_check_indices)(call, &l, table, err);
    if (status != DF_OK || call->out[0]->size == 0) return status;
    const int64_t grain = df_max(16384 / g.row_bytes, 1);
    df_parallel_for(l.batches * l.outer * l.picks, grain, 1.0 + (double)g.row_bytes / 16,
                    gather_block, &g);
    return DF_OK;
}

/* --- gather and gather_nd ----------------------------------------------------------------------*/

static df_status infer_layout(const df_call *call, int axis, bool nested, df_error *err)
{
    const df_tensor *params = call->in[0], *indices = call->in[1];
    int64_t shape[DF_MAX_NDIM], batch_dims = call->attrs[BATCH_DIMS].i;
    int n = 0;
    df_status status = check_batch(call, params->ndim, params->shape, indices, batch_dims, axis,
                                   nested, err);
    if (status == DF_OK)
        status = picked_shape(call, params->ndim, params->shape, indices, axis, (int)batch_dims,
                              nested, shape, &n, err);
    if (status != DF_OK) return status;
    return df_tensor_set(call->out[0], params->dtype, n, shape, call->op->name, err);
}

DF_ONCE(df_status, infer_gather, (const df_call *call, df_error *err))
{
    int axis;
    df_status status = check_index_dtype(call, 1, err);
    if (status == DF_OK)
        status = df_normalize_axis(call->attrs[AXIS].i, call->in[0]->ndim, call->op->name, &axis,
                                   err);
    return status == DF_OK ? infer_layout(call, axis, false, err) : status;
}

static df_status run_gather(const df_call *call, df_error *err)
{
    const df_tensor *params = call->in[0];
    const int64_t given = call->attrs[AXIS].i;
    const int axis = (int)(given < 0 ? given + params->ndim : given);
    return run_layout(call, lay_out(params->ndim, params->shape, call->in[1], axis,
                                    (int)call->attrs[BATCH_DIMS].i, false), "params", err);
}

DF_OP(gather) = {.name = "gather", .kind = DF_GENERAL, .n_in = 2, .n_out = 1, .n_attrs = 2,
                 .attrs = {{"axis", DF_ATTR_INT, .axis = true}, {"batch_dims", DF_ATTR_INT}},
                 .infer = infer_gather, .run = run_gather};

/* Indices select dimensions from `axis` >= 0 on; dimensions between the batch and `axis` are
 * kept. */
DF_ONCE(df_status, infer_gather_nd, (const df_call *call, df_error *err))
{
    const df_tensor *params = call->in[0];
    const int64_t axis = call->attrs[AXIS].i;
    df_status status = check_index_dtype(call, 1, err);
    if (status == DF_OK && (axis < 0 || axis > params->ndim))
        status = df_fail(err, DF_INVALID_ARGUMENT,
                         "%s: %lld batch dimensions of params, %s, expected 0 to %d",
                         call->op->name, (long long)axis, df_tensor_text(params).text,
                         params->ndim);
    if (status == DF_OK)
        status = check_depth(call, params->ndim, params->shape, call->in[1], (int)axis, err);
    return status == DF_OK ? infer_layout(call, (int)axis, true, err) : status;
}

static df_status run_gather_nd(const df_call *call, df_error *err)
{
    const df_tensor *params = call->in[0];
    return run_layout(call, lay_out(params->ndim, params->shape, call->in[1],
                                    (int)call->attrs[AXIS].i, (int)call->attrs[BATCH_DIMS].i,
                                    true), "params", err);
}

DF_OP(gather_nd) = {.name = "gather_nd", .kind = DF_GENERAL, .n_in = 2, .n_out = 1, .n_attrs = 2,
                    .attrs = {{"axis", DF_ATTR_INT, .axis = true}, {"batch_dims", DF_ATTR_INT}},
                    .infer = infer_gather_nd, .run = run_gather_nd};

/* --- segment_gather: segments[ids], zeros for negative ids
 * --------------------------------------- */

DF_ONCE(df_status, infer_segment_gather, (const df_call *call, df_error *err))
{
    const df_tensor *segments = call->in[0], *ids = call->in[1];
    int64_t shape[DF_MAX_NDIM];
    int n = 0;
    df_status status = check_index_dtype(call, 1, err);
    if (status == DF_OK && segments->ndim < 1)
        status = df_fail(err, DF_BAD_SHAPE,
                         "%s: segments is a scalar, expected at least 1 dimension", call->op->name);
    if (status == DF_OK)
        status = picked_shape(call, segments->ndim, segments->shape, ids, 0, 0, false, shape, &n,
                              err);
    if (status != DF_OK) return status;
    return df_tensor_set(call->out[0], segments->dtype, n, shape, call->op->name, err);
}

static df_status run_segment_gather(const df_call *call, df_error *err)
{
    const df_tensor *segments = call->in[0];
    layout l = lay_out(segments->ndim, segments->shape, call->in[1], 0, 0, false);
    l.drop_negative = true;
    return run_layout(call, l, "segments", err);
}

DF_OP(segment_gather) = {.name = "segment_gather", .kind = DF_GENERAL, .n_in = 2, .n_out = 1,
                         .infer = infer_segment_gather, .run = run_segment_gather};

/* --- where_indices: [n, rank], the indices of true elements in order ---------------------------*/

enum { WHERE_GRAIN = 4096 }; /* elements per block; its flat indices are on the stack */

typedef struct {
    const df_tensor *x;
    int64_t *offsets; /* per block: true elements before it; last: all */
    int64_t *out;
} where_job;

static void count_true(void *context, int64_t begin, int64_t end)
{
    const where_job *w = context;
    const uint8_t *x = w->x->data;
    int64_t n = 0;
    for (int64_t i = begin; i < end; i++) n += x[i] != 0;
    w->offsets[begin / WHERE_GRAIN] = n;
}

/* Each block writes as many indices as were counted, even if another thread has modified shared
 * memory in between: missing indices are 0. */

static void write_true(void *context, int64_t begin, int64_t end)
{
    const where_job *w = context;
    const uint8_t *x = w->x->data;
    const int rank = w->x->ndim;
    const int64_t *offset = w->offsets + begin / WHERE_GRAIN, wanted = offset[1] - offset[0];
    int64_t flat[WHERE_GRAIN + 1], n = 0, *out = w->out + offset[0] * rank;
    for (int64_t i = begin; i < end; i++) { /* branch-free */
        flat[n] = i;
        n += x[i] != 0;
    }
    for (; n < wanted; n++) flat[n] = 0;
    n = wanted;
    if (rank == 1) memcpy(out, flat, (size_t)n * sizeof *flat);
    else
        for (int64_t j = 0; j < n; j++) {
            int64_t rest = flat[j];
            for (int d = rank - 1; d > 0; d--) {
                const int64_t above = rest / w->x->shape[d];
                out[j * rank + d] = rest - above * w->x->shape[d];
                rest = above;
            }
            if (rank > 0) out[j * rank] = rest;
        }
}

DF_ONCE(df_status, infer_where, (const df_call *call, df_error *err))
{
    const df_tensor *x = call->in[0];
    if (x->dtype != DF_BOOL) return df_fail_dtype(call, 0, "bool", err);
    const int64_t shape[2] = {DF_UNKNOWN, x->ndim};
    return df_tensor_set(call->out[0], DF_I64, 2, shape, call->op->name, err);
}

static int64_t where_workspace(const df_call *call)
{
    return (df_ceil_div(call->in[0]->size, WHERE_GRAIN) + 1) * (int64_t)sizeof(int64_t);
}

static df_status run_where(const df_call *call, df_error *err)
{
    where_job w = {call->in[0], call->workspace, NULL};
    const int64_t blocks = df_ceil_div(w.x->size, WHERE_GRAIN);
    int64_t total = 0;
    df_parallel_for(w.x->size, WHERE_GRAIN, 0.05, count_true, &w);
    for (int64_t b = 0; b < blocks; b++) {
        const int64_t n = w.offsets[b];
        w.offsets[b] = total;
        total += n;
    }
    w.offsets[blocks] = total;
    const int64_t shape[2] = {total, w.x->ndim};
    df_status status = df_tensor_set(call->out[0], DF_I64, 2, shape, call->op->name, err);
    if (status == DF_OK) status = df_tensor_alloc(call->out[0], call->op->name, err);
    if (status != DF_OK) return status;
    w.out = call->out[0]->data;
    df_parallel_for(w.x->size, WHERE_GRAIN, 0.5 + 2.0 * w.x->ndim, write_true, &w);
    return DF_OK;
}

DF_OP(where_indices) = {.name = "where_indices", .kind = DF_GENERAL, .data_dependent_shape = true,
                        .n_in = 1, .n_out = 1,
                        .infer = infer_where, .workspace = where_workspace, .run = run_where};
