/* Rows written by index: scatter_nd, tensor_scatter, segment sums, and the gradient of gather.
 * Updates of one row are combined in the order of the indices for any number of threads: each part
 * of the table has one task, which visits all indices that may select it. */
#include "ops/in_float.h"
#include "simd/simd.h"
#include "ops/elementwise/complex.h"
#include "ops/indexing/indices.h"

/* `n` resolved indices, and the part of the table that may be written. */
typedef struct {
    void *table;
    const void *updates;
    const int64_t *rows;
    int64_t n, inner;
    int64_t begin_row, end_row, begin_col, end_col;
} scatter_part;

typedef void (*combine_fn)(const scatter_part *);

#define TEMPLATE "ops/indexing/scatter_formulas.h"
#include "ops/each_float.h"
#include "ops/each_int.h"
#undef TEMPLATE

/* Complex numbers, whose parts are neighbouring columns, by the tile function of multiply. */
DF_NOINLINE void multiply_rows(const scatter_part *p, int bytes,
                               void (*multiply)(int64_t n, void *out, const void *const *in,
                                                const df_attr *attrs))
{
    for (int64_t j = 0; j < p->n; j++) {
        const int64_t r = p->rows[j];
        if (r < p->begin_row || r >= p->end_row) continue;
        char *to = (char *)p->table + (r * p->inner + p->begin_col) * bytes;
        const void *in[2] = {to, (const char *)p->updates + (j * p->inner + p->begin_col) * bytes};
        multiply((p->end_col - p->begin_col) / 2, to, in, NULL);
    }
}

#define MULTIPLY_ROWS(complex, bytes)                                                            \
    static void scatter_mul_##complex(const scatter_part *p)                                     \
    {                                                                                            \
        multiply_rows(p, bytes, DF_SYM(df_multiply_##complex));                                  \
    }
DF_WHERE(C64, MULTIPLY_ROWS(c64, 4))
DF_WHERE(C128, MULTIPLY_ROWS(c128, 8))

typedef enum { ADD, SUB, UPDATE, MIN, MAX, MUL, N_MODES } scatter_mode;

#define MODES(dtype, signed)                                                                     \
    {scatter_add_##signed, scatter_sub_##signed, scatter_update_##signed, scatter_min_##dtype,   \
     scatter_max_##dtype, scatter_mul_##signed}

/* Dtypes without arithmetic support only copying. */
static const combine_fn combiners[DF_N_DTYPES][N_MODES] = {
    DF_OF_ALL(U8, MODES(u8, i8)), DF_OF_ALL(U16, MODES(u16, i16)),
    DF_OF_ALL(U32, MODES(u32, i32)), DF_OF_ALL(U64, MODES(u64, i64)),
    DF_OF_ALL(I8, MODES(i8, i8)), DF_OF_ALL(I16, MODES(i16, i16)),
    DF_OF_ALL(I32, MODES(i32, i32)), DF_OF_ALL(I64, MODES(i64, i64)), [DF_F32] = MODES(f32, f32),
    DF_OF_ALL(F64, MODES(f64, f64)), DF_OF_ALL(BOOL, {[UPDATE] = scatter_update_i8}),
    DF_OF_ALL(F16, {[UPDATE] = scatter_update_i16}),
    DF_OF_ALL(BF16, {[UPDATE] = scatter_update_i16}),
    /* of the parts, which are neighbouring columns */
    DF_OF_ALL(C64, {scatter_add_f32, scatter_sub_f32, scatter_update_f32,
                    [MUL] = scatter_mul_c64}),
    DF_OF_ALL(C128, {scatter_add_f64, scatter_sub_f64, scatter_update_f64,
                     [MUL] = scatter_mul_c128}),
};

/* --- long sums ----------------------------------------------------------------------------------
 *
 * Sums of float32 are accumulated in float64 if a row is the sum of many updates, as a sum of 10^7
 * would lose three digits. Then the table, and its float64 copy, is small compared with the
 * updates. The choice depends on shapes, not on the number of threads. */

#define LONG_SUM 16 /* updates per row of the table */

static bool is_long_sum(df_dtype dtype, scatter_mode mode, const layout *l)
{
    return dtype == DF_F32 && mode <= SUB && l->picks / LONG_SUM >= l->rows;
}

DF_INLINE void combine_wide(const scatter_part *p, float sign)
{
    const int64_t n_rows = p->end_row - p->begin_row, width = p->end_col - p->begin_col;
    double *table = (double *)p->table + p->begin_col;
    const float *updates = (const float *)p->updates + p->begin_col;
    for (int64_t j = 0; j < p->n; j++) {
        const int64_t r = p->rows[j];
        if ((uint64_t)(r - p->begin_row) >= (uint64_t)n_rows) continue;
        double *to = table + r * p->inner;
        const float *from = updates + j * p->inner;
        for (int64_t i = 0; i < width; i++) to[i] += (double)(sign * from[i]);
    }
}

static void add_wide(const scatter_part *p) { combine_wide(p, 1); }
static void sub_wide(const scatter_part *p) { combine_wide(p, -1); }

/* --- the job -----------------------------------------------------------------------------------*/

typedef struct {
    layout l;
    combine_fn combine;
    char *table;
    const char *updates;
    const char *start; /* initial content of the table: a tensor like it, or NULL for zeros */
    int64_t bytes, table_bytes; /* of an update; of the table */
    int64_t sum_bytes;          /* of an element of the table while it is filled */
    int64_t row_parts, col_parts; /* of each [rows, inner] matrix */
} scatter_job;

enum { FILL_GRAIN = 1 << 18 }; /* bytes */

static void fill_block(void *context, int64_t begin, int64_t end)
{
    const scatter_job *s = context;
    if (s->start) memcpy(s->table + begin, s->start + begin, (size_t)(end - begin));
    else memset(s->table + begin, 0, (size_t)(end - begin));
}

static void scatter_block(void *context, int64_t begin, int64_t end)
{
    const scatter_job *s = context;
    const layout *l = &s->l;
    int64_t rows[CHUNK];
    for (int64_t part = begin; part < end; part++) {
        const int64_t slab = part / (s->row_parts * s->col_parts);
        const int64_t row_part = part / s->col_parts % s->row_parts, col_part = part % s->col_parts;
        scatter_part p = {.table = s->table + slab * l->rows * l->inner * s->sum_bytes,
                          .rows = rows,
                          .inner = l->inner,
                          .begin_row = l->rows / s->row_parts * row_part,
                          .end_row = l->rows / s->row_parts * (row_part + 1),
                          /* even: both parts of complex numbers */
                          .begin_col = l->inner / s->col_parts * col_part & ~INT64_C(1),
                          .end_col = l->inner / s->col_parts * (col_part + 1) & ~INT64_C(1)};
        if (row_part == s->row_parts - 1) p.end_row = l->rows;
        if (col_part == s->col_parts - 1) p.end_col = l->inner;
        for (int64_t j = 0; j < l->picks; j += CHUNK) {
            p.n = df_min(l->picks - j, CHUNK);
            p.updates = s->updates + (slab * l->picks + j) * l->inner * s->bytes;
            DF_SYM(df_resolve_indices)(l, slab / l->outer * l->picks + j, p.n, rows);
            s->combine(&p);
        }
    }
}

/* Chooses the parts, which may depend on the number of threads since they do not affect the result:
 * whole matrices if there are enough, otherwise their columns, otherwise their rows. Each part
 * reads all indices, with an unpredictable branch per index, which for short rows costs more than a
 * second thread gains (measured: sums of single numbers take 6 times as long in two parts). */
static void split(scatter_job *s)
{
    const layout *l = &s->l;
    const int64_t wanted = df_ceil_div(df_num_threads(), df_max(l->batches * l->outer, 1));
    s->row_parts = s->col_parts = 1;
    if (wanted <= 1 || l->picks * l->inner < 16384) return;
    if (l->inner * s->bytes >= 64 * wanted) s->col_parts = wanted;
    else if (l->inner >= 8) s->row_parts = df_max(df_min(wanted, l->rows), 1);
}

/* A float64 table that replaces the output, or NULL if out of memory. */
static df_buffer *widen_table(scatter_job *s, const df_tensor *out, scatter_mode mode)
{
    df_buffer *sums = df_buffer_new(out->size * (int64_t)sizeof(double));
    if (!sums) return NULL;
    const float *from = out->data;
    double *to = sums->data;
    for (int64_t i = 0; i < out->size; i++) to[i] = (double)from[i];
    s->table = sums->data;
    s->sum_bytes = (int64_t)sizeof(double);
    s->combine = mode == SUB ? sub_wide : add_wide;
    return sums;
}

static void narrow_table(const df_tensor *out, df_buffer *sums)
{
    const double *from = sums->data;
    float *to = out->data;
    for (int64_t i = 0; i < out->size; i++) to[i] = (float)from[i];
    df_buffer_release(sums);
}

static df_status run_scatter(const df_call *call, layout l, const df_tensor *start,
                             const df_tensor *updates, scatter_mode mode, const char *table,
                             df_error *err)
{
    df_tensor by_parts = *call->out[0], *out = &by_parts; /* borrows the shape */
    const combine_fn combine = combiners[out->dtype][mode];
    if (df_is_complex(out->dtype)) {
        l.inner *= 2;
        by_parts.size *= 2;
        by_parts.dtype = df_real_dtype(out->dtype);
    }
    scatter_job s = {.l = l, .combine = combine, .table = out->data,
                     .updates = updates->data, .start = start ? start->data : NULL,
                     .bytes = df_dtypes[out->dtype].bytes, .table_bytes = df_tensor_bytes(out),
                     .sum_bytes = df_dtypes[out->dtype].bytes};
    df_status status = DF_SYM(df_check_indices)(call, &l, table, err);
    if (status != DF_OK || out->size == 0) return status;
    if (s.start != s.table) df_parallel_for(s.table_bytes, FILL_GRAIN, 0.05, fill_block, &s);
    if (updates->size == 0) return DF_OK;
    df_buffer *sums = NULL;
    if (is_long_sum(out->dtype, mode, &l) && !(sums = widen_table(&s, out, mode)))
        return df_fail(err, DF_OUT_OF_MEMORY, "%s: no memory for the sums", call->op->name);
    split(&s);
    const int64_t parts = l.batches * l.outer * s.row_parts * s.col_parts;
    df_parallel_for(parts, 1, (double)updates->size / (double)parts * 0.5, scatter_block, &s);
    if (sums) narrow_table(out, sums);
    return DF_OK;
}

static df_status check_arithmetic(const df_call *call, int input, scatter_mode mode, df_error *err)
{
    return combiners[call->in[input]->dtype][mode]
               ? DF_OK
               : df_fail_dtype(call, input,
                               df_is_complex(call->in[input]->dtype) ? "a real number dtype"
                                                                     : "a dtype with arithmetic",
                               err);
}

/* Checks that updates has the shape of a gather from the table. */
DF_ONCE(df_status, check_updates, (const df_call *call, int ndim, const int64_t *shape,
                                   const df_tensor *indices, const df_tensor *updates, int axis,
                                   int batch_dims, bool nested, df_error *err))
{
    int64_t want[DF_MAX_NDIM];
    int n = 0;
    df_status status = picked_shape(call, ndim, shape, indices, axis, batch_dims, nested, want, &n,
                                    err);
    if (status != DF_OK) return status;
    bool fits = n == updates->ndim;
    for (int i = 0; fits && i < n; i++) fits = may_equal(want[i], updates->shape[i]);
    if (fits) return DF_OK;
    return df_fail(err, DF_BAD_SHAPE,
                   "%s: updates has shape %s, expected %s for indices of shape %s into %s",
                   call->op->name, df_shape_text(updates->ndim, updates->shape).text,
                   df_shape_text(n, want).text, df_shape_text(indices->ndim, indices->shape).text,
                   df_shape_text(ndim, shape).text);
}

/* --- gather_grad and scatter_nd: into zeros ----------------------------------------------------*/

enum { SHAPE, AXIS, BATCH_DIMS };

/* Sets the output shape from the attribute: no negative dimension except unknown ones, no
 * overflow. */
static df_status set_output(const df_call *call, const df_tensor *updates, df_error *err)
{
    const df_ints shape = call->attrs[SHAPE].list;
    if (shape.n > DF_MAX_NDIM)
        return df_fail(err, DF_BAD_SHAPE, "%s: shape has %lld dimensions, expected at most %d",
                       call->op->name, (long long)shape.n, DF_MAX_NDIM);
    for (int64_t i = 0; i < shape.n; i++)
        if (shape.v[i] < DF_UNKNOWN)
            return df_fail(err, DF_BAD_SHAPE, "%s: shape %s has a negative dimension",
                           call->op->name, df_shape_text((int)shape.n, shape.v).text);
    return df_tensor_set(call->out[0], updates->dtype, (int)shape.n, shape.v, call->op->name, err);
}

DF_ONCE(df_status, infer_gather_grad, (const df_call *call, df_error *err))
{
    const df_tensor *g = call->in[0], *indices = call->in[1], *out = call->out[0];
    const int64_t batch_dims = call->attrs[BATCH_DIMS].i;
    int axis = 0;
    df_status status = check_index_dtype(call, 1, err);
    if (status == DF_OK) status = check_arithmetic(call, 0, ADD, err);
    if (status == DF_OK) status = set_output(call, g, err);
    if (status == DF_OK)
        status = df_normalize_axis(call->attrs[AXIS].i, out->ndim, call->op->name, &axis, err);
    if (status == DF_OK)
        status = check_batch(call, out->ndim, out->shape, indices, batch_dims, axis, false, err);
    if (status == DF_OK)
        status = check_updates(call, out->ndim, out->shape, indices, g, axis, (int)batch_dims,
                               false, err);
    return status;
}

static df_status run_gather_grad(const df_call *call, df_error *err)
{
    const df_tensor *out = call->out[0];
    const int64_t given = call->attrs[AXIS].i;
    const int axis = (int)(given < 0 ? given + out->ndim : given);
    return run_scatter(call, lay_out(out->ndim, out->shape, call->in[1], axis,
                                     (int)call->attrs[BATCH_DIMS].i, false),
                       NULL, call->in[0], ADD, "the result", err);
}

DF_OP(gather_grad) = {.name = "gather_grad", .kind = DF_GENERAL, .n_in = 2, .n_out = 1,
                      .n_attrs = 3,
                      .attrs = {{"shape", DF_ATTR_INTS}, {"axis", DF_ATTR_INT},
                                {"batch_dims", DF_ATTR_INT}},
                      .infer = infer_gather_grad, .run = run_gather_grad,
                      RUN_IN_FLOAT};

/* Inputs: indices, updates. */
DF_ONCE(df_status, infer_scatter_nd, (const df_call *call, df_error *err))
{
    const df_tensor *indices = call->in[0], *updates = call->in[1], *out = call->out[0];
    const int64_t axis = call->attrs[AXIS].i, batch_dims = call->attrs[BATCH_DIMS].i;
    df_status status = check_index_dtype(call, 0, err);
    if (status == DF_OK) status = check_arithmetic(call, 1, ADD, err);
    if (status == DF_OK) status = set_output(call, updates, err);
    if (status == DF_OK && (axis < 0 || axis > out->ndim))
        status = df_fail(err, DF_INVALID_ARGUMENT, "%s: axis is %lld, expected 0 to %d",
                         call->op->name, (long long)axis, out->ndim);
    if (status == DF_OK)
        status = check_depth(call, out->ndim, out->shape, indices, (int)axis, err);
    if (status == DF_OK)
        status = check_batch(call, out->ndim, out->shape, indices, batch_dims, (int)axis, true,
                             err);
    if (status == DF_OK)
        status = check_updates(call, out->ndim, out->shape, indices, updates, (int)axis,
                               (int)batch_dims, true, err);
    return status;
}

static df_status run_scatter_nd(const df_call *call, df_error *err)
{
    const df_tensor *out = call->out[0];
    return run_scatter(call, lay_out(out->ndim, out->shape, call->in[0], (int)call->attrs[AXIS].i,
                                     (int)call->attrs[BATCH_DIMS].i, true),
                       NULL, call->in[1], ADD, "the result", err);
}

DF_OP(scatter_nd) = {.name = "scatter_nd", .kind = DF_GENERAL, .n_in = 2, .n_out = 1,
                     .n_attrs = 3,
                     .attrs = {{"shape", DF_ATTR_INTS}, {"axis", DF_ATTR_INT},
                               {"batch_dims", DF_ATTR_INT}},
                     .infer = infer_scatter_nd, .run = run_scatter_nd,
                     RUN_IN_FLOAT};

/* --- tensor_scatter_nd_*: into a copy ----------------------------------------------------------*/

/* Inputs: tensor, indices, updates. */
static df_status infer_into(const df_call *call, int64_t axis, bool nested, df_error *err)
{
    const df_tensor *x = call->in[0], *indices = call->in[1];
    df_status status = check_index_dtype(call, 1, err);
    if (status == DF_OK && (axis < 0 || axis >= x->ndim + nested))
        status = df_fail(err, DF_INVALID_ARGUMENT, "%s: axis is %lld of %d dimensions",
                         call->op->name, (long long)axis, x->ndim);
    if (status == DF_OK && nested)
        status = check_depth(call, x->ndim, x->shape, indices, (int)axis, err);
    if (status == DF_OK)
        status = check_updates(call, x->ndim, x->shape, indices, call->in[2], (int)axis, 0, nested,
                               err);
    return status == DF_OK ? df_infer_same(call, err) : status;
}

DF_ONCE(df_status, infer_update, (const df_call *call, df_error *err))
{
    return infer_into(call, 0, true, err);
}

DF_ONCE(df_status, infer_combine, (const df_call *call, df_error *err))
{
    df_status status = check_arithmetic(call, 0, ADD, err);
    return status == DF_OK ? infer_update(call, err) : status;
}

/* Same, for combinations that complex numbers do not have. */
DF_ONCE(df_status, infer_combine_real, (const df_call *call, df_error *err))
{
    if (df_is_complex(call->in[0]->dtype))
        return df_fail_dtype(call, 0, "a dtype with an order", err);
    return infer_combine(call, err);
}

static df_status run_into(const df_call *call, int axis, bool nested, scatter_mode mode,
                          df_error *err)
{
    const df_tensor *x = call->in[0];
    return run_scatter(call, lay_out(x->ndim, x->shape, call->in[1], axis, 0, nested), x,
                       call->in[2], mode, "tensor", err);
}

static df_status run_mode(const df_call *call, scatter_mode mode, df_error *err)
{
    return run_into(call, 0, true, mode, err);
}

static df_status run_add(const df_call *call, df_error *err) { return run_mode(call, ADD, err); }
static df_status run_sub(const df_call *call, df_error *err) { return run_mode(call, SUB, err); }
static df_status run_mul(const df_call *call, df_error *err) { return run_mode(call, MUL, err); }
static df_status run_min(const df_call *call, df_error *err) { return run_mode(call, MIN, err); }
static df_status run_max(const df_call *call, df_error *err) { return run_mode(call, MAX, err); }
static df_status run_update(const df_call *call, df_error *err)
{
    return run_mode(call, UPDATE, err);
}

#define TENSOR_SCATTER(op) .name = op, .kind = DF_GENERAL, .n_in = 3, .n_out = 1, \
    .promote = 1 | 4, .may_alias = 1

DF_OP(tensor_scatter_nd_add) = {TENSOR_SCATTER("tensor_scatter_nd_add"), .infer = infer_combine,
                                .run = run_add, RUN_IN_FLOAT};
DF_OP(tensor_scatter_nd_sub) = {TENSOR_SCATTER("tensor_scatter_nd_sub"), .infer = infer_combine,
                                .run = run_sub, RUN_IN_FLOAT};
DF_OP(tensor_scatter_nd_min) = {TENSOR_SCATTER("tensor_scatter_nd_min"),
                                .infer = infer_combine_real, .run = run_min, RUN_IN_FLOAT};
DF_OP(tensor_scatter_nd_max) = {TENSOR_SCATTER("tensor_scatter_nd_max"),
                                .infer = infer_combine_real, .run = run_max, RUN_IN_FLOAT};
DF_OP(tensor_scatter_nd_mul) = {TENSOR_SCATTER("tensor_scatter_nd_mul"), .infer = infer_combine,
                                .run = run_mul, RUN_IN_FLOAT};
DF_OP(tensor_scatter_nd_update) = {TENSOR_SCATTER("tensor_scatter_nd_update"),
                                   .infer = infer_update, .run = run_update};

/* tensor + gather_grad(updates, indices) if no row is selected twice; + scatter_nd if `nested`. */
enum { ADD_AXIS, NESTED };

DF_ONCE(df_status, infer_add_rows, (const df_call *call, df_error *err))
{
    df_status status = check_arithmetic(call, 0, ADD, err);
    return status == DF_OK
               ? infer_into(call, call->attrs[ADD_AXIS].i, call->attrs[NESTED].i, err) : status;
}

static df_status run_add_rows(const df_call *call, df_error *err)
{
    return run_into(call, (int)call->attrs[ADD_AXIS].i, call->attrs[NESTED].i, ADD, err);
}

DF_OP(add_rows) = {TENSOR_SCATTER("add_rows"), .internal = true, .n_attrs = 2,
                   .attrs = {{"axis", DF_ATTR_INT}, {"nested", DF_ATTR_BOOL}},
                   .infer = infer_add_rows, .run = run_add_rows};

/* --- segment_sum: sums of rows with equal ids
 * --------------------------------------------------- */

enum { NUM_SEGMENTS };

/* Inputs: data, ids (whose shape is a prefix of that of data). num_segments -1: ids are sorted, and
 * there is one segment per id up to the last; otherwise negative ids are ignored. */
DF_ONCE(df_status, infer_segment_sum, (const df_call *call, df_error *err))
{
    const df_tensor *data = call->in[0], *ids = call->in[1];
    const int64_t n = call->attrs[NUM_SEGMENTS].i;
    int64_t shape[DF_MAX_NDIM];
    df_status status = check_index_dtype(call, 1, err);
    if (status == DF_OK) status = check_arithmetic(call, 0, ADD, err);
    if (status != DF_OK) return status;
    if (n < -1 && n != DF_OPEN)
        return df_fail(err, DF_INVALID_ARGUMENT, "%s: num_segments is %lld, expected at least 0",
                       call->op->name, (long long)n);
    bool fits = ids->ndim <= data->ndim && (n != -1 || ids->ndim == 1);
    for (int i = 0; fits && i < ids->ndim; i++) fits = may_equal(ids->shape[i], data->shape[i]);
    if (!fits || data->ndim - ids->ndim + 1 > DF_MAX_NDIM)
        return df_fail(err, DF_BAD_SHAPE, "%s: segment_ids has shape %s, expected %s of data's %s",
                       call->op->name, df_shape_text(ids->ndim, ids->shape).text,
                       n == -1 ? "the first dimension" : "the first dimensions",
                       df_shape_text(data->ndim, data->shape).text);
    shape[0] = n < 0 ? DF_UNKNOWN : n;
    for (int i = ids->ndim; i < data->ndim; i++) shape[i - ids->ndim + 1] = data->shape[i];
    return df_tensor_set(call->out[0], data->dtype, data->ndim - ids->ndim + 1, shape,
                         call->op->name, err);
}

/* Allocates the output for sorted ids. */
DF_ONCE(df_status, count_segments, (const df_call *call, df_error *err))
{
    const df_tensor *ids = call->in[1];
    df_tensor *out = call->out[0];
    int64_t shape[DF_MAX_NDIM], before = 0;
    for (int64_t i = 0; i < ids->size; i++) {
        const int64_t id = index_at(ids, i);
        if (id < before)
            return df_fail(err, DF_INVALID_ARGUMENT, "%s: segment_ids[%lld] is %lld after %lld, "
                           "expected sorted, non-negative ids", call->op->name, (long long)i,
                           (long long)id, (long long)before);
        before = id;
    }
    if (before == INT64_MAX)
        return df_fail(err, DF_OVERFLOW, "%s: segment_ids[%lld] is %lld, too large",
                       call->op->name, (long long)ids->size - 1, (long long)before);
    for (int i = 1; i < out->ndim; i++) shape[i] = out->shape[i];
    shape[0] = ids->size ? before + 1 : 0;
    df_status status = df_tensor_set(out, out->dtype, out->ndim, shape, call->op->name, err);
    return status == DF_OK ? df_tensor_alloc(out, call->op->name, err) : status;
}

static df_status run_segment_sum(const df_call *call, df_error *err)
{
    const df_tensor *out = call->out[0];
    if (call->attrs[NUM_SEGMENTS].i < 0) {
        df_status status = count_segments(call, err);
        if (status != DF_OK) return status;
    }
    layout l = lay_out(out->ndim, out->shape, call->in[1], 0, 0, false);
    l.drop_negative = true;
    return run_scatter(call, l, NULL, call->in[0], ADD, "the result", err);
}

DF_OP(segment_sum) = {.name = "segment_sum", .kind = DF_GENERAL, .data_dependent_shape = true,
                      .n_in = 2, .n_out = 1,
                      .n_attrs = 1, .attrs = {{"num_segments", DF_ATTR_INT, .open = true}},
                      .infer = infer_segment_sum, .run = run_segment_sum,
                      RUN_IN_FLOAT};
