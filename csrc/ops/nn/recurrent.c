/* simple_rnn, lstm and gru: a layer in one direction over whole sequences, and its gradient.
 * recurrent/ computes it. pack_kernel packs a kernel for the forward pass; simple_rnn_packed,
 * lstm_packed and gru_packed are the layers with packed kernels and return the same bits.
 *
 * T steps, B rows of the batch, F features, H units, G gates. Inputs are x (B, T, F) or, if
 * time_major, (T, B, F), the kernel (F, GH), the recurrent kernel (H, GH), the bias (GH), for gru
 * the bias of the recurrent product of h (H), the initial state h (B, H), for lstm c, and lengths
 * (B). Outputs are the outputs of all steps, in the layout of x, the last state h, for lstm c, and
 * the residuals, as bytes (T, B, ...).
 *
 * The inputs of a gradient begin with the cotangents of the float outputs, and end with the first
 * output and the residuals; its outputs are the gradients of the float inputs, with an empty one
 * for x unless it is needed. */
#include "ops/in_float.h"
#include "recurrent/recurrent.h"

enum { REVERSE, TIME_MAJOR, VARIANT }; /* attributes; the last is relu or reset_after */

typedef enum { PLAIN, PACKED, GRADIENT } form; /* PACKED: a layer with packed kernels */

/* An op of this file. `cells` are by attribute VARIANT, if the two differ. */
typedef struct {
    const df_op *op;
    df_cell cells[2];
    form form;
} layer;

extern DF_OP(simple_rnn);
extern DF_OP(simple_rnn_packed);
extern DF_OP(simple_rnn_grad);
extern DF_OP(lstm);
extern DF_OP(lstm_packed);
extern DF_OP(lstm_grad);
extern DF_OP(gru);
extern DF_OP(gru_packed);
extern DF_OP(gru_grad);

static const layer LAYERS[] = {
    {&DF_SYM(df_op_simple_rnn), {DF_RNN_TANH, DF_RNN_RELU}, PLAIN},
    {&DF_SYM(df_op_simple_rnn_packed), {DF_RNN_TANH, DF_RNN_RELU}, PACKED},
    {&DF_SYM(df_op_simple_rnn_grad), {DF_RNN_TANH, DF_RNN_RELU}, GRADIENT},
    {&DF_SYM(df_op_lstm), {DF_LSTM, DF_LSTM}, PLAIN},
    {&DF_SYM(df_op_lstm_packed), {DF_LSTM, DF_LSTM}, PACKED},
    {&DF_SYM(df_op_lstm_grad), {DF_LSTM, DF_LSTM}, GRADIENT},
    {&DF_SYM(df_op_gru), {DF_GRU_BEFORE, DF_GRU_AFTER}, PLAIN},
    {&DF_SYM(df_op_gru_packed), {DF_GRU_BEFORE, DF_GRU_AFTER}, PACKED},
    {&DF_SYM(df_op_gru_grad), {DF_GRU_BEFORE, DF_GRU_AFTER}, GRADIENT},
};

typedef struct {
    df_cell cell;
    form form;
    bool reverse, time_major;
    bool wants_x; /* a gradient that includes x */
    const df_tensor *x, *kernel, *recurrent, *bias, *inner_bias, *h0, *c0, *lengths;
    const df_tensor *g_out, *g_h, *g_c, *out, *residuals; /* of a gradient */
    int64_t steps, rows, features, units;            /* or DF_UNKNOWN */
} operands;

static operands operands_of(const df_call *call)
{
    const layer *of = LAYERS;
    while (of->op != call->op) of++;
    const bool gradient = of->form == GRADIENT, vary = of->cells[0] != of->cells[1];
    const df_cell cell = of->cells[vary && call->attrs[VARIANT].i];
    operands o = {.cell = cell, .form = of->form};
    const df_tensor *const *in = call->in;
    o.reverse = call->attrs[REVERSE].i;
    o.time_major = call->attrs[TIME_MAJOR].i;
    o.wants_x = gradient && call->attrs[call->op->n_attrs - 1].i;
    if (gradient) {
        o.g_out = *in++;
        o.g_h = *in++;
        o.g_c = cell == DF_LSTM ? *in++ : NULL;
    }
    o.x = *in++;
    o.kernel = *in++;
    o.recurrent = *in++;
    o.bias = *in++;
    o.inner_bias = df_cell_gates(cell) == 3 ? *in++ : NULL;
    o.h0 = *in++;
    o.c0 = cell == DF_LSTM ? *in++ : NULL;
    o.lengths = *in++;
    if (gradient) {
        o.out = *in++;
        o.residuals = df_cell_residuals(cell) ? *in++ : NULL;
    }
    return o;
}

/* --- shapes ----------------------------------------------------------------------------------- */

/* True if dimension d of x can equal *n; sets *n if it was unknown. */
static bool agrees(int64_t *n, const df_tensor *x, int d)
{
    if (*n == DF_UNKNOWN) *n = x->shape[d];
    return x->shape[d] == DF_UNKNOWN || x->shape[d] == *n;
}

/* Same, for a dimension of size G * *n. */
static bool agrees_by(int64_t *n, const df_tensor *x, int d, int64_t gates)
{
    if (x->shape[d] == DF_UNKNOWN) return true;
    if (*n == DF_UNKNOWN) *n = x->shape[d] / gates;
    return x->shape[d] % gates == 0 && x->shape[d] / gates == *n;
}

static df_status fail_shape(const df_call *call, const char *what, const df_tensor *x,
                            const char *want, df_error *err)
{
    return df_fail(err, DF_BAD_SHAPE, "%s: the %s has shape %s, expected %s", call->op->name, what,
                   df_shape_text(x->ndim, x->shape).text, want);
}

static df_status check_dtypes(const df_call *call, const operands *o, df_error *err)
{
    for (int i = 0; i < call->n_in; i++) {
        const df_tensor *x = call->in[i];
        if (x == o->residuals || (o->form == PACKED && (x == o->kernel || x == o->recurrent)))
            continue;
        if (x == o->lengths) {
            if (x->dtype != DF_I32 && x->dtype != DF_I64)
                return df_fail_dtype(call, i, "lengths of int32 or int64", err);
        } else if ((x->dtype != DF_F32 && x->dtype != DF_F64) || x->dtype != o->x->dtype) {
            return df_fail_dtype(call, i, "one floating dtype", err);
        }
    }
    return DF_OK;
}

/* Checks that x has the shape of a state: (B, H). */
DF_ONCE(df_status, check_state, (const df_call *call, operands *o, const df_tensor *x,
                                 const char *what, df_error *err))
{
    if (x && (x->ndim != 2 || !agrees(&o->rows, x, 0) || !agrees(&o->units, x, 1)))
        return fail_shape(call, what, x, "(batch, units) as the input and the recurrent kernel "
                          "have them", err);
    return DF_OK;
}

/* Checks that x has `width` elements per step and row. */
DF_ONCE(df_status, check_steps, (const df_call *call, operands *o, const df_tensor *x,
                                 int64_t *width, const char *what, df_error *err))
{
    if (x->ndim == 3 && agrees(o->time_major ? &o->steps : &o->rows, x, 0) &&
        agrees(o->time_major ? &o->rows : &o->steps, x, 1) && agrees(width, x, 2))
        return DF_OK;
    return df_fail(err, DF_BAD_SHAPE, "%s: the %s has shape %s, expected %s, %s)", call->op->name,
                   what, df_shape_text(x->ndim, x->shape).text,
                   o->time_major ? "(time, batch" : "(batch, time",
                   width == &o->units ? "units" : "features");
}

DF_ONCE(df_status, check_kernels, (const df_call *call, operands *o, df_error *err))
{
    const long long gates = df_cell_gates(o->cell);
    const df_tensor *u = o->recurrent, *w = o->kernel;
    if (u->ndim != 2 || !agrees(&o->units, u, 0) || !agrees_by(&o->units, u, 1, gates))
        return df_fail(err, DF_BAD_SHAPE,
                       "%s: the recurrent kernel has shape %s, expected (units, %lld * units)",
                       call->op->name, df_shape_text(u->ndim, u->shape).text, gates);
    if (w->ndim != 2 || !agrees(&o->features, w, 0) || !agrees_by(&o->units, w, 1, gates))
        return df_fail(err, DF_BAD_SHAPE, "%s: the kernel has shape %s, expected (features, %lld * "
                       "units), for x of shape %s and a recurrent kernel of %s", call->op->name,
                       df_shape_text(w->ndim, w->shape).text, gates,
                       df_shape_text(o->x->ndim, o->x->shape).text,
                       df_shape_text(u->ndim, u->shape).text);
    return DF_OK;
}

DF_ONCE(df_status, check_biases, (const df_call *call, operands *o, df_error *err))
{
    const long long gates = df_cell_gates(o->cell);
    const df_tensor *u = o->recurrent, *b = o->bias;
    if (b->ndim != 1 || !agrees_by(&o->units, b, 0, gates))
        return df_fail(err, DF_BAD_SHAPE,
                       "%s: the bias has shape %s, expected (%lld * units,) for a recurrent kernel "
                       "of shape %s", call->op->name, df_shape_text(b->ndim, b->shape).text, gates,
                       df_shape_text(u->ndim, u->shape).text);
    if (o->inner_bias && (o->inner_bias->ndim != 1 || !agrees(&o->units, o->inner_bias, 0)))
        return fail_shape(call, "recurrent bias", o->inner_bias, "(units,)", err);
    return DF_OK;
}

/* Checks that kernels were packed for these sizes. */
static df_status check_packed(const df_call *call, const operands *o, df_error *err)
{
    const df_recurrence r = {.cell = o->cell, .dtype = o->x->dtype, .features = o->features,
                             .units = o->units};
    const df_tensor *kernels[] = {o->kernel, o->recurrent};
    for (int i = 0; i < 2; i++) {
        const df_tensor *w = kernels[i];
        const bool known = w->size >= 0 && o->units >= 0 && o->features >= 0;
        if (w->dtype != DF_U8 || w->ndim != 1 ||
            (known && w->size != DF_SYM(df_recurrence_pack)(&r, i == 1, NULL)))
            return df_fail(err, DF_BAD_SHAPE, "%s: input %d is %s, expected a kernel packed for "
                           "x of %s and a state of %s", call->op->name, 1 + i,
                           df_tensor_text(w).text, df_tensor_text(o->x).text,
                           df_tensor_text(o->h0).text);
    }
    return DF_OK;
}

static df_status check(const df_call *call, operands *o, df_error *err)
{
    o->steps = o->rows = o->features = o->units = DF_UNKNOWN;
    df_status status = check_dtypes(call, o, err);
    if (status == DF_OK) status = check_steps(call, o, o->x, &o->features, "input x", err);
    if (status == DF_OK && o->form != PACKED) status = check_kernels(call, o, err);
    if (status == DF_OK) status = check_biases(call, o, err);
    if (status == DF_OK) status = check_state(call, o, o->h0, "initial state", err);
    if (status == DF_OK) status = check_state(call, o, o->c0, "initial cell state", err);
    if (status == DF_OK && o->form == PACKED) status = check_packed(call, o, err);
    if (status != DF_OK) return status;
    if (o->lengths->ndim != 1 || !agrees(&o->rows, o->lengths, 0))
        return fail_shape(call, "lengths", o->lengths, "(batch,), one per sequence of x", err);
    return DF_OK;
}

/* Bytes of residuals per row and step. */
DF_ONCE(df_status, residual_bytes, (const df_call *call, const operands *o, int64_t *bytes,
                                    df_error *err))
{
    *bytes = DF_UNKNOWN;
    if (o->units == DF_UNKNOWN ||
        df_mul_size(o->units, df_cell_residuals(o->cell) * df_dtypes[o->x->dtype].bytes, bytes))
        return DF_OK;
    return df_fail(err, DF_OVERFLOW, "%s: %lld units are too many", call->op->name,
                   (long long)o->units);
}

/* Sets the shape of an output with `width` elements per step and row. */
static df_status set_steps(const df_call *call, const operands *o, df_tensor *out, int64_t width,
                           df_error *err)
{
    const int64_t shape[] = {o->time_major ? o->steps : o->rows,
                             o->time_major ? o->rows : o->steps, width};
    return df_tensor_set(out, o->x->dtype, 3, shape, call->op->name, err);
}

static df_status infer_layer(const df_call *call, operands o, df_error *err)
{
    int64_t bytes;
    df_status status = check(call, &o, err);
    if (status == DF_OK) status = residual_bytes(call, &o, &bytes, err);
    if (status == DF_OK) status = set_steps(call, &o, call->out[0], o.units, err);
    if (status != DF_OK) return status;
    const int64_t state[] = {o.rows, o.units}, residuals[] = {o.steps, o.rows, bytes};
    const int states = o.cell == DF_LSTM ? 2 : 1;
    for (int i = 1; i <= states && status == DF_OK; i++)
        status = df_tensor_set(call->out[i], o.x->dtype, 2, state, call->op->name, err);
    if (status == DF_OK && df_cell_residuals(o.cell))
        status = df_tensor_set(call->out[states + 1], DF_U8, 3, residuals, call->op->name, err);
    return status;
}

static df_status check_grad(const df_call *call, operands *o, df_error *err)
{
    int64_t bytes;
    df_status status = check(call, o, err);
    if (status == DF_OK)
        status = check_steps(call, o, o->g_out, &o->units, "gradient of the outputs", err);
    if (status == DF_OK) status = check_state(call, o, o->g_h, "gradient of the last state", err);
    if (status == DF_OK) status = check_state(call, o, o->g_c, "gradient of the last cell", err);
    if (status == DF_OK) status = check_steps(call, o, o->out, &o->units, "output", err);
    if (status == DF_OK) status = residual_bytes(call, o, &bytes, err);
    if (status != DF_OK) return status;
    if (o->residuals && (o->residuals->dtype != DF_U8 || o->residuals->ndim != 3 ||
                         !agrees(&o->steps, o->residuals, 0) ||
                         !agrees(&o->rows, o->residuals, 1) || !agrees(&bytes, o->residuals, 2)))
        return fail_shape(call, "residuals", o->residuals, "the residuals of the op", err);
    return DF_OK;
}

static df_status infer_grad(const df_call *call, operands o, df_error *err)
{
    df_status status = check_grad(call, &o, err);
    if (status != DF_OK) return status;
    const df_tensor *like[] = {o.kernel, o.recurrent, o.bias, o.inner_bias, o.h0, o.c0};
    const int64_t none[] = {0, 0, 0};
    df_tensor *const *out = call->out;
    status = o.wants_x ? set_steps(call, &o, *out++, o.features, err)
                       : df_tensor_set(*out++, o.x->dtype, 3, none, call->op->name, err);
    for (int i = 0; i < 6 && status == DF_OK; i++)
        if (like[i])
            status = df_tensor_set(*out++, like[i]->dtype, like[i]->ndim, like[i]->shape,
                                   call->op->name, err);
    return status;
}

static df_status infer(const df_call *call, df_error *err)
{
    const operands o = operands_of(call);
    return (o.form == GRADIENT ? infer_grad : infer_layer)(call, o, err);
}

/* --- execution -------------------------------------------------------------------------------- */

static void *data_of(const df_tensor *x) { return x ? x->data : NULL; }

/* The data of the next output, or NULL if the cell does not have it. */
static void *next(df_tensor *const **out, bool there) { return there ? (*(*out)++)->data : NULL; }

DF_ONCE(df_recurrence, describe_recurrent, (const df_call *call, const operands *of))
{
    const operands o = *of;
    df_tensor *const *out = call->out;
    df_recurrence r = {.cell = o.cell, .dtype = o.x->dtype, .reverse = o.reverse,
                       .time_major = o.time_major, .packed = o.form == PACKED,
                       .steps = o.x->shape[o.time_major ? 0 : 1],
                       .rows = o.x->shape[o.time_major ? 1 : 0], .features = o.x->shape[2],
                       .units = o.h0->shape[1], .x = o.x->data, .kernel = o.kernel->data,
                       .recurrent = o.recurrent->data, .bias = o.bias->data,
                       .inner_bias = data_of(o.inner_bias), .h0 = o.h0->data,
                       .c0 = data_of(o.c0), .wants_x = o.wants_x};
    if (o.form != GRADIENT) {
        r.out = next(&out, true);
        r.last_h = next(&out, true);
        r.last_c = next(&out, o.c0);
        r.residuals = next(&out, df_cell_residuals(o.cell));
        return r;
    }
    r.out = o.out->data;
    r.residuals = data_of(o.residuals);
    r.g_out = o.g_out->data;
    r.g_h = o.g_h->data;
    r.g_c = data_of(o.g_c);
    r.d_x = next(&out, true);
    r.d_kernel = next(&out, true);
    r.d_recurrent = next(&out, true);
    r.d_bias = next(&out, true);
    r.d_inner_bias = next(&out, o.inner_bias);
    r.d_h0 = next(&out, true);
    r.d_c0 = next(&out, o.c0);
    return r;
}

static int64_t lengths_bytes(const df_recurrence *r)
{
    return df_ceil_div(r->rows * (int64_t)sizeof(int64_t), DF_ALIGNMENT) * DF_ALIGNMENT;
}

static int64_t workspace(const df_call *call)
{
    const operands o = operands_of(call);
    const df_recurrence r = describe_recurrent(call, &o);
    return lengths_bytes(&r) + (o.form == GRADIENT ? DF_SYM(df_recurrence_grad_workspace)(&r)
                                                   : DF_SYM(df_recurrence_workspace)(&r));
}

/* One product with each kernel per step; in the gradient a second one for the kernel. */
static double flops(const df_call *call)
{
    const operands o = operands_of(call);
    const df_recurrence r = describe_recurrent(call, &o);
    const bool gradient = o.form == GRADIENT;
    const double width = (double)r.units * df_cell_gates(o.cell);
    const double states = (gradient ? 4 : 2) * (double)r.units;
    const double inputs = (gradient && r.wants_x ? 4 : 2) * (double)r.features;
    return (double)r.steps * (double)r.rows * width * (states + inputs);
}

static df_status read_lengths(const df_call *call, const df_tensor *x, int64_t steps, int64_t *to,
                              df_error *err)
{
    for (int64_t i = 0; i < x->size; i++) {
        to[i] = x->dtype == DF_I64 ? ((const int64_t *)x->data)[i] : ((const int32_t *)x->data)[i];
        if (to[i] < 0 || to[i] > steps)
            return df_fail(err, DF_INVALID_ARGUMENT,
                           "%s: length %lld, of row %lld, is not in 0 to %lld, the number of steps",
                           call->op->name, (long long)to[i], (long long)i, (long long)steps);
    }
    return DF_OK;
}

static df_status run(const df_call *call, df_error *err)
{
    const operands o = operands_of(call);
    df_recurrence r = describe_recurrent(call, &o);
    int64_t *lengths = call->workspace;
    df_status status = read_lengths(call, o.lengths, r.steps, lengths, err);
    if (status != DF_OK) return status;
    r.lengths = lengths;
    (o.form == GRADIENT ? DF_SYM(df_recurrence_grad) : DF_SYM(df_recurrence_run))(
        &r, (char *)call->workspace + lengths_bytes(&r));
    return DF_OK;
}

/* --- records ---------------------------------------------------------------------------------- */

#define RECORD                                                                                   \
    .kind = DF_GENERAL, .infer = infer, .workspace = workspace, .run = run, .flops = flops
#define FORWARD RECORD, RUN_IN_FLOAT
#define FORWARD_PACKED RECORD, .internal = true
#define LOWERS .autocast = DF_AUTOCAST_LOWER
#define BACKWARD RECORD, .internal = true, RUN_IN_FLOAT
#define ORDER {"reverse", DF_ATTR_BOOL}, {"time_major", DF_ATTR_BOOL}
#define WANTS_X {"wants_x", DF_ATTR_BOOL}

DF_OP(simple_rnn) = {.name = "simple_rnn", FORWARD, .n_in = 6, .n_out = 2, .n_attrs = 3,
                     .promote = 31, LOWERS, .serial_for = {.input = 4, .rows = DF_SERIAL_ROWS},
                     .attrs = {ORDER, {"relu", DF_ATTR_BOOL}}};
DF_OP(simple_rnn_packed) = {.name = "simple_rnn_packed", FORWARD_PACKED, .n_in = 6,
                            .n_out = 2, .n_attrs = 3,
                            .serial_for = {.input = 4, .rows = DF_SERIAL_ROWS},
                            .attrs = {ORDER, {"relu", DF_ATTR_BOOL}}};
DF_OP(simple_rnn_grad) = {.name = "simple_rnn_grad", BACKWARD, .n_in = 9, .n_out = 5,
                          .n_attrs = 4, .shape_only = 1 << 5,
                          .attrs = {ORDER, {"relu", DF_ATTR_BOOL}, WANTS_X}};
DF_OP(lstm) = {.name = "lstm", FORWARD, .n_in = 7, .n_out = 4, .n_attrs = 2, .promote = 63,
               LOWERS, .serial_for = {.input = 4, .rows = DF_SERIAL_ROWS}, .attrs = {ORDER}};
DF_OP(lstm_packed) = {.name = "lstm_packed", FORWARD_PACKED, .n_in = 7, .n_out = 4,
                      .n_attrs = 2, .serial_for = {.input = 4, .rows = DF_SERIAL_ROWS},
                      .attrs = {ORDER}};
DF_OP(lstm_grad) = {.name = "lstm_grad", BACKWARD, .n_in = 12, .n_out = 6, .n_attrs = 3,
                    .shape_only = 1 << 6, .attrs = {ORDER, WANTS_X}};
DF_OP(gru) = {.name = "gru", FORWARD, .n_in = 7, .n_out = 3, .n_attrs = 3, .promote = 63,
              LOWERS, .serial_for = {.input = 5, .rows = DF_SERIAL_ROWS},
              .attrs = {ORDER, {"reset_after", DF_ATTR_BOOL}}};
DF_OP(gru_packed) = {.name = "gru_packed", FORWARD_PACKED, .n_in = 7, .n_out = 3,
                     .n_attrs = 3, .serial_for = {.input = 5, .rows = DF_SERIAL_ROWS},
                     .attrs = {ORDER, {"reset_after", DF_ATTR_BOOL}}};
DF_OP(gru_grad) = {.name = "gru_grad", BACKWARD, .n_in = 11, .n_out = 6, .n_attrs = 4,
                   .shape_only = 1 << 5 | 1 << 6,
                   .attrs = {ORDER, {"reset_after", DF_ATTR_BOOL}, WANTS_X}};

/* --- packing ---------------------------------------------------------------------------------- */

enum { GATES, RESET_AFTER, RECURRENT }; /* of pack_kernel; reset_after: of three gates */

static df_recurrence packing_of(const df_call *call)
{
    const df_tensor *w = call->in[0];
    const int64_t gates = call->attrs[GATES].i;
    const df_cell three = call->attrs[RESET_AFTER].i ? DF_GRU_AFTER : DF_GRU_BEFORE;
    return (df_recurrence){.cell = gates == 4 ? DF_LSTM : gates == 3 ? three : DF_RNN_TANH,
                           .dtype = w->dtype, .features = w->shape[0],
                           .units = w->shape[1] / gates, .kernel = w->data, .recurrent = w->data};
}

/* The packed kernel has fewer than MORE_COLUMNS more columns. */
#define MORE_COLUMNS 1024

static df_status infer_pack_kernel(const df_call *call, df_error *err)
{
    const df_tensor *w = call->in[0];
    const int64_t gates = call->attrs[GATES].i;
    const bool recurrent = call->attrs[RECURRENT].i;
    int64_t size = DF_UNKNOWN;
    if ((w->dtype != DF_F32 && w->dtype != DF_F64) || w->ndim != 2 ||
        (gates != 1 && gates != 3 && gates != 4) ||
        (w->shape[1] != DF_UNKNOWN &&
         (w->shape[1] % gates ||
          (recurrent && w->shape[0] != DF_UNKNOWN && w->shape[0] != w->shape[1] / gates))))
        return df_fail(err, DF_BAD_SHAPE, "%s: got %s for %lld gates, expected a %skernel of "
                       "float32 or float64 with 1, 3 or 4 gates", call->op->name,
                       df_tensor_text(w).text, (long long)gates, recurrent ? "recurrent " : "");
    if (w->size >= 0) {
        if (!df_add_size(w->shape[1], MORE_COLUMNS, &size) ||
            !df_mul_size(size, df_dtypes[w->dtype].bytes, &size) ||
            !df_mul_size(size, df_max(w->shape[0], 1), &size))
            return df_fail(err, DF_OVERFLOW, "%s: the packed bytes of %s exceed 64 bits",
                           call->op->name, df_tensor_text(w).text);
        const df_recurrence r = packing_of(call);
        size = DF_SYM(df_recurrence_pack)(&r, recurrent, NULL);
    }
    return df_tensor_set(call->out[0], DF_U8, 1, &size, call->op->name, err);
}

static df_status run_pack_kernel(const df_call *call, df_error *err)
{
    const df_recurrence r = packing_of(call);
    (void)err;
    DF_SYM(df_recurrence_pack)(&r, call->attrs[RECURRENT].i, call->out[0]->data);
    return DF_OK;
}

DF_OP(pack_kernel) = {.name = "pack_kernel", .kind = DF_GENERAL, .cannot_fail = true,
                      .internal = true, .n_in = 1, .n_out = 1, .n_attrs = 3,
                      .attrs = {{"gates", DF_ATTR_INT}, {"reset_after", DF_ATTR_BOOL},
                                {"recurrent", DF_ATTR_BOOL}},
                      .infer = infer_pack_kernel, .run = run_pack_kernel};
