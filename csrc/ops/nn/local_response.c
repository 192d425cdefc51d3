/* Local response normalization: channels divided by a power of the sum of squares of their
 * neighbours. */
#include "ops/elementwise/elementwise.h"
#include "base/thread.h"

#define PIECE 512 /* channels per block of window sums */
#define TASK_ELEMENTS 4096

enum { RADIUS, BIAS, ALPHA, BETA };

/* Rows of c channels. */
typedef struct {
    const void *x, *g;
    void *out, *u;
    int64_t c, radius;
    double bias, alpha, beta;
    df_dtype dtype;
} response;

#define TEMPLATE "ops/nn/local_response_formulas.h"
#include "ops/each_float.h"
#undef TEMPLATE

static void respond_task(void *context, int64_t begin, int64_t end)
{
    const response *r = context;
    (r->dtype == DF_F32 ? respond_f32 : DF_HAS(F64, respond_f64))(r, begin, end);
}
static void backward_task(void *context, int64_t begin, int64_t end)
{
    const response *r = context;
    (r->dtype == DF_F32 ? flow_back_f32 : DF_HAS(F64, flow_back_f64))(r, begin, end);
}

/* Inputs: x; of the gradient: g, x. */
DF_ONCE(df_status, infer_local_response, (const df_call *call, df_error *err))
{
    const df_tensor *x = call->in[call->n_in - 1];
    if (x->dtype != DF_F32 && x->dtype != DF_F64)
        return df_fail_dtype(call, call->n_in - 1, "a floating dtype", err);
    if (x->ndim != 4)
        return df_fail(err, DF_BAD_SHAPE,
                       "%s: x has shape %s, expected 4 dimensions, channels last", call->op->name,
                       df_shape_text(x->ndim, x->shape).text);
    if (!df_may_be_same_shape(call->in[0], x))
        return df_fail(err, DF_BAD_SHAPE, "%s: the gradient is %s, expected x's shape %s",
                       call->op->name, df_tensor_text(call->in[0]).text,
                       df_shape_text(x->ndim, x->shape).text);
    if (call->attrs[RADIUS].i < 0)
        return df_fail(err, DF_INVALID_ARGUMENT, "%s: depth_radius is %lld, expected 0 or more",
                       call->op->name, (long long)call->attrs[RADIUS].i);
    return df_tensor_set(call->out[0], x->dtype, x->ndim, x->shape, call->op->name, err);
}

static int64_t workspace(const df_call *call) { return df_tensor_bytes(call->in[0]); }

static df_status run(const df_call *call, df_error *err)
{
    const df_tensor *x = call->in[call->n_in - 1];
    const df_attr *a = call->attrs;
    (void)err;
    if (x->size == 0) return DF_OK;
    const bool back = call->n_in > 1;
    response r = {.x = x->data, .g = call->in[0]->data, .out = call->out[0]->data,
                  .u = call->workspace, .c = x->shape[3], .bias = a[BIAS].f, .alpha = a[ALPHA].f,
                  .beta = a[BETA].f, .dtype = x->dtype};
    r.radius = df_min(a[RADIUS].i, r.c);
    const double each = (double)r.c * (2 + 0.1 * (double)r.radius) * (1 + 2 * back);
    df_parallel_for(x->size / r.c, df_max(TASK_ELEMENTS / r.c, 1), each,
                    back ? backward_task : respond_task, &r);
    return DF_OK;
}

#define RESPONSE_OP(op, n)                                                                       \
    .name = op, .kind = DF_GENERAL, .cannot_fail = true, .n_in = n, .n_out = 1,                  \
    .promote = (1 << (n)) - 1, .n_attrs = 4,                                                     \
    .attrs = {{"depth_radius", DF_ATTR_INT}, {"bias", DF_ATTR_FLOAT}, {"alpha", DF_ATTR_FLOAT},  \
              {"beta", DF_ATTR_FLOAT}},                                                          \
    .infer = infer_local_response, .run = run, RUN_IN_FLOAT

DF_OP(local_response_normalization) = {RESPONSE_OP("local_response_normalization", 1)};
DF_OP(local_response_normalization_grad) = {RESPONSE_OP("local_response_normalization_grad", 2),
                                            .workspace = workspace};
