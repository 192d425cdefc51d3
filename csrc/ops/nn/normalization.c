/* layer_norm, rms_norm and l2_normalize, which normalize rows, and their gradients.
 *
 * A row of up to NORM_CHUNK elements stays in L1 for all passes over it; 16-bit floats are widened
 * there. Longer rows are divided into chunks whose statistics are combined. Chunks and blocks
 * depend only on shapes, and so do the results. */
#include "ops/nn/normalization.h"
#include "base/thread.h"
#include "gemm/half.h"
#include "op/operand.h"

#define BLOCKS 16         /* blocks of rows, about, with separate sums of the gradients of scale and
                           * offset */
#define BLOCK_MIN 16
#define BLOCK_MAX 256     /* rows: longer sums would lose digits */
#define ROWS_PIECE 4096   /* elements of short rows at a time, in L1, and */
#define ROWS_AT_ONCE 32   /* rows: the CPU measures a row while it waits for the rate of another */
#define SUMS_APART 64     /* elements between sums, as the CPU would assume a dependence at a
                           * distance of 4 KB */
#define TASK_ELEMENTS 8192
#define NS_PER_BYTE 0.05

enum { NDIM, EPSILON };

/* Shape (n_rows, n), each row normalized separately. */
typedef struct {
    norm_kind kind;
    const void *x, *g, *scale, *offset; /* g: NULL in the forward pass; scale, offset: n numbers or
                                         * NULL */
    void *out, *to_scale, *to_offset;
    void *sums; /* (blocks, n_params, width) */
    norm_part *parts;   /* (n_rows, n_chunks) */
    norm_whole *wholes; /* (n_rows) */
    int64_t n_rows, n, n_chunks, block, n_params, width;
    df_dtype dtype, stored; /* of the computation, with parameters; of x, g and out in memory */
} rows;

#define TEMPLATE "ops/nn/normalization_formulas.h"
#include "ops/each_float.h"
#undef TEMPLATE

#define TASK(name)                                                                               \
    static void name##_task(void *context, int64_t begin, int64_t end)                           \
    {                                                                                            \
        const rows *r = context;                                                                 \
        (r->dtype == DF_F32 ? name##_f32 : DF_HAS(F64, name##_f64))(r, begin, end);              \
    }
TASK(normalize_rows)
TASK(flow_back_rows)
TASK(measure_chunks)
TASK(normalize_chunks)
TASK(flow_back_chunks)

/* --- shapes --- */

/* Statistics that an op divides by, and whether it is the gradient. Inputs: x, scale, offset; of
 * the gradient: g, x, scale. The parameters are all present or all absent. */
typedef struct {
    norm_mode mode;
    int n_params;
    bool back;
} form;

static const df_tensor *x_of(const df_call *call, const form *f) { return call->in[f->back]; }

static bool has_params(const df_call *call, const form *f) { return call->n_in > f->back + 1; }

/* The last `ndim` dimensions of x, which form a row; borrows the shape. */
static df_tensor row_of(const df_call *call, const form *f)
{
    df_tensor row = *x_of(call, f);
    row.ndim = (int)call->attrs[NDIM].i;
    row.shape += x_of(call, f)->ndim - row.ndim;
    return row;
}

static df_status check_param(const df_call *call, const form *f, int input, df_error *err)
{
    const df_tensor *p = call->in[input], row = row_of(call, f);
    bool fits = p->ndim == row.ndim;
    for (int d = 0; d < p->ndim && fits; d++)
        fits = p->shape[d] == row.shape[d] || p->shape[d] == 1 || p->shape[d] == DF_UNKNOWN ||
               row.shape[d] == DF_UNKNOWN;
    if (fits) return DF_OK;
    return df_fail(err, DF_BAD_SHAPE, "%s: %s has shape %s, expected %s, the last of x's %s",
                   call->op->name, input == f->back + 1 ? "scale" : "offset",
                   df_shape_text(p->ndim, p->shape).text,
                   df_shape_text(row.ndim, row.shape).text,
                   df_shape_text(x_of(call, f)->ndim, x_of(call, f)->shape).text);
}

static df_status check(const df_call *call, const form *f, df_error *err)
{
    const int all = 1 + f->back + (f->back ? df_min(f->n_params, 1) : f->n_params);
    df_status status = norm_check_inputs(call, f->back, all, err);
    if (status != DF_OK) return status;
    const df_tensor *x = x_of(call, f);
    const int64_t ndim = call->attrs[NDIM].i;
    if (ndim < 0 || ndim > x->ndim)
        return df_fail(err, DF_INVALID_ARGUMENT,
                       "%s: the last %lld dimensions of shape %s, expected 0 to %d", call->op->name,
                       (long long)ndim, df_shape_text(x->ndim, x->shape).text, x->ndim);
    for (int i = f->back + 1; i < call->n_in && status == DF_OK; i++)
        status = check_param(call, f, i, err);
    return status;
}

DF_ONCE(df_status, infer_normalization, (const df_call *call, const form *f, df_error *err))
{
    df_status status = check(call, f, err);
    if (status != DF_OK) return status;
    const df_tensor *x = x_of(call, f), row = row_of(call, f);
    status = df_tensor_set(call->out[0], x->dtype, x->ndim, x->shape, call->op->name, err);
    for (int i = 1; i < call->n_out && status == DF_OK; i++) /* gradients of the parameters */
        status = df_tensor_set(call->out[i], x->dtype, row.ndim, row.shape, call->op->name, err);
    return status;
}

static int count_back(const df_call *call, const form *f)
{
    return has_params(call, f) ? 1 + f->n_params : 1;
}

static rows rows_of(const df_call *call, const form *f)
{
    const df_tensor *x = x_of(call, f);
    rows r = {.kind = {f->mode, call->attrs[EPSILON].f}, .n_rows = 1, .n = 1,
              .dtype = df_wide_dtype(x->dtype), .stored = x->dtype, .x = x->data,
              .out = call->out[0]->data};
    for (int d = 0; d < x->ndim; d++)
        *(d < x->ndim - call->attrs[NDIM].i ? &r.n_rows : &r.n) *= x->shape[d];
    r.n_chunks = df_ceil_div(r.n, NORM_CHUNK);
    r.width = r.n + SUMS_APART;
    r.block = df_min(df_max(df_ceil_div(r.n_rows, BLOCKS), BLOCK_MIN), BLOCK_MAX);
    if (f->back) r.g = call->in[0]->data;
    if (!has_params(call, f)) return r;
    r.n_params = f->n_params;
    r.scale = call->in[f->back + 1]->data;
    if (!f->back && r.n_params == 2) r.offset = call->in[2]->data;
    if (f->back) r.to_scale = call->out[1]->data;
    if (f->back && r.n_params == 2) r.to_offset = call->out[2]->data;
    return r;
}

static int64_t bytes_of_sums(const rows *r)
{
    return df_ceil_div(r->n_rows, r->block) * r->n_params * r->width * df_dtypes[r->dtype].bytes;
}

/* Bytes at the start of the workspace for a parameter that is repeated to the length of a row. */
static int64_t bytes_of_param(const df_call *call, const rows *r, int input)
{
    if (input >= call->n_in || call->in[input]->size == r->n) return 0;
    return df_ceil_div(r->n * df_dtypes[r->dtype].bytes, DF_ALIGNMENT) * DF_ALIGNMENT;
}

static int64_t workspace(const df_call *call, const form *f)
{
    const rows r = rows_of(call, f);
    if (x_of(call, f)->size == 0) return 0;
    int64_t bytes = 0;
    for (int i = f->back + 1; i < call->n_in; i++) bytes += bytes_of_param(call, &r, i);
    if (r.n_chunks == 1) return bytes + (f->back ? bytes_of_sums(&r) : 0);
    return bytes + r.n_rows * (r.n_chunks * (int64_t)sizeof *r.parts + (int64_t)sizeof *r.wholes);
}

/* --- execution --- */

/* The parameter as a whole row; a repeated one is written to `cursor`, which advances past it. */
DF_ONCE(const void *, whole_row, (const df_call *call, const form *f, const rows *r, int input,
                                  char **cursor))
{
    const df_tensor *p = call->in[input], row = row_of(call, f);
    char *to = *cursor;
    df_operand_walk operand;
    df_operand_dims dims;
    if (p->size == r->n) return p->data;
    df_operand_set(&operand, p, &row, &dims);
    const char *from = df_operand_load(&operand, p->data, 0, r->n, to);
    if (from != to) memcpy(to, from, (size_t)(r->n * df_dtypes[r->dtype].bytes));
    *cursor += bytes_of_param(call, r, input);
    return to;
}

static void join_row_parts(rows *r)
{
    for (int64_t i = 0; i < r->n_rows; i++) {
        const norm_part *parts = r->parts + i * r->n_chunks;
        norm_part sum = {0};
        for (int64_t k = 0; k < r->n_chunks; k++) norm_count(&sum, &parts[k]);
        norm_divide(&sum);
        for (int64_t k = 0; k < r->n_chunks; k++) norm_add(&sum, &parts[k], 1);
        r->wholes[i] = norm_finish(&r->kind, &sum);
    }
}

static void run_chunks(rows *r, void *workspace, double cost)
{
    r->parts = workspace;
    r->wholes = (norm_whole *)(r->parts + r->n_rows * r->n_chunks);
    df_parallel_for(r->n_rows * r->n_chunks, 1, NORM_CHUNK * cost, measure_chunks_task, r);
    join_row_parts(r);
    if (r->g)
        df_parallel_for(r->n_chunks, 1, NORM_CHUNK * cost * (double)r->n_rows,
                        flow_back_chunks_task, r);
    else
        df_parallel_for(r->n_rows * r->n_chunks, 1, NORM_CHUNK * cost, normalize_chunks_task, r);
}

static void run_blocks(rows *r, void *workspace, double cost)
{
    const int64_t blocks = df_ceil_div(r->n_rows, r->block), width = r->n_params * r->width;
    r->sums = workspace;
    df_parallel_for(r->n_rows, r->block, cost * (double)r->n + 20, flow_back_rows_task, r);
    void (*sum)(void *, const void *, int64_t, int64_t, int64_t) =
        r->dtype == DF_F32 ? sum_blocks_f32 : DF_HAS(F64, sum_blocks_f64);
    if (r->to_scale) sum(r->to_scale, r->sums, blocks, r->n, width);
    if (r->to_offset)
        sum(r->to_offset, (char *)r->sums + r->width * df_dtypes[r->dtype].bytes, blocks, r->n,
            width);
}

static df_status run(const df_call *call, const form *f)
{
    rows r = rows_of(call, f);
    if (x_of(call, f)->size == 0) { /* empty sums */
        for (int i = 1; i < call->n_out; i++)
            if (call->out[i]->size)
                memset(call->out[i]->data, 0, (size_t)df_tensor_bytes(call->out[i]));
        return DF_OK;
    }
    char *cursor = call->workspace;
    if (r.scale) r.scale = whole_row(call, f, &r, f->back + 1, &cursor);
    if (r.offset) r.offset = whole_row(call, f, &r, 2, &cursor);
    const double cost = NS_PER_BYTE * df_dtypes[r.dtype].bytes * (f->back ? 2 : 1);
    if (r.n_chunks > 1) run_chunks(&r, cursor, cost);
    else if (f->back) run_blocks(&r, cursor, cost);
    else
        df_parallel_for(r.n_rows, df_max(TASK_ELEMENTS / r.n, 1), cost * (double)r.n + 20,
                        normalize_rows_task, &r);
    return DF_OK;
}

#define NORMALIZATION(op, mode, n_params, back)                                                  \
    static const form op##_form = {mode, n_params, back};                                        \
    static df_status op##_infer(const df_call *call, df_error *err)                              \
    {                                                                                            \
        return infer_normalization(call, &op##_form, err);                                       \
    }                                                                                            \
    static int64_t op##_workspace(const df_call *call)                                           \
    {                                                                                            \
        return workspace(call, &op##_form);                                                      \
    }                                                                                            \
    static df_status op##_run(const df_call *call, df_error *err)                                \
    {                                                                                            \
        (void)err;                                                                               \
        return run(call, &op##_form);                                                            \
    }                                                                                            \
    HALF_OPERANDS(op, (back) ? 3 : 1, 1) /* g and x, not the parameters */
#define BACK(op, mode, n_params)                                                                 \
    NORMALIZATION(op, mode, n_params, true)                                                      \
    static int op##_count(const df_call *call) { return count_back(call, &op##_form); }

NORMALIZATION(layer_norm, BY_DEVIATION, 2, false)
NORMALIZATION(rms_norm, BY_SQUARES, 1, false)
NORMALIZATION(l2_normalize, BY_LENGTH, 0, false)
BACK(layer_norm_grad, BY_DEVIATION, 2)
BACK(rms_norm_grad, BY_SQUARES, 1)
NORMALIZATION(l2_normalize_grad, BY_LENGTH, 0, true)

#define NORM_OP(op)                                                                              \
    .name = #op, .kind = DF_GENERAL, .cannot_fail = true, .n_attrs = 2,                          \
    .attrs = {{"ndim", DF_ATTR_INT}, {"epsilon", DF_ATTR_FLOAT}}, .infer = op##_infer,           \
    .workspace = op##_workspace, .run = op##_run, RUN_HALF_OF(op)
#define BACK_OP(op) NORM_OP(op), .n_in = DF_VARIADIC, .n_out = DF_VARIADIC, .promote = 1, \
    .count_out = op##_count

DF_OP(layer_norm) = {NORM_OP(layer_norm), .n_in = DF_VARIADIC, .n_out = 1, .promote = 1};
DF_OP(rms_norm) = {NORM_OP(rms_norm), .n_in = DF_VARIADIC, .n_out = 1, .promote = 1};
DF_OP(l2_normalize) = {NORM_OP(l2_normalize), .n_in = 1, .n_out = 1, .promote = 1};
DF_OP(layer_norm_grad) = {BACK_OP(layer_norm_grad)};
DF_OP(rms_norm_grad) = {BACK_OP(rms_norm_grad)};
DF_OP(l2_normalize_grad) = {NORM_OP(l2_normalize_grad), .n_in = 2, .n_out = 1, .promote = 3};
