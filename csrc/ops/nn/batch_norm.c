/* fused_batch_norm and group_norm, which normalize channels, alone or in groups, over the pixels of
 * one image or of a batch; and their gradients.
 *
 * x is read twice. The first pass computes statistics of areas that stay in cache: some rows of a
 * block of columns (channels last) or a piece of a row (channels first). The statistics are
 * combined per channel, or group of channels, into a plan of a few numbers per channel, which the
 * second pass applies to all of x. 16-bit floats are widened in pieces that stay in L1. Short
 * groups, channels first, go through both passes one at a
 * time. Areas depend only on shapes, and so do the results. */
#include "ops/nn/normalization.h"
#include "base/thread.h"
#include "gemm/half.h"

#define BLOCK 512           /* columns of an area */
#define AREA 32768          /* elements of an area, about */
#define AREA_ROWS_MIN 128   /* so that parts are few compared with elements */
#define AREA_ROWS_MAX 4096  /* longer sums would lose digits */
#define AREA_PIECE 4096     /* elements of an area at a time, in L1; at least 8 rows */
#define FOLDED 64           /* columns: narrower rows are treated as parts of longer ones */
#define TASK_ELEMENTS 8192
#define SHORT_GROUP 65536   /* elements of a group that fit L2 */
#define MANY_GROUPS 16
#define NS_PER_BYTE 0.05

/* Layout (n, s, c) or, if `first`, (n, c, s). */
typedef struct {
    norm_kind kind;
    bool first;
    int64_t n, s, c, groups; /* groups per n; 0: separate channels, over all n */
    int64_t size;            /* channels of a group */
    const void *x, *g, *scale, *offset; /* g: NULL in the forward pass; scale, offset: c numbers or
                                         * NULL */
    void *out, *mean, *variance, *to_scale, *to_offset;
    int64_t width;            /* channels last: columns, a multiple of c */
    int64_t chunk, n_chunks;  /* rows of an area; if `first`: elements */
    int64_t n_blocks;         /* blocks of columns */
    int64_t n_wholes, n_planned;
    norm_part *parts;   /* (n, n_chunks, c) */
    norm_whole *wholes; /* (c) or (n, groups) */
    void *plan;         /* (4, c) or (4, n, c) */
    df_dtype dtype, stored; /* of the computation, with parameters; of x, g and out in memory */
} channels;

/* An area of a task: its start, its part, its index in the plan. */
typedef struct {
    int64_t at, part, planned, rows, cols;
} area;

static area area_of(const channels *ch, int64_t item)
{
    area a;
    int64_t n, from;
    if (ch->first && ch->n_chunks == 1) {
        return (area){item * ch->s, item, ch->groups ? item : item % ch->c, 1, ch->s};
    } else if (ch->first) {
        const int64_t chunk = item % ch->n_chunks, row = item / ch->n_chunks, c = row % ch->c;
        n = row / ch->c, from = chunk * ch->chunk;
        a = (area){row * ch->s + from, (n * ch->n_chunks + chunk) * ch->c + c, c, 1,
                   df_min(ch->chunk, ch->s - from)};
    } else {
        const int64_t block = item % ch->n_blocks, chunks = item / ch->n_blocks;
        const int64_t rows = ch->s * ch->c / ch->width, column = block * BLOCK;
        n = chunks / ch->n_chunks, from = chunks % ch->n_chunks * ch->chunk;
        a = (area){n * ch->s * ch->c + from * ch->width + column, chunks * ch->c + column, column,
                   df_min(ch->chunk, rows - from), df_min(BLOCK, ch->width - column)};
    }
    if (ch->groups) a.planned += n * ch->c;
    return a;
}

/* Rows [first, first + n) of an area, `stride` apart: in place, or widened. */
static const void *rows_in(const channels *ch, const void *x, const area *a, int64_t first,
                           int64_t n, int64_t *stride, float *wide)
{
    const int64_t at = a->at + first * ch->width;
    const bool widens = ch->stored != ch->dtype;
    *stride = widens ? a->cols : ch->width;
    if (!widens || a->cols == ch->width) return df_piece(ch->stored, x, at, n * a->cols, wide);
    for (int64_t r = 0; r < n; r++)
        DF_SYM(df_copy_wide)(ch->stored, a->cols, wide + r * a->cols,
                             df_element(ch->stored, x, at + r * ch->width));
    return wide;
}

#define TEMPLATE "ops/nn/batch_norm_elementwise_formulas.h"
#include "ops/each_float.h"
#undef TEMPLATE
#define TEMPLATE "ops/nn/batch_norm_formulas.h"
#include "ops/each_float.h"
#undef TEMPLATE

#define TASK(name)                                                                               \
    static void name##_task(void *context, int64_t begin, int64_t end)                           \
    {                                                                                            \
        const channels *ch = context;                                                            \
        (ch->dtype == DF_F32 ? name##_f32 : DF_HAS(F64, name##_f64))(ch, begin, end);            \
    }
TASK(measure_columns)
TASK(measure_rows)
TASK(plan_wholes)
TASK(apply_columns)
TASK(apply_rows)

/* --- combining parts --- */

static double scale_of(const channels *ch, int64_t c)
{
    if (!ch->scale) return 1;
    return ch->dtype == DF_F32 ? (double)((const float *)ch->scale)[c]
                               : ((const double *)ch->scale)[c];
}

#define CHANNELS_AT_ONCE 16

/* Combines [begin, end) of c wholes over all n and chunks, several channels at a time, as they are
 * adjacent. */
static void join_batch(void *context, int64_t begin, int64_t end)
{
    const channels *ch = context;
    norm_part sum[CHANNELS_AT_ONCE] = {0};
    for (int64_t k = 0; k < ch->n * ch->n_chunks; k++)
        for (int64_t c = begin; c < end; c++)
            norm_count(&sum[c - begin], &ch->parts[k * ch->c + c]);
    for (int64_t c = begin; c < end; c++) norm_divide(&sum[c - begin]);
    for (int64_t k = 0; k < ch->n * ch->n_chunks; k++)
        for (int64_t c = begin; c < end; c++)
            norm_add(&sum[c - begin], &ch->parts[k * ch->c + c], scale_of(ch, c));
    for (int64_t c = begin; c < end; c++)
        ch->wholes[c] = norm_finish(&ch->kind, &sum[c - begin]);
}

/* Combines [begin, end) of the wholes of (n, groups). */
static void join_groups(void *context, int64_t begin, int64_t end)
{
    const channels *ch = context;
    const int64_t size = ch->size;
    for (int64_t i = begin; i < end; i++) {
        const int64_t n = i / ch->groups, first = i % ch->groups * size;
        norm_part sum = {0};
        for (int64_t k = n * ch->n_chunks; k < (n + 1) * ch->n_chunks; k++)
            for (int64_t c = first; c < first + size; c++)
                norm_count(&sum, &ch->parts[k * ch->c + c]);
        norm_divide(&sum);
        for (int64_t k = n * ch->n_chunks; k < (n + 1) * ch->n_chunks; k++)
            for (int64_t c = first; c < first + size; c++)
                norm_add(&sum, &ch->parts[k * ch->c + c], scale_of(ch, c));
        ch->wholes[i] = norm_finish(&ch->kind, &sum);
    }
}

/* The gradients of scale, the sum of g z, and of offset, the sum of g. */
static void sum_channels(void *context, int64_t begin, int64_t end)
{
    const channels *ch = context;
    double to_scale[CHANNELS_AT_ONCE] = {0}, to_offset[CHANNELS_AT_ONCE] = {0};
    int64_t whole[CHANNELS_AT_ONCE];
    for (int64_t c = begin; c < end; c++) whole[c - begin] = c / ch->size;
    for (int64_t k = 0; k < ch->n * ch->n_chunks; k++) {
        const norm_whole *wholes = ch->wholes + k / ch->n_chunks * ch->groups;
        for (int64_t c = begin; c < end; c++) {
            const norm_part *p = &ch->parts[k * ch->c + c];
            const norm_whole *w = &wholes[whole[c - begin]];
            to_scale[c - begin] += (p->moment + (p->mean - w->mean) * p->flow) * w->rate;
            to_offset[c - begin] += p->flow;
        }
    }
    for (int64_t c = begin; c < end; c++)
        (ch->dtype == DF_F32 ? write_sums_f32 : DF_HAS(F64, write_sums_f64))(
            ch, c, to_scale[c - begin], to_offset[c - begin]);
}

/* In the forward pass a group whose channels are consecutive in memory is measured as one
 * channel. */
static channels measured(const channels *ch)
{
    channels m = *ch;
    if (!ch->first || !ch->groups || ch->g) return m;
    m.s *= ch->size;
    m.c = ch->groups;
    m.size = 1;
    m.scale = NULL; /* not used for measuring */
    m.n_chunks = df_ceil_div(m.s, m.chunk);
    return m;
}

static void join(channels *ch, channels *m)
{
    if (ch->groups)
        df_parallel_for(ch->n_wholes, df_max(TASK_ELEMENTS / m->c, 1),
                        10 * (double)(m->n_chunks * m->size), join_groups, m);
    else
        df_parallel_for(ch->c, CHANNELS_AT_ONCE, 10 * (double)(ch->n * ch->n_chunks), join_batch,
                        ch);
    df_parallel_for(ch->n_wholes, df_max(TASK_ELEMENTS / ch->size, 1), 1 + (double)ch->size,
                    plan_wholes_task, ch);
}

/* --- shapes --- */

enum { FIRST, EPSILON, GROUPS };

/* Inputs: x, scale, offset; of the gradient: g, x, scale. The parameters are all present or all
 * absent. */
typedef struct {
    bool groups, back;
} form;

static const df_tensor *x_of(const df_call *call, const form *f) { return call->in[f->back]; }

static int64_t channels_of(const df_call *call, const form *f)
{
    const df_tensor *x = x_of(call, f);
    return x->shape[call->attrs[FIRST].i ? 1 : x->ndim - 1];
}

static df_status check_groups(const df_call *call, const form *f, df_error *err)
{
    const int64_t groups = call->attrs[GROUPS].i, c = channels_of(call, f);
    if (groups == -1 || (groups >= 1 && (c == DF_UNKNOWN || c % groups == 0))) return DF_OK;
    return df_fail(err, DF_INVALID_ARGUMENT, "%s: %lld groups of %lld channels, expected a divisor "
                   "of the number of channels, or -1 for one group per channel", call->op->name,
                   (long long)groups, (long long)c);
}

static df_status check_params(const df_call *call, const form *f, df_error *err)
{
    const df_tensor *x = x_of(call, f);
    const int64_t c = channels_of(call, f);
    for (int i = f->back + 1; i < call->n_in; i++) {
        const df_tensor *p = call->in[i];
        if (p->ndim == 1 && (p->shape[0] == c || p->shape[0] == DF_UNKNOWN || c == DF_UNKNOWN))
            continue;
        return df_fail(err, DF_BAD_SHAPE,
                       "%s: %s has shape %s, expected (%lld,), a number per channel of x, "
                       "which has shape %s, channels %s", call->op->name,
                       i == f->back + 1 ? "scale" : "offset",
                       df_shape_text(p->ndim, p->shape).text, (long long)c,
                       df_shape_text(x->ndim, x->shape).text,
                       call->attrs[FIRST].i ? "first" : "last");
    }
    return DF_OK;
}

static df_status check(const df_call *call, const form *f, df_error *err)
{
    df_status status = norm_check_inputs(call, f->back, 3, err);
    if (status != DF_OK) return status;
    const df_tensor *x = x_of(call, f);
    if (x->ndim < 2)
        return df_fail(err, DF_BAD_SHAPE, "%s: x has shape %s, expected two dimensions or more",
                       call->op->name, df_shape_text(x->ndim, x->shape).text);
    if (f->groups) status = check_groups(call, f, err);
    return status == DF_OK ? check_params(call, f, err) : status;
}

DF_ONCE(df_status, infer_batch_norm, (const df_call *call, const form *f, df_error *err))
{
    df_status status = check(call, f, err);
    if (status != DF_OK) return status;
    const df_tensor *x = x_of(call, f);
    const int64_t c = channels_of(call, f);
    status = df_tensor_set(call->out[0], x->dtype, x->ndim, x->shape, call->op->name, err);
    for (int i = 1; i < call->n_out && status == DF_OK; i++)
        status = df_tensor_set(call->out[i], x->dtype, 1, &c, call->op->name, err);
    return status;
}

/* Chooses rows and columns of areas. Narrow rows are joined, by the largest power of two that
 * fits. */
static void set_areas(channels *ch)
{
    ch->width = ch->c;
    ch->n_blocks = 1;
    if (ch->first) {
        ch->chunk = NORM_CHUNK;
        ch->n_chunks = df_ceil_div(ch->s, ch->chunk);
        return;
    }
    if (!ch->groups) ch->s *= ch->n, ch->n = 1;
    while (ch->width < FOLDED && ch->s * ch->c / ch->width % 2 == 0) ch->width *= 2;
    ch->n_blocks = df_ceil_div(ch->width, BLOCK);
    ch->chunk = df_min(df_max(AREA / df_min(ch->width, BLOCK), AREA_ROWS_MIN), AREA_ROWS_MAX);
    ch->n_chunks = df_ceil_div(ch->s * ch->c / ch->width, ch->chunk);
}

DF_ONCE(channels, channels_in, (const df_call *call, const form *f))
{
    const df_tensor *x = x_of(call, f);
    channels ch = {.kind = {BY_DEVIATION, call->attrs[EPSILON].f}, .n = x->shape[0], .s = 1,
                   .c = channels_of(call, f), .dtype = df_wide_dtype(x->dtype),
                   .stored = x->dtype, .x = x->data, .out = call->out[0]->data};
    for (int d = 1; d < x->ndim; d++) ch.s *= x->shape[d];
    ch.s /= df_max(ch.c, 1);
    ch.first = call->attrs[FIRST].i && ch.s > 1;
    if (f->groups) ch.groups = call->attrs[GROUPS].i == -1 ? ch.c : call->attrs[GROUPS].i;
    if (x->size == 0) return ch;
    ch.size = ch.groups ? ch.c / ch.groups : 1;
    set_areas(&ch);
    ch.n_wholes = ch.groups ? ch.n * ch.groups : ch.c;
    ch.n_planned = ch.groups ? ch.n * ch.c : ch.c;
    const bool params = call->n_in > f->back + 1;
    if (params) ch.scale = call->in[f->back + 1]->data;
    if (params && !f->back) ch.offset = call->in[2]->data;
    if (f->back) ch.g = call->in[0]->data;
    if (f->back && params) ch.to_scale = call->out[1]->data, ch.to_offset = call->out[2]->data;
    if (!f->back && !f->groups) ch.mean = call->out[1]->data, ch.variance = call->out[2]->data;
    return ch;
}

static int64_t workspace(const df_call *call, const form *f)
{
    const channels ch = channels_in(call, f);
    if (x_of(call, f)->size == 0) return 0;
    return ch.n * ch.n_chunks * ch.c * (int64_t)sizeof *ch.parts +
           ch.n_wholes * (int64_t)sizeof *ch.wholes + 4 * ch.n_planned * df_dtypes[ch.dtype].bytes;
}

/* --- execution --- */

/* Empty sums are 0, empty means are NaN. */
static df_status run_empty(const df_call *call, const form *f)
{
    for (int i = 1; i < call->n_out; i++)
        for (int64_t c = 0; c < call->out[i]->size; c++) {
            const double value = f->back ? 0 : NAN;
            if (call->out[i]->dtype == DF_F32) ((float *)call->out[i]->data)[c] = (float)value;
            else ((double *)call->out[i]->data)[c] = value;
        }
    return DF_OK;
}

/* Estimated time of a pass over the given number of elements. */
static double ns_of(const channels *ch, int64_t numbers)
{
    return NS_PER_BYTE * (double)(numbers * df_dtypes[ch->dtype].bytes) * (ch->g ? 2 : 1) + 20;
}

static void for_areas(channels *ch, df_task task)
{
    const int64_t items = ch->n * ch->n_chunks * (ch->first ? ch->c : ch->n_blocks);
    const int64_t each =
        ch->first ? df_min(ch->s, ch->chunk) : ch->chunk * df_min(ch->width, BLOCK);
    df_parallel_for(items, df_max(TASK_ELEMENTS / each, 1), ns_of(ch, each), task, ch);
}

/* True if a group stays in cache and there are enough groups for the threads. */
static bool has_short_groups(const channels *ch)
{
    return ch->first && ch->groups &&
           ch->size * ch->s <= (ch->n_wholes < MANY_GROUPS ? TASK_ELEMENTS : SHORT_GROUP);
}

static void groups_task(void *context, int64_t begin, int64_t end)
{
    channels *ch = context, m = measured(ch);
    measure_rows_task(&m, begin * m.size * m.n_chunks, end * m.size * m.n_chunks);
    join_groups(&m, begin, end);
    plan_wholes_task(ch, begin, end);
    apply_rows_task(ch, begin * ch->size * ch->n_chunks, end * ch->size * ch->n_chunks);
}

static df_status run(const df_call *call, const form *f)
{
    channels ch = channels_in(call, f);
    if (x_of(call, f)->size == 0) return run_empty(call, f);
    ch.parts = call->workspace;
    ch.wholes = (norm_whole *)(ch.parts + ch.n * ch.n_chunks * ch.c);
    ch.plan = ch.wholes + ch.n_wholes;
    channels m = measured(&ch);
    if (has_short_groups(&ch)) {
        const int64_t each = ch.size * ch.s;
        df_parallel_for(ch.n_wholes, df_max(TASK_ELEMENTS / each, 1), ns_of(&ch, each), groups_task,
                        &ch);
    } else {
        for_areas(&m, ch.first ? measure_rows_task : measure_columns_task);
        join(&ch, &m);
        for_areas(&ch, ch.first ? apply_rows_task : apply_columns_task);
    }
    if (ch.to_scale)
        df_parallel_for(ch.c, CHANNELS_AT_ONCE, 10 * (double)(ch.n * ch.n_chunks), sum_channels,
                        &ch);
    for (int64_t c = 0; c < ch.c && ch.mean; c++)
        (ch.dtype == DF_F32 ? write_moments_f32 : DF_HAS(F64, write_moments_f64))(&ch, c);
    return DF_OK;
}

static int count_back(const df_call *call) { return call->n_in > 2 ? 3 : 1; }

#define CHANNEL_NORM(op, groups, back)                                                           \
    static const form op##_form = {groups, back};                                                \
    static df_status op##_infer(const df_call *call, df_error *err)                              \
    {                                                                                            \
        return infer_batch_norm(call, &op##_form, err);                                          \
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
CHANNEL_NORM(fused_batch_norm, false, false)
CHANNEL_NORM(fused_batch_norm_grad, false, true)
CHANNEL_NORM(group_norm, true, false)
CHANNEL_NORM(group_norm_grad, true, true)

#define CHANNEL_OP(op)                                                                           \
    .name = #op, .kind = DF_GENERAL, .cannot_fail = true, .n_in = DF_VARIADIC, .promote = 1,     \
    .infer = op##_infer, .workspace = op##_workspace, .run = op##_run, RUN_HALF_OF(op)
#define BATCH_ATTRS                                                                              \
    .n_attrs = 2, .attrs = {{"channels_first", DF_ATTR_BOOL}, {"epsilon", DF_ATTR_FLOAT}}
#define GROUP_ATTRS                                                                              \
    .n_attrs = 3, .attrs = {{"channels_first", DF_ATTR_BOOL}, {"epsilon", DF_ATTR_FLOAT},        \
                            {"groups", DF_ATTR_INT}}

DF_OP(fused_batch_norm) = {CHANNEL_OP(fused_batch_norm), BATCH_ATTRS, .n_out = 3};
DF_OP(fused_batch_norm_grad) = {CHANNEL_OP(fused_batch_norm_grad), BATCH_ATTRS,
                                .n_out = DF_VARIADIC, .count_out = count_back};
DF_OP(group_norm) = {CHANNEL_OP(group_norm), GROUP_ATTRS, .n_out = 1};
DF_OP(group_norm_grad) = {CHANNEL_OP(group_norm_grad), GROUP_ATTRS, .n_out = DF_VARIADIC,
                          .count_out = count_back};

/* --- with given moments: (x, mean, factor, offset) --- */

DF_OP(normalize_by) = {QUATERNARY_OP("normalize_by"), .tile = {FLOATS(normalize_by)}};
