/* conv and its gradients, over one to three dimensions, channels last. conv_cluster: conv followed
 * by elementwise steps. Converts tensors to a df_conv; conv/ computes it. */
#include "conv/depthwise.h"
#include "ops/conv/geometry.h"
#include "ops/epilogue.h"
#include "ops/in_float.h"

enum { CODE = DF_CONV_N_ATTRS };

HALF_OPERANDS(conv, 3, 1)

/* --- conv: x, w -> y --- */

static df_conv_shapes shapes_of_conv(const df_call *call)
{
    return (df_conv_shapes){call, call->attrs, call->in[0]->ndim, call->in[0]->shape,
                            call->in[1]->shape};
}

static df_conv conv_of_forward(const df_call *call)
{
    const df_conv_shapes s = shapes_of_conv(call);
    return DF_SYM(df_conv_from_shapes)(&s, call->in[0]->dtype);
}

static df_status infer_conv(const df_call *call, df_error *err)
{
    const df_conv_shapes s = shapes_of_conv(call);
    int64_t y[5], pad[3];
    df_status status = DF_SYM(df_conv_check_dtypes)(call, err);
    if (status == DF_OK) status = DF_SYM(df_conv_measure)(&s, call->in[1]->ndim, y, pad, err);
    if (status != DF_OK) return status;
    return df_tensor_set(call->out[0], call->in[0]->dtype, s.ndim, y, call->op->name, err);
}

static int64_t workspace_conv(const df_call *call)
{
    const df_conv c = conv_of_forward(call);
    return DF_SYM(df_conv_forward_workspace)(&c);
}

static df_status run_conv(const df_call *call, df_error *err)
{
    const df_conv c = conv_of_forward(call);
    (void)err;
    DF_SYM(df_conv_forward)(&c, call->in[0]->data, call->in[1]->data, call->out[0]->data,
                            (df_product_epilogue){0}, call->workspace);
    return DF_OK;
}

static double flops_conv(const df_call *call)
{
    const df_conv c = conv_of_forward(call);
    return DF_SYM(df_conv_flops)(&c);
}

DF_OP(conv) = {.name = "conv", .kind = DF_GENERAL, .cannot_fail = true, .n_in = 2, .n_out = 1,
               .autocast = DF_AUTOCAST_LOWER,
               .n_attrs = 5, .attrs = {DF_CONV_GEOMETRY_ATTRS}, .promote = 3, .infer = infer_conv,
               .workspace = workspace_conv, .run = run_conv, .flops = flops_conv,
               RUN_HALF_OF(conv)};

/* --- conv_cluster: conv with an epilogue --- */

static void run_product(const df_call *call, const void *prepared, void *to,
                        df_product_epilogue epilogue, void *workspace)
{
    const df_conv c = conv_of_forward(call);
    (void)prepared;
    DF_SYM(df_conv_forward)(&c, call->in[0]->data, call->in[1]->data, to, epilogue, workspace);
}

EPILOGUE(conv, 2, CODE, infer_conv, workspace_conv, NULL, run_product)

DF_OP(conv_cluster) = {EPILOGUE_OP(conv), .name = "conv_cluster", .n_attrs = 6,
                       .attrs = {DF_CONV_GEOMETRY_ATTRS, {"code", DF_ATTR_INTS}},
                       .flops = flops_conv};

/* --- gradients, with shape, strides, ... as attributes --- */

#define SHAPE 0

/* Checks that the gradient with respect to y has the shape of y. */
static df_status check_gradient(const df_conv_shapes *s, int w_ndim, const df_tensor *g,
                                df_error *err)
{
    int64_t y[5], pad[3];
    df_status status = DF_SYM(df_conv_measure)(s, w_ndim, y, pad, err);
    if (status != DF_OK) return status;
    bool fits = g->ndim == s->ndim;
    for (int d = 0; d < g->ndim && fits; d++)
        fits = g->shape[d] == y[d] || g->shape[d] == DF_UNKNOWN || y[d] == DF_UNKNOWN;
    if (fits) return DF_OK;
    return df_fail(err, DF_BAD_SHAPE, "%s: input has shape %s, filters %s and the gradient %s, "
                   "expected the gradient to have the output's shape %s", s->call->op->name,
                   df_shape_text(s->ndim, s->x).text, df_shape_text(w_ndim, s->w).text,
                   df_shape_text(g->ndim, g->shape).text, df_shape_text(s->ndim, y).text);
}

/* Sets the shape of the output from the attribute, before other code relies on it. */
static df_status set_result(const df_call *call, df_error *err)
{
    const df_ints shape = call->attrs[SHAPE].list;
    if (shape.n > 5)
        return df_fail(err, DF_BAD_SHAPE, "%s: shape of %lld dimensions, expected 3, 4 or 5",
                       call->op->name, (long long)shape.n);
    return df_tensor_set(call->out[0], call->in[0]->dtype, (int)shape.n, shape.v, call->op->name,
                         err);
}

/* conv_backprop_input: w, g -> gradient with respect to x. */
static df_conv_shapes shapes_of_input(const df_call *call)
{
    const df_ints x = call->attrs[SHAPE].list;
    return (df_conv_shapes){call, call->attrs + 1, (int)x.n, x.v, call->in[0]->shape};
}

static df_conv conv_of_input(const df_call *call)
{
    const df_conv_shapes s = shapes_of_input(call);
    return DF_SYM(df_conv_from_shapes)(&s, call->in[0]->dtype);
}

static df_status infer_input(const df_call *call, df_error *err)
{
    df_status status = DF_SYM(df_conv_check_dtypes)(call, err);
    if (status == DF_OK) status = set_result(call, err);
    if (status != DF_OK) return status;
    const df_conv_shapes s = shapes_of_input(call);
    return check_gradient(&s, call->in[0]->ndim, call->in[1], err);
}

static int64_t workspace_input(const df_call *call)
{
    const df_conv c = conv_of_input(call);
    return DF_SYM(df_conv_input_workspace)(&c);
}

static df_status run_input(const df_call *call, df_error *err)
{
    const df_conv c = conv_of_input(call);
    (void)err;
    DF_SYM(df_conv_input)(&c, call->in[0]->data, call->in[1]->data, call->out[0]->data,
                          call->workspace);
    return DF_OK;
}

static double flops_input(const df_call *call)
{
    const df_conv c = conv_of_input(call);
    return DF_SYM(df_conv_flops)(&c);
}

DF_OP(conv_backprop_input) = {
    .name = "conv_backprop_input", .kind = DF_GENERAL, .cannot_fail = true, .n_in = 2, .n_out = 1,
    .autocast = DF_AUTOCAST_LOWER,
    .n_attrs = 6, .attrs = {{"shape", DF_ATTR_INTS}, DF_CONV_GEOMETRY_ATTRS}, .promote = 3,
    .infer = infer_input, .workspace = workspace_input, .run = run_input, .flops = flops_input,
    RUN_HALF_OF(conv)};

/* conv_backprop_filter: x, g -> gradient with respect to w. */
static df_conv_shapes shapes_of_filter(const df_call *call)
{
    const df_tensor *x = call->in[0];
    return (df_conv_shapes){call, call->attrs + 1, x->ndim, x->shape, call->attrs[SHAPE].list.v};
}

static df_conv conv_of_filter(const df_call *call)
{
    const df_conv_shapes s = shapes_of_filter(call);
    return DF_SYM(df_conv_from_shapes)(&s, call->in[0]->dtype);
}

static df_status infer_filter(const df_call *call, df_error *err)
{
    const df_conv_shapes s = shapes_of_filter(call);
    df_status status = DF_SYM(df_conv_check_dtypes)(call, err);
    if (status == DF_OK) status = set_result(call, err);
    if (status != DF_OK) return status;
    return check_gradient(&s, (int)call->attrs[SHAPE].list.n, call->in[1], err);
}

static int64_t workspace_filter(const df_call *call)
{
    const df_conv c = conv_of_filter(call);
    return DF_SYM(df_conv_filter_workspace)(&c);
}

static df_status run_filter(const df_call *call, df_error *err)
{
    const df_conv c = conv_of_filter(call);
    (void)err;
    DF_SYM(df_conv_filter)(&c, call->in[0]->data, call->in[1]->data, call->out[0]->data,
                           call->workspace);
    return DF_OK;
}

static double flops_filter(const df_call *call)
{
    const df_conv c = conv_of_filter(call);
    return DF_SYM(df_conv_flops)(&c);
}

/* The sums of a depthwise filter run through all images, which are widened whole. */
static inline df_status filter_run_half(const df_call *call, df_error *err)
{
    const df_conv c = conv_of_filter(call);
    const bool in_pieces = !df_depthwise_applies(&c);
    return DF_SYM(df_run_partly_in_float)(call, in_pieces ? 3 : 0, in_pieces, err);
}

DF_OP(conv_backprop_filter) = {
    .name = "conv_backprop_filter", .kind = DF_GENERAL, .cannot_fail = true, .n_in = 2, .n_out = 1,
    .autocast = DF_AUTOCAST_LOWER,
    .n_attrs = 6, .attrs = {{"shape", DF_ATTR_INTS}, DF_CONV_GEOMETRY_ATTRS}, .promote = 3,
    .infer = infer_filter, .workspace = workspace_filter, .run = run_filter, .flops = flops_filter,
    RUN_HALF_OF(filter)};
