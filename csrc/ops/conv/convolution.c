/* conv and its gradients, over one to three dimensions, channels last. conv_cluster: conv followed
 * by elementwise steps. Converts tensors to a df_conv; conv/ computes it. */
#include "conv/conv.h"
#include "conv/steps.h"
#include "ops/epilogue.h"
#include "ops/in_float.h"

/* Attributes of conv; its gradients have the shape of their result before them. `same`: padding
 * such that there are ceil(size / stride) outputs, an odd zero at the end; otherwise `pads` before
 * and after. `exact`: sums of all products, without Winograd's method. */
enum { STRIDES, DILATIONS, SAME, PADS, EXACT, CODE };

#define GEOMETRY_ATTRS                                                                             \
    {"strides", DF_ATTR_INTS}, {"dilations", DF_ATTR_INTS}, {"same", DF_ATTR_BOOL},                \
    {"pads", DF_ATTR_INTS}, {"exact", DF_ATTR_BOOL}

/* The sizes of a convolution, as shapes; the dimensions of y may be unknown. */
typedef struct {
    const df_call *call;
    const df_attr *attrs; /* starting at STRIDES */
    int ndim;
    const int64_t *x, *w;
} shapes;

static df_status fail_shapes(const shapes *s, const char *rule, df_error *err)
{
    return df_fail(err, DF_BAD_SHAPE, "%s: input has shape %s and filters %s, expected %s",
                   s->call->op->name, df_shape_text(s->ndim, s->x).text,
                   df_shape_text(s->ndim, s->w).text, rule);
}

static df_status check_ranks(const shapes *s, int w_ndim, df_error *err)
{
    if (s->ndim >= 3 && s->ndim <= 5 && w_ndim == s->ndim) return DF_OK;
    return df_fail(err, DF_BAD_SHAPE,
                   "%s: input has shape %s and filters %s, expected 3, 4 or 5 dimensions of both: "
                   "(batch, sizes, channels) and (sizes, channels, outputs)", s->call->op->name,
                   df_shape_text(s->ndim, s->x).text, df_shape_text(w_ndim, s->w).text);
}

/* Checks an attribute: `n` numbers of at least `least`. */
static df_status check_list(const shapes *s, int attr, int64_t n, int64_t least, df_error *err)
{
    static const char *const NAMES[] = {"strides", "dilations", "same", "pads"};
    const df_ints list = s->attrs[attr].list;
    bool good = list.n == n;
    for (int64_t i = 0; i < list.n && good; i++)
        good = list.v[i] >= least || list.v[i] == DF_UNKNOWN;
    if (good) return DF_OK;
    const int shown = (int)df_min(list.n, DF_MAX_NDIM);
    return df_fail(err, DF_INVALID_ARGUMENT,
                   "%s: %s is %s for input %s, expected %lld values of at least %lld",
                   s->call->op->name, NAMES[attr], df_shape_text(shown, list.v).text,
                   df_shape_text(s->ndim, s->x).text, (long long)n, (long long)least);
}

static df_status check_channels(const shapes *s, df_error *err)
{
    const int64_t c_in = s->x[s->ndim - 1], each = s->w[s->ndim - 2], c_out = s->w[s->ndim - 1];
    if (c_in == DF_UNKNOWN || each == DF_UNKNOWN || c_in == each) return DF_OK;
    if (each == 0 || c_in == 0 || c_in % each)
        return fail_shapes(s, "the input channels to equal the filter channels, or a multiple in "
                           "groups", err);
    if (c_out != DF_UNKNOWN && c_out % (c_in / each))
        return fail_shapes(s, "a number of outputs that is divisible by the number of groups", err);
    return DF_OK;
}

static bool any_unknown(int64_t a, int64_t b, int64_t c)
{
    return a == DF_UNKNOWN || b == DF_UNKNOWN || c == DF_UNKNOWN;
}

/* Output size and leading padding along spatial dimension `d`. */
static df_status measure(const shapes *s, int d, int64_t *out, int64_t *pad, df_error *err)
{
    const int64_t size = s->x[d + 1], kernel = s->w[d];
    const int64_t stride = s->attrs[STRIDES].list.v[d], dilation = s->attrs[DILATIONS].list.v[d];
    const bool same = s->attrs[SAME].i;
    const int64_t *pads = s->attrs[PADS].list.v;
    const int64_t before = same ? 0 : pads[2 * d], after = same ? 0 : pads[2 * d + 1];
    int64_t window, padded;
    *out = *pad = DF_UNKNOWN;
    if (kernel == 0) return fail_shapes(s, "filters of 1 or more elements in each dimension", err);
    if (any_unknown(size, kernel, stride) || any_unknown(dilation, before, after)) {
        if (same && size != DF_UNKNOWN && stride != DF_UNKNOWN) *out = (size - 1) / stride + 1;
        return DF_OK;
    }
    if (!df_mul_size(kernel - 1, dilation, &window) || !df_add_size(window, 1, &window) ||
        !df_add_size(size, before, &padded) || !df_add_size(padded, after, &padded))
        return df_fail(err, DF_OVERFLOW, "%s: kernel %lld at dilation %lld, padding %lld and %lld: "
                       "sizes exceed 64 bits", s->call->op->name, (long long)kernel,
                       (long long)dilation, (long long)before, (long long)after);
    if (same) {
        const int64_t gaps = size == 0 ? 0 : (size - 1) / stride; /* between outputs */
        const int64_t missing = gaps * stride - (size - window);
        *out = size == 0 ? 0 : gaps + 1;
        *pad = size == 0 ? 0 : df_max(missing, 0) / 2;
        return DF_OK;
    }
    if (padded < window)
        return df_fail(err, DF_BAD_SHAPE, "%s: input has shape %s and filters %s: in dimension %d "
                       "the kernel, at dilation %lld, is %lld wide and the padded image %lld, "
                       "expected a kernel that fits", s->call->op->name,
                       df_shape_text(s->ndim, s->x).text, df_shape_text(s->ndim, s->w).text, d + 1,
                       (long long)dilation, (long long)window, (long long)padded);
    *out = (padded - window) / stride + 1;
    *pad = before;
    return DF_OK;
}

/* Checks the shapes of x and w; computes the shape of y and the leading padding. */
static df_status measure_all(const shapes *s, int w_ndim, int64_t *y, int64_t *pad, df_error *err)
{
    df_status status = check_ranks(s, w_ndim, err);
    const int n = s->ndim - 2;
    if (status == DF_OK) status = check_list(s, STRIDES, n, 1, err);
    if (status == DF_OK) status = check_list(s, DILATIONS, n, 1, err);
    if (status == DF_OK) status = check_list(s, PADS, s->attrs[SAME].i ? 0 : 2 * n, 0, err);
    if (status == DF_OK) status = check_channels(s, err);
    for (int d = 0; d < n && status == DF_OK; d++) status = measure(s, d, &y[d + 1], &pad[d], err);
    if (status != DF_OK) return status;
    y[0] = s->x[0];
    y[n + 1] = s->w[n + 1];
    return DF_OK;
}

/* Sizes must have been checked and be known. */
static df_conv conv_of(const shapes *s, df_dtype dtype)
{
    const int n = s->ndim - 2;
    int64_t y[5], pad[3];
    df_error err;
    df_conv c = {.dtype = dtype, .n = s->x[0], .c_in = s->x[n + 1], .c_out = s->w[n + 1],
                 .groups = 1, .exact = s->attrs[EXACT].i};
    measure_all(s, s->ndim, y, pad, &err);
    if (s->w[n] > 0) c.groups = df_max(c.c_in / s->w[n], 1);
    for (int d = 0; d < 3; d++) {
        const int i = d - (3 - n);
        c.in[d] = i < 0 ? 1 : s->x[i + 1];
        c.out[d] = i < 0 ? 1 : y[i + 1];
        c.kernel[d] = i < 0 ? 1 : s->w[i];
        c.stride[d] = c.out[d] <= 1 ? 1 : s->attrs[STRIDES].list.v[i];
        c.dilation[d] = c.kernel[d] == 1 ? 1 : s->attrs[DILATIONS].list.v[i];
        c.pad[d] = i < 0 ? 0 : pad[i];
    }
    df_conv_shorten_steps(&c);
    return c;
}

static df_status check_dtypes(const df_call *call, df_error *err)
{
    for (int i = 0; i < 2; i++)
        if (call->in[i]->dtype != DF_F32 && call->in[i]->dtype != DF_F64)
            return df_fail_dtype(call, i, "float32 or float64", err);
    return call->in[0]->dtype == call->in[1]->dtype
               ? DF_OK
               : df_fail_dtype(call, 1, df_dtypes[call->in[0]->dtype].name, err);
}

static double flops_of(const df_conv *c)
{
    const double y = (double)c->n * (double)c->out[0] * (double)c->out[1] * (double)c->out[2];
    const double w = (double)c->kernel[0] * (double)c->kernel[1] * (double)c->kernel[2];
    return 2 * y * (double)c->c_out * w * (double)(c->c_in / c->groups);
}

/* --- conv: x, w -> y --- */

static shapes shapes_of_conv(const df_call *call)
{
    return (shapes){call, call->attrs, call->in[0]->ndim, call->in[0]->shape, call->in[1]->shape};
}

static df_conv conv_of_forward(const df_call *call)
{
    const shapes s = shapes_of_conv(call);
    return conv_of(&s, call->in[0]->dtype);
}

static df_status infer_conv(const df_call *call, df_error *err)
{
    const shapes s = shapes_of_conv(call);
    int64_t y[5], pad[3];
    df_status status = check_dtypes(call, err);
    if (status == DF_OK) status = measure_all(&s, call->in[1]->ndim, y, pad, err);
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
                            (df_conv_epilogue){0}, call->workspace);
    return DF_OK;
}

static double flops_conv(const df_call *call)
{
    const df_conv c = conv_of_forward(call);
    return flops_of(&c);
}

DF_OP(conv) = {.name = "conv", .kind = DF_GENERAL, .cannot_fail = true, .n_in = 2, .n_out = 1,
               .n_attrs = 5, .attrs = {GEOMETRY_ATTRS}, .promote = 3, .infer = infer_conv,
               .workspace = workspace_conv, .run = run_conv, .flops = flops_conv, RUN_IN_FLOAT};

/* --- conv_cluster: conv with an epilogue --- */

static df_conv_epilogue epilogue_of(const void *context)
{
    return (df_conv_epilogue){DF_SYM(df_epilogue_piece), context,
                              DF_SYM(df_epilogue_finish)(context)};
}

static void run_product(const df_call *call, const void *prepared, void *to, const void *context,
                        void *workspace)
{
    const df_conv c = conv_of_forward(call);
    (void)prepared;
    DF_SYM(df_conv_forward)(&c, call->in[0]->data, call->in[1]->data, to, epilogue_of(context),
                            workspace);
}

EPILOGUE(conv, CODE, infer_conv, workspace_conv, NULL, run_product)

DF_OP(conv_cluster) = {EPILOGUE_OP(conv), .name = "conv_cluster", .n_attrs = 6,
                       .attrs = {GEOMETRY_ATTRS, {"code", DF_ATTR_INTS}}, .flops = flops_conv};

/* --- conv_transformed: conv with filters that were transformed before. They are rows of outputs,
 * points x channels of them, and one extra row, since whole vectors are read. --- */

enum { KERNEL = CODE, CODE_AFTER_KERNEL };

/* Filters of shape w, (kernel, kernel, channels, outputs); other sizes are unknown. */
static df_conv conv_of_filters(const int64_t *w)
{
    return (df_conv){.dtype = DF_F32, .groups = 1, .c_in = w[2], .c_out = w[3],
                     .kernel = {1, w[0], w[1]}};
}

static df_status infer_transform(const df_call *call, df_error *err)
{
    const df_tensor *w = call->in[0];
    const df_conv c = w->ndim == 4 ? conv_of_filters(w->shape) : (df_conv){.groups = 1};
    int64_t each = DF_SYM(df_conv_transformed_each)(&c), shape[2] = {DF_UNKNOWN, c.c_out};
    if (w->dtype != DF_F32 || w->ndim != 4 || each == 0)
        return df_fail(err, DF_BAD_SHAPE, "%s: filters are %s, expected float32 of 3 x 3 or 5 x 5",
                       call->op->name, df_tensor_text(w).text);
    if (c.c_in != DF_UNKNOWN && (!df_mul_size(each, c.c_in, &shape[0]) ||
                                 !df_add_size(shape[0], 1, &shape[0])))
        return df_fail(err, DF_OVERFLOW, "%s: the transformed filters of %s exceed 64 bits",
                       call->op->name, df_tensor_text(w).text);
    return df_tensor_set(call->out[0], DF_F32, 2, shape, call->op->name, err);
}

static df_status run_transform(const df_call *call, df_error *err)
{
    const df_conv c = conv_of_filters(call->in[0]->shape);
    float *to = call->out[0]->data;
    (void)err;
    if (call->in[0]->size) DF_SYM(df_conv_transform)(&c, call->in[0]->data, to);
    for (int64_t i = 1; i <= c.c_out; i++) to[call->out[0]->size - i] = 0;
    return DF_OK;
}

DF_OP(conv_transform) = {.name = "conv_transform", .kind = DF_GENERAL, .cannot_fail = true,
                         .internal = true, .n_in = 1, .n_out = 1, .infer = infer_transform,
                         .run = run_transform};

/* Rows per channel after the transform. */
static int64_t rows_each(const df_call *call)
{
    const int64_t size = call->attrs[KERNEL].i, w[4] = {size, size};
    const df_conv c = conv_of_filters(w);
    return DF_SYM(df_conv_transformed_each)(&c);
}

/* The shape of the filters before the transform. */
static shapes shapes_before(const df_call *call, int64_t w[4])
{
    const int64_t *points = call->in[1]->shape, each = rows_each(call);
    w[0] = w[1] = call->attrs[KERNEL].i;
    w[2] = points[0] < 0 || each == 0 ? -1 : (points[0] - 1) / each;
    w[3] = points[1];
    return (shapes){call, call->attrs, call->in[0]->ndim, call->in[0]->shape, w};
}

static df_conv conv_of_transformed(const df_call *call)
{
    int64_t w[4];
    const shapes s = shapes_before(call, w);
    df_conv c = conv_of(&s, DF_F32);
    c.transformed = true;
    return c;
}

static df_status infer_transformed(const df_call *call, df_error *err)
{
    const df_tensor *x = call->in[0], *points = call->in[1];
    int64_t w[4], y[5], pad[3];
    if (x->dtype != DF_F32 || points->dtype != DF_F32 || points->ndim != 2 || x->ndim != 4 ||
        rows_each(call) == 0)
        return df_fail(err, DF_BAD_SHAPE, "%s: input is %s and filters %s of %lld x %lld, expected "
                       "float32 of 4 dimensions and 2", call->op->name, df_tensor_text(x).text,
                       df_tensor_text(points).text, (long long)call->attrs[KERNEL].i,
                       (long long)call->attrs[KERNEL].i);
    const shapes s = shapes_before(call, w);
    df_status status = measure_all(&s, 4, y, pad, err);
    if (status != DF_OK) return status;
    status = df_tensor_set(call->out[0], DF_F32, 4, y, call->op->name, err);
    if (status != DF_OK || x->size < 0 || points->size < 0) return status;
    const df_conv c = conv_of_transformed(call);
    return DF_SYM(df_conv_transforms)(&c) && points->shape[0] == rows_each(call) * c.c_in + 1
               ? DF_OK
               : fail_shapes(&s, "sizes for which transformed filters are used", err);
}

static int64_t workspace_transformed(const df_call *call)
{
    const df_conv c = conv_of_transformed(call);
    return DF_SYM(df_conv_forward_workspace)(&c);
}

static void run_transformed_to(const df_call *call, const void *prepared, void *to,
                               const void *context, void *workspace)
{
    const df_conv c = conv_of_transformed(call);
    (void)prepared;
    const df_conv_epilogue none = {0};
    DF_SYM(df_conv_forward)(&c, call->in[0]->data, call->in[1]->data, to,
                            context ? epilogue_of(context) : none, workspace);
}

static df_status run_transformed(const df_call *call, df_error *err)
{
    (void)err;
    run_transformed_to(call, NULL, call->out[0]->data, NULL, call->workspace);
    return DF_OK;
}

static double flops_transformed(const df_call *call)
{
    const df_conv c = conv_of_transformed(call);
    return flops_of(&c);
}

DF_OP(conv_transformed) = {.name = "conv_transformed", .kind = DF_GENERAL, .cannot_fail = true,
                           .internal = true, .n_in = 2, .n_out = 1, .n_attrs = 6,
                           .attrs = {GEOMETRY_ATTRS, {"kernel", DF_ATTR_INT}},
                           .infer = infer_transformed, .workspace = workspace_transformed,
                           .run = run_transformed, .flops = flops_transformed};

EPILOGUE(transformed, CODE_AFTER_KERNEL, infer_transformed, workspace_transformed, NULL,
         run_transformed_to)

DF_OP(conv_transformed_cluster) = {
    EPILOGUE_OP(transformed), .name = "conv_transformed_cluster", .n_attrs = 7,
    .attrs = {GEOMETRY_ATTRS, {"kernel", DF_ATTR_INT}, {"code", DF_ATTR_INTS}},
    .flops = flops_transformed};

/* --- gradients, with shape, strides, ... as attributes --- */

#define SHAPE 0

static bool all_known(int64_t n, const int64_t *sizes)
{
    for (int64_t i = 0; i < n; i++)
        if (sizes[i] == DF_UNKNOWN) return false;
    return true;
}

/* Checks that the gradient with respect to y has the shape of y, which must be known if all other
 * shapes are: a known shape of the result does not determine strides and padding. */
static df_status check_gradient(const shapes *s, int w_ndim, const df_tensor *g, df_error *err)
{
    int64_t y[5], pad[3];
    df_status status = measure_all(s, w_ndim, y, pad, err);
    if (status != DF_OK) return status;
    bool fits = g->ndim == s->ndim;
    for (int d = 0; d < g->ndim && fits; d++)
        fits = g->shape[d] == y[d] || g->shape[d] == DF_UNKNOWN || y[d] == DF_UNKNOWN;
    const bool open = !all_known(s->ndim, s->x) || !all_known(w_ndim, s->w) ||
                      !all_known(g->ndim, g->shape);
    if (fits && (open || all_known(s->ndim, y))) return DF_OK;
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
static shapes shapes_of_input(const df_call *call)
{
    const df_ints x = call->attrs[SHAPE].list;
    return (shapes){call, call->attrs + 1, (int)x.n, x.v, call->in[0]->shape};
}

static df_conv conv_of_input(const df_call *call)
{
    const shapes s = shapes_of_input(call);
    return conv_of(&s, call->in[0]->dtype);
}

static df_status infer_input(const df_call *call, df_error *err)
{
    df_status status = check_dtypes(call, err);
    if (status == DF_OK) status = set_result(call, err);
    if (status != DF_OK) return status;
    const shapes s = shapes_of_input(call);
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
    return flops_of(&c);
}

DF_OP(conv_backprop_input) = {
    .name = "conv_backprop_input", .kind = DF_GENERAL, .cannot_fail = true, .n_in = 2, .n_out = 1,
    .n_attrs = 6, .attrs = {{"shape", DF_ATTR_INTS}, GEOMETRY_ATTRS}, .promote = 3,
    .infer = infer_input, .workspace = workspace_input, .run = run_input, .flops = flops_input,
    RUN_IN_FLOAT};

/* conv_backprop_filter: x, g -> gradient with respect to w. */
static shapes shapes_of_filter(const df_call *call)
{
    const df_tensor *x = call->in[0];
    return (shapes){call, call->attrs + 1, x->ndim, x->shape, call->attrs[SHAPE].list.v};
}

static df_conv conv_of_filter(const df_call *call)
{
    const shapes s = shapes_of_filter(call);
    return conv_of(&s, call->in[0]->dtype);
}

static df_status infer_filter(const df_call *call, df_error *err)
{
    const shapes s = shapes_of_filter(call);
    df_status status = check_dtypes(call, err);
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
    return flops_of(&c);
}

DF_OP(conv_backprop_filter) = {
    .name = "conv_backprop_filter", .kind = DF_GENERAL, .cannot_fail = true, .n_in = 2, .n_out = 1,
    .n_attrs = 6, .attrs = {{"shape", DF_ATTR_INTS}, GEOMETRY_ATTRS}, .promote = 3,
    .infer = infer_filter, .workspace = workspace_filter, .run = run_filter, .flops = flops_filter,
    RUN_IN_FLOAT};
