/* Ops for sizes that depend on data: application of another op with attributes known only at run
 * time, a size as a tensor, an assertion about sizes, and the sum that undoes a broadcast.
 *
 * Other ops are accessed only through their records. */
#include "op/op.h"
#include "op/registry.h"
#include "ops/control_flow/types.h"

#include <string.h>

/* --- dynamic_attrs: inputs of the applied op, then the int64 vector of run-time values --- */

enum { OP, OUTPUTS, CODE };

/* `outputs`: types, see types.h. `encoded`: (mark, value) for each attribute of the applied op; for
 * a list its length, then a pair per entry. */
enum { LITERAL, FROM_VECTOR };

typedef struct {
    df_ints code, values; /* values: of the input vector */
    int64_t at;
} reader;

static bool next_word(reader *r, int64_t *word)
{
    if (r->at >= r->code.n) return false;
    *word = r->code.v[r->at++];
    return true;
}

static bool next_value(reader *r, int64_t *mark, int64_t *value)
{
    if (!next_word(r, mark) || !next_word(r, value)) return false;
    if (*mark == LITERAL) return true;
    if (*mark != FROM_VECTOR || *value < 0 || *value >= r->values.n) return false;
    *value = r->values.v[*value];
    return true;
}

static bool next_list(reader *r, int64_t *buffer, df_ints *list)
{
    int64_t n, mark;
    if (!next_word(r, &n) || n < 0 || n > (r->code.n - r->at) / 2) return false;
    *list = (df_ints){buffer, n};
    for (int64_t i = 0; i < n; i++)
        if (!next_value(r, &mark, &buffer[i])) return false;
    return true;
}

/* Reads the attributes of this run; lists are stored in `buffer`, which has one word per word of
 * code. `limited`: an attribute has a type that does not hold every number. */
static bool read_attrs(const df_op *op, reader *r, df_attr *attrs, int64_t *buffer, bool *limited)
{
    int64_t mark, value;
    *limited = false;
    for (int k = 0; k < op->n_attrs; k++) {
        if (op->attrs[k].type == DF_ATTR_INTS) {
            if (!next_list(r, buffer, &attrs[k].list)) return false;
            buffer += attrs[k].list.n;
            continue;
        }
        if (!next_value(r, &mark, &value)) return false;
        *limited |= op->attrs[k].type == DF_ATTR_DTYPE || op->attrs[k].type == DF_ATTR_BOOL;
        if (op->attrs[k].type != DF_ATTR_FLOAT) attrs[k].i = value;
        else if (mark == FROM_VECTOR) attrs[k].f = (double)value;
        else memcpy(&attrs[k].f, &value, sizeof value); /* the bits of a double */
    }
    return r->at == r->code.n;
}

DF_ONCE(df_status, infer_dynamic, (const df_call *call, df_error *err));

static int count_dynamic(const df_call *call) { return df_types_count(call->attrs[OUTPUTS].list); }

/* True if an op can be applied. Programs handle written inputs, host calls and bodies only in
 * separate instructions. */
static bool applies(int64_t index)
{
    if (index < 0 || index >= df_registry_size()) return false;
    const df_op *op = df_registry_op(index);
    return !op->writes && !op->effect && !op->host && !op->n_bodies && op->infer != infer_dynamic;
}

/* Checks that the op can be applied and that there is a vector of values. */
static df_status check_call(const df_call *call, df_error *err)
{
    const df_tensor *values = call->in[call->n_in - 1];
    const int64_t op = call->attrs[OP].i;
    if (applies(op) && values->dtype == DF_I64 && values->ndim == 1) return DF_OK;
    return df_fail(err, DF_INVALID_ARGUMENT, "%s: op %lld, %d outputs, values %s", call->op->name,
                   (long long)op, call->n_out, df_tensor_text(values).text);
}

DF_ONCE(df_status, infer_dynamic, (const df_call *call, df_error *err))
{
    df_status status = check_call(call, err);
    return status == DF_OK ? df_types_infer(call, call->attrs[OUTPUTS].list, 0, err) : status;
}

/* Bytes for the lists of attributes. */
static int64_t dynamic_workspace(const df_call *call)
{
    return (call->attrs[CODE].list.n + 1) * (int64_t)sizeof(int64_t);
}

/* True if an output has the dtype, the rank and the known dimensions of a type. */
static bool is_of_type(const df_tensor *y, const int64_t *type)
{
    if (y->dtype != (df_dtype)type[0] || y->ndim != type[1]) return false;
    for (int d = 0; d < y->ndim; d++)
        if (type[2 + d] != DF_UNKNOWN && type[2 + d] != y->shape[d]) return false;
    return true;
}

/* Infers the shapes of the applied op; they must match the declared types. */
static df_status infer_applied(const df_call *applied, df_ints types, df_error *err)
{
    const int64_t *type = types.v;
    df_status status = df_op_infer_for_run(applied, err);
    for (int k = 0; k < applied->n_out && status == DF_OK; k++, type += 2 + type[1]) {
        const df_tensor *y = applied->out[k];
        if (!is_of_type(y, type))
            return df_fail(err, DF_BAD_SHAPE, "%s: output %d is %s, but was %s %s while tracing",
                           applied->op->name, k, df_tensor_text(y).text, df_dtypes[type[0]].name,
                           df_shape_text((int)type[1], type + 2).text);
    }
    return status;
}

static df_status fail_types(const df_call *call, df_error *err)
{
    return df_fail(err, DF_INVALID_ARGUMENT, "%s: types of %d outputs, expected %d", call->op->name,
                   count_dynamic(call), call->n_out);
}

DF_ONCE(df_status, apply_dynamic, (const df_call *call, df_call *applied, df_attr *attrs,
                                   df_error *err))
{
    bool limited;
    df_status status = check_call(call, err);
    if (status != DF_OK) return status;
    if (call->n_out != count_dynamic(call)) return fail_types(call, err);
    const df_op *op = df_registry_op(call->attrs[OP].i);
    const df_tensor *values = call->in[call->n_in - 1];
    reader r = {.code = call->attrs[CODE].list, .values = {values->data, values->size}};
    *applied = (df_call){.op = op, .n_in = call->n_in - 1, .n_out = call->n_out, .in = call->in,
                         .out = call->out, .attrs = attrs};
    if (!read_attrs(op, &r, attrs, call->workspace, &limited))
        return df_fail(err, DF_INVALID_ARGUMENT, "%s: the encoded attributes of %s are malformed",
                       call->op->name, op->name);
    if (limited) status = df_op_check_attrs(op, attrs, err);
    if (status == DF_OK) status = df_op_check_arity(applied, err);
    return status == DF_OK ? infer_applied(applied, call->attrs[OUTPUTS].list, err) : status;
}

DF_ONCE(df_status, run_dynamic, (const df_call *call, df_error *err))
{
    df_attr attrs[DF_MAX_ATTRS];
    df_buffer *workspace = NULL;
    df_call applied;
    df_status status = apply_dynamic(call, &applied, attrs, err);
    for (int k = 0; k < call->n_out && status == DF_OK; k++) {
        df_tensor *y = call->out[k];
        if (y->size >= 0 && (!y->data || y->buffer))
            status = df_tensor_alloc(y, applied.op->name, err);
    }
    if (status != DF_OK) return status;
    if (applied.op->workspace) {
        const int64_t bytes = df_op_workspace(&applied);
        workspace = bytes >= 0 ? df_buffer_new(bytes) : NULL;
        if (!workspace)
            return df_fail(err, DF_OUT_OF_MEMORY, "%s: no memory for %lld bytes of workspace",
                           applied.op->name, (long long)bytes);
        applied.workspace = workspace->data;
    }
    status = df_op_run(&applied, err);
    df_buffer_release(workspace);
    return status;
}

DF_OP(dynamic_attrs) = {.name = "dynamic_attrs", .kind = DF_GENERAL, .data_dependent_shape = true,
                        .n_in = DF_VARIADIC,
                        .n_out = DF_VARIADIC, .n_attrs = 3,
                        .attrs = {{"index", DF_ATTR_INT}, {"outputs", DF_ATTR_INTS},
                                  {"encoded", DF_ATTR_INTS}},
                        .internal = true, .wraps_op = true, .count_out = count_dynamic,
                        .infer = infer_dynamic, .workspace = dynamic_workspace,
                        .apply = apply_dynamic, .run = run_dynamic};

/* --- dimension: one size as int64 ()  --- */

DF_ONCE(df_status, infer_dimension, (const df_call *call, df_error *err))
{
    int axis;
    df_status status =
        df_normalize_axis(call->attrs[0].i, call->in[0]->ndim, call->op->name, &axis, err);
    return status == DF_OK ? df_tensor_set(call->out[0], DF_I64, 0, NULL, call->op->name, err)
                           : status;
}

static df_status run_dimension(const df_call *call, df_error *err)
{
    const df_tensor *x = call->in[0];
    const int64_t axis = call->attrs[0].i;
    (void)err;
    *(int64_t *)call->out[0]->data = x->shape[axis < 0 ? axis + x->ndim : axis];
    return DF_OK;
}

DF_OP(dimension) = {.name = "dimension", .kind = DF_GENERAL, .n_in = 1, .n_out = 1, .n_attrs = 1,
                    .attrs = {{"axis", DF_ATTR_INT}}, .internal = true, .shape_only = 1,
                    .infer = infer_dimension, .run = run_dimension};

/* --- assert_sizes: checks that a decision made while tracing holds for the sizes of a run --- */

enum { SIZES_EQUAL, SIZES_LESS, SIZES_LESS_EQUAL };

DF_ONCE(df_status, infer_assert_sizes, (const df_call *call, df_error *err))
{
    const int64_t by = call->attrs[0].i;
    if (by < SIZES_EQUAL || by > SIZES_LESS_EQUAL)
        return df_fail(err, DF_INVALID_ARGUMENT, "%s: by is %lld", call->op->name, (long long)by);
    for (int k = 0; k < 2; k++)
        if (call->in[k]->dtype != DF_F64 || call->in[k]->ndim != 0)
            return df_fail_dtype(call, k, "float64 ()", err);
    return DF_OK;
}

DF_ONCE(df_status, run_assert_sizes, (const df_call *call, df_error *err))
{
    static const char *const signs[] = {"==", "<", "<="};
    const double a = *(const double *)call->in[0]->data, b = *(const double *)call->in[1]->data;
    const int64_t by = call->attrs[0].i;
    const bool answer = call->attrs[1].i;
    const bool now = by == SIZES_EQUAL ? a == b : by == SIZES_LESS ? a < b : a <= b;
    if (now == answer) return DF_OK;
    return df_fail(err, DF_BAD_SHAPE, "a size that depends on data: %.17g %s %.17g is %s, but was "
                   "%s while the function was traced, and Python control flow depended on it", a,
                   signs[by], b, now ? "true" : "false", answer ? "true" : "false");
}

DF_OP(assert_sizes) = {.name = "assert_sizes", .kind = DF_GENERAL, .n_in = 2, .n_out = 0,
                       .n_attrs = 2, .attrs = {{"by", DF_ATTR_INT}, {"answer", DF_ATTR_BOOL}},
                       .internal = true, .effect = true, .infer = infer_assert_sizes,
                       .run = run_assert_sizes};

/* --- unbroadcast: input 0 summed over the dimensions along which input 1 was repeated --- */

extern DF_OP(reduce_sum);

/* Compatibility is checked by run: static hints for sizes that depend on data may differ. */
static df_status infer_unbroadcast(const df_call *call, df_error *err)
{
    const df_tensor *g = call->in[0], *like = call->in[1];
    if (g->dtype == DF_BOOL) return df_fail_dtype(call, 0, "a number dtype", err); /* bools cannot
                                                                                    * be summed */
    return df_tensor_set(call->out[0], g->dtype, like->ndim, like->shape, call->op->name, err);
}

DF_ONCE(df_status, check_unbroadcast, (const df_call *call, df_error *err))
{
    const df_tensor *g = call->in[0], *like = call->in[1];
    const int lead = g->ndim - like->ndim;
    bool fits = lead >= 0;
    for (int d = 0; fits && d < like->ndim; d++)
        fits = g->shape[lead + d] == like->shape[d] || like->shape[d] == 1;
    return fits ? DF_OK
                : df_fail(err, DF_BAD_SHAPE,
                          "%s: a gradient of shape %s for an operand of shape %s", call->op->name,
                          df_shape_text(g->ndim, g->shape).text,
                          df_shape_text(like->ndim, like->shape).text);
}

/* The sum, with dimensions kept; `axes` has DF_MAX_NDIM entries. */
static df_call sum_of(const df_call *call, df_attr attrs[2], int64_t *axes)
{
    const df_tensor *g = call->in[0], *like = call->in[1];
    const int lead = g->ndim - like->ndim;
    int64_t n = 0;
    for (int d = 0; d < g->ndim; d++)
        if (d < lead || g->shape[d] != like->shape[d - lead]) axes[n++] = d;
    attrs[0].list = (df_ints){axes, n};
    attrs[1].i = true;
    return (df_call){.op = &DF_SYM(df_op_reduce_sum), .n_in = 1, .n_out = 1, .in = call->in,
                     .out = call->out, .attrs = attrs, .workspace = call->workspace};
}

static int64_t unbroadcast_workspace(const df_call *call)
{
    df_attr attrs[2];
    int64_t axes[DF_MAX_NDIM];
    df_error ignored;
    if (check_unbroadcast(call, &ignored) != DF_OK) return 0; /* run reports the error */
    const df_call sum = sum_of(call, attrs, axes);
    return df_op_workspace(&sum);
}

static df_status run_unbroadcast(const df_call *call, df_error *err)
{
    df_attr attrs[2];
    int64_t axes[DF_MAX_NDIM];
    const df_tensor *g = call->in[0];
    df_tensor *y = call->out[0];
    df_status status = check_unbroadcast(call, err);
    if (status != DF_OK) return status;
    const df_call sum = sum_of(call, attrs, axes);
    if (g->ndim != y->ndim || attrs[0].list.n) return df_op_run(&sum, err);
    memcpy(y->data, g->data, (size_t)df_tensor_bytes(g));
    return DF_OK;
}

/* A view if nothing was repeated: even adding to zero would change the sign of -0. */
DF_ONCE(int64_t, view_unbroadcast, (const df_call *call))
{
    return df_same_shape(call->in[0], call->out[0]) ? 0 : -1;
}

DF_OP(unbroadcast) = {.name = "unbroadcast", .kind = DF_GENERAL, .n_in = 2, .n_out = 1,
                      .internal = true, .shape_only = 2, .infer = infer_unbroadcast,
                      .workspace = unbroadcast_workspace, .run = run_unbroadcast,
                      .view = view_unbroadcast};
