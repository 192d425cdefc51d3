/* Joining tensors along an axis and splitting them: concat, stack, split, unstack. They move
 * elements by size, independent of the dtype. */
#include "base/thread.h"
#include "ops/array/strided.h"

#include <string.h>

enum { AXIS, SIZES, NUM }; /* of split; the others have only the axis */

#define LEAST_RUN 128    /* average bytes of runs that are copied one by one */
#define ROWS_BYTES 16384 /* moved per task, about */
#define SHORT_BYTES 4096 /* for fewer bytes, planning a strided copy takes longer than moving
                          * them */
#define RUN_NS 4.0
#define BYTE_NS 0.1
#define MAX_PIECES (INT64_C(1) << 24) /* more outputs are assumed to be an error */

static int64_t product(const int64_t *shape, int begin, int end)
{
    int64_t n = 1;
    for (int d = begin; d < end; d++) n *= shape[d];
    return n;
}

static int positive_axis(int64_t axis, int ndim) { return (int)(axis < 0 ? axis + ndim : axis); }

/* Copies `part`, one of the tensors that form `whole`, to or from its position there: runs of
 * part_run bytes, whole_run bytes apart, from `offset` on. */
static void copy_part(const df_tensor *whole, const df_tensor *part, int64_t n_runs,
                      int64_t whole_run, int64_t part_run, int64_t offset, bool join)
{
    const int bytes = df_dtypes[part->dtype].bytes;
    char *place = (char *)whole->data + offset, *piece = part->data;
    df_strided s;
    if (place == piece) return; /* computed there, see `joins` in op/op.h */
    df_strided_begin(&s, join ? piece : place, join ? place : piece, bytes);
    DF_SYM(df_strided_add)(&s, n_runs, join ? part_run : whole_run, join ? whole_run : part_run);
    DF_SYM(df_strided_add)(&s, part_run / bytes, bytes, bytes);
    DF_SYM(df_strided_copy)(&s);
}

/* Copies all parts row by row, a row being a run of each part. A thread thus moves the data that it
 * processes before and after, which stays in its cache. */
typedef struct {
    const df_tensor *whole, *const *parts;
    int n;
    int64_t n_runs, whole_run;
    bool join;
} rows;

static void copy_rows(void *context, int64_t begin, int64_t end)
{
    const rows *r = context;
    char *place = (char *)r->whole->data + begin * r->whole_run;
    for (int64_t row = begin; row < end; row++)
        for (int i = 0; i < r->n; i++) {
            const int64_t run = df_tensor_bytes(r->parts[i]) / r->n_runs;
            char *piece = (char *)r->parts[i]->data + row * run;
            memcpy(r->join ? place : piece, r->join ? piece : place, (size_t)run);
            place += run;
        }
}

static df_status copy_parts(const df_tensor *whole, const df_tensor *const *parts, int n, int axis,
                            bool join)
{
    const int bytes = df_dtypes[whole->dtype].bytes;
    int64_t offset = 0;
    if (whole->size == 0) return DF_OK;
    if (axis == 0 && df_tensor_bytes(whole) <= SHORT_BYTES) {
        char *place = whole->data;
        for (int i = 0; i < n; i++) {
            const int64_t part = parts[i]->size * bytes;
            void *piece = parts[i]->data;
            if (part && piece != place)
                memcpy(join ? place : piece, join ? piece : place, (size_t)part);
            place += part;
        }
        return DF_OK;
    }
    const int64_t n_runs = product(whole->shape, 0, axis);
    const int64_t whole_run = whole->size / n_runs * bytes;
    if (n_runs > 1 && whole_run >= LEAST_RUN * n) {
        rows r = {whole, parts, n, n_runs, whole_run, join};
        df_parallel_for(n_runs, df_ceil_div(ROWS_BYTES, whole_run),
                        RUN_NS * n + BYTE_NS * (double)whole_run, copy_rows, &r);
        return DF_OK;
    }
    for (int i = 0; i < n; i++) {
        const int64_t part_run = parts[i]->size / n_runs * bytes;
        copy_part(whole, parts[i], n_runs, whole_run, part_run, offset, join);
        offset += part_run;
    }
    return DF_OK;
}

/* --- concat, stack --- */

/* Checks that input i has the shape and dtype of input 0, except along `axis` (-1: no exception).
 * Unknown dimensions of `shape` are set from the input. */
static df_status check_part(const df_call *call, int i, int axis, int64_t *shape, df_error *err)
{
    const df_tensor *first = call->in[0], *x = call->in[i];
    bool fits = x->ndim == first->ndim;
    if (x->dtype != first->dtype)
        return df_fail(err, DF_BAD_DTYPE, "%s: input 0 is %s, input %d is %s, expected one dtype",
                       call->op->name, df_tensor_text(first).text, i, df_tensor_text(x).text);
    for (int d = 0; d < first->ndim && fits; d++) {
        if (d == axis) continue;
        if (shape[d] == DF_UNKNOWN) shape[d] = x->shape[d];
        fits = x->shape[d] == shape[d] || x->shape[d] == DF_UNKNOWN;
    }
    if (fits) return DF_OK;
    return df_fail(err, DF_BAD_SHAPE, "%s: input 0 has shape %s, input %d has %s, expected "
                   "equal shapes%s", call->op->name,
                   df_shape_text(first->ndim, first->shape).text, i,
                   df_shape_text(x->ndim, x->shape).text, axis < 0 ? "" : " except along axis");
}

DF_ONCE(df_status, infer_concat, (const df_call *call, df_error *err))
{
    const df_tensor *first = call->in[0];
    int64_t shape[DF_MAX_NDIM], total = 0;
    int axis;
    df_status status =
        df_normalize_axis(call->attrs[AXIS].i, first->ndim, call->op->name, &axis, err);
    for (int d = 0; d < first->ndim; d++) shape[d] = first->shape[d];
    for (int i = 0; i < call->n_in && status == DF_OK; i++) {
        status = check_part(call, i, axis, shape, err);
        if (status != DF_OK) break;
        const int64_t n = call->in[i]->shape[axis];
        if (n == DF_UNKNOWN || total == DF_UNKNOWN) total = DF_UNKNOWN;
        else if (!df_add_size(total, n, &total))
            return df_fail(err, DF_OVERFLOW, "%s: the dimension of axis %d overflows 64 bits",
                           call->op->name, axis);
    }
    if (status != DF_OK) return status;
    shape[axis] = total;
    return df_tensor_set(call->out[0], first->dtype, first->ndim, shape, call->op->name, err);
}

DF_ONCE(df_status, infer_stack, (const df_call *call, df_error *err))
{
    const df_tensor *first = call->in[0];
    int64_t shape[DF_MAX_NDIM + 1];
    int axis;
    df_status status =
        df_normalize_axis(call->attrs[AXIS].i, first->ndim + 1, call->op->name, &axis, err);
    for (int d = 0; d < first->ndim; d++) shape[d] = first->shape[d];
    for (int i = 1; i < call->n_in && status == DF_OK; i++)
        status = check_part(call, i, -1, shape, err);
    if (status != DF_OK) return status;
    memmove(shape + axis + 1, shape + axis, (size_t)(first->ndim - axis) * sizeof *shape);
    shape[axis] = call->n_in;
    return df_tensor_set(call->out[0], first->dtype, first->ndim + 1, shape, call->op->name, err);
}

static df_status run_join(const df_call *call, df_error *err)
{
    (void)err;
    const df_tensor *y = call->out[0];
    return copy_parts(y, call->in, call->n_in, positive_axis(call->attrs[AXIS].i, y->ndim), true);
}

/* --- split, unstack --- */

static df_status run_part(const df_call *call, df_error *err)
{
    (void)err;
    const df_tensor *x = call->in[0];
    return copy_parts(x, (const df_tensor *const *)call->out, call->n_out,
                      positive_axis(call->attrs[AXIS].i, x->ndim), false);
}

static int count_unstack(const df_call *call)
{
    const df_tensor *x = call->in[0];
    const int axis = positive_axis(call->attrs[AXIS].i, x->ndim);
    if (axis < 0 || axis >= x->ndim) return 1; /* infer reports the error, also for other axes */
    const int64_t n = x->shape[axis];
    return n == DF_UNKNOWN || n > MAX_PIECES ? 1 : (int)n;
}

DF_ONCE(df_status, infer_unstack, (const df_call *call, df_error *err))
{
    const df_tensor *x = call->in[0];
    int64_t shape[DF_MAX_NDIM];
    int axis, ndim = 0;
    df_status status = df_normalize_axis(call->attrs[AXIS].i, x->ndim, call->op->name, &axis, err);
    if (status == DF_OK && (x->shape[axis] == DF_UNKNOWN || x->shape[axis] > MAX_PIECES))
        return df_fail(err, DF_BAD_SHAPE,
                       "%s: dimension %d of %s, expected a known size of at most %lld",
                       call->op->name, axis, df_tensor_text(x).text, (long long)MAX_PIECES);
    if (status != DF_OK) return status;
    for (int d = 0; d < x->ndim; d++)
        if (d != axis) shape[ndim++] = x->shape[d];
    for (int i = 0; i < call->n_out && status == DF_OK; i++)
        status = df_tensor_set(call->out[i], x->dtype, ndim, shape, call->op->name, err);
    return status;
}

static int count_split(const df_call *call)
{
    const int64_t num = call->attrs[NUM].i;
    if (num == 0) return (int)df_min(call->attrs[SIZES].list.n, MAX_PIECES);
    return num < 0 || num > MAX_PIECES ? 1 : (int)num;
}

/* Sizes along the axis: the given ones, with one -1 filled in; or `num` equal ones. */
static df_status split_sizes(const df_call *call, int64_t n, int64_t *open, int64_t *each,
                             df_error *err)
{
    const df_tensor *x = call->in[0];
    const df_ints sizes = call->attrs[SIZES].list;
    const int64_t num = call->attrs[NUM].i;
    int64_t total = 0;
    int n_open = 0;
    bool known = n != DF_UNKNOWN;
    *open = *each = DF_UNKNOWN;
    if (num != 0) {
        if (num < 0 || num > MAX_PIECES || (n != DF_UNKNOWN && n % num))
            return df_fail(err, DF_BAD_SHAPE, "%s: %s in %lld equal parts of %lld", call->op->name,
                           df_tensor_text(x).text, (long long)num, (long long)n);
        if (n != DF_UNKNOWN) *each = n / num;
        return DF_OK;
    }
    bool fits = sizes.n <= MAX_PIECES;
    for (int64_t i = 0; i < sizes.n && fits; i++) {
        if (sizes.v[i] == -1) n_open++;
        else if (sizes.v[i] == DF_OPEN) known = false;
        else fits = df_add_size(total, sizes.v[i], &total) && sizes.v[i] >= 0;
    }
    if (known) fits = fits && (n_open ? total <= n : total == n);
    else if (n != DF_UNKNOWN) fits = fits && total <= n;
    if (!fits || n_open > 1)
        return df_fail(err, DF_BAD_SHAPE,
                       "%s: sizes are %s for %s, expected a sum of %lld, with at most one -1",
                       call->op->name, df_shape_text((int)df_min(sizes.n, 99), sizes.v).text,
                       df_tensor_text(x).text, (long long)n);
    if (known) *open = n - total;
    return DF_OK;
}

DF_ONCE(df_status, infer_split, (const df_call *call, df_error *err))
{
    const df_tensor *x = call->in[0];
    const df_ints sizes = call->attrs[SIZES].list;
    int64_t shape[DF_MAX_NDIM], open, each;
    int axis;
    df_status status = df_normalize_axis(call->attrs[AXIS].i, x->ndim, call->op->name, &axis, err);
    if (status == DF_OK) status = split_sizes(call, x->shape[axis], &open, &each, err);
    if (status != DF_OK) return status;
    for (int d = 0; d < x->ndim; d++) shape[d] = x->shape[d];
    for (int i = 0; i < call->n_out && status == DF_OK; i++) {
        shape[axis] = call->attrs[NUM].i ? each : sizes.v[i] == -1 ? open
                      : sizes.v[i] == DF_OPEN ? DF_UNKNOWN : sizes.v[i];
        status = df_tensor_set(call->out[i], x->dtype, x->ndim, shape, call->op->name, err);
    }
    return status;
}

#define AXIS_ATTR {"axis", DF_ATTR_INT, .axis = true}

DF_OP(concat) = {.name = "concat", .kind = DF_GENERAL, .cannot_fail = true,
                 .n_in = DF_VARIADIC, .n_out = 1,
                 .n_attrs = 1, .attrs = {AXIS_ATTR}, .promote = 1, .joins = true,
                 .infer = infer_concat, .run = run_join};
DF_OP(stack) = {.name = "stack", .kind = DF_GENERAL, .cannot_fail = true,
                .n_in = DF_VARIADIC, .n_out = 1,
                .n_attrs = 1, .attrs = {AXIS_ATTR}, .promote = 1, .joins = true,
                .infer = infer_stack, .run = run_join};
DF_OP(split) = {.name = "split", .kind = DF_GENERAL, .cannot_fail = true,
                .n_in = 1, .n_out = DF_VARIADIC,
                .n_attrs = 3,
                .attrs = {AXIS_ATTR, {"sizes", DF_ATTR_INTS, .open = true}, {"num", DF_ATTR_INT}},
                .count_out = count_split, .infer = infer_split, .run = run_part};
DF_OP(unstack) = {.name = "unstack", .kind = DF_GENERAL, .cannot_fail = true,
                  .n_in = 1, .n_out = DF_VARIADIC,
                  .n_attrs = 1, .attrs = {AXIS_ATTR}, .count_out = count_unstack,
                  .infer = infer_unstack, .run = run_part};
