/* Shapes of convolutions, see geometry.h. */
#include "ops/conv/geometry.h"
#include "conv/steps.h"
#include "gemm/half.h"

df_status DF_SYM(df_conv_fail_shapes)(const df_conv_shapes *s, const char *rule, df_error *err)
{
    return df_fail(err, DF_BAD_SHAPE, "%s: input has shape %s and filters %s, expected %s",
                   s->call->op->name, df_shape_text(s->ndim, s->x).text,
                   df_shape_text(s->ndim, s->w).text, rule);
}

DF_ONCE(df_status, check_ranks, (const df_conv_shapes *s, int w_ndim, df_error *err))
{
    if (s->ndim >= 3 && s->ndim <= 5 && w_ndim == s->ndim) return DF_OK;
    return df_fail(err, DF_BAD_SHAPE,
                   "%s: input has shape %s and filters %s, expected 3, 4 or 5 dimensions of both: "
                   "(batch, sizes, channels) and (sizes, channels, outputs)", s->call->op->name,
                   df_shape_text(s->ndim, s->x).text, df_shape_text(w_ndim, s->w).text);
}

/* Checks an attribute: `n` numbers of at least `least`. */
DF_ONCE(df_status, check_list, (const df_conv_shapes *s, int attr, int64_t n, int64_t least,
                                df_error *err))
{
    static const char *const NAMES[] = {"strides", "dilations", "same", "pads"};
    const df_ints list = s->attrs[attr].list;
    const char *op = s->call->op->name;
    for (int64_t i = 0; i < list.n; i++)
        if (list.v[i] < least)
            return df_fail(err, DF_INVALID_ARGUMENT, "%s: %s has %lld for input %s, expected %lld "
                           "values of at least %lld", op, NAMES[attr], (long long)list.v[i],
                           df_shape_text(s->ndim, s->x).text, (long long)n, (long long)least);
    if (list.n == n) return DF_OK;
    return df_fail(err, DF_INVALID_ARGUMENT, "%s: %s has %lld values for input %s, expected %lld",
                   op, NAMES[attr], (long long)list.n, df_shape_text(s->ndim, s->x).text,
                   (long long)n);
}

static df_status check_channels(const df_conv_shapes *s, df_error *err)
{
    const int64_t c_in = s->x[s->ndim - 1], each = s->w[s->ndim - 2], c_out = s->w[s->ndim - 1];
    if (c_in == DF_UNKNOWN || each == DF_UNKNOWN || c_in == each) return DF_OK;
    if (each == 0 || c_in == 0 || c_in % each)
        return DF_SYM(df_conv_fail_shapes)(
            s, "the input channels to equal the filter channels, or a multiple in groups", err);
    if (c_out != DF_UNKNOWN && c_out % (c_in / each))
        return DF_SYM(df_conv_fail_shapes)(
            s, "a number of outputs that is divisible by the number of groups", err);
    return DF_OK;
}

/* Output size and leading padding along spatial dimension `d`. */
static df_status measure(const df_conv_shapes *s, int d, int64_t *out, int64_t *pad, df_error *err)
{
    const int64_t size = s->x[d + 1], kernel = s->w[d];
    const int64_t stride = s->attrs[DF_CONV_STRIDES].list.v[d];
    const int64_t dilation = s->attrs[DF_CONV_DILATIONS].list.v[d];
    const bool same = s->attrs[DF_CONV_SAME].i;
    const int64_t *pads = s->attrs[DF_CONV_PADS].list.v;
    const int64_t before = same ? 0 : pads[2 * d], after = same ? 0 : pads[2 * d + 1];
    int64_t window, padded;
    *out = *pad = DF_UNKNOWN;
    if (kernel == 0)
        return DF_SYM(df_conv_fail_shapes)(s, "filters of 1 or more elements in each dimension",
                                           err);
    if (size == DF_UNKNOWN || kernel == DF_UNKNOWN) {
        if (same && size != DF_UNKNOWN) *out = (size - 1) / stride + 1;
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
df_status DF_SYM(df_conv_measure)(const df_conv_shapes *s, int w_ndim, int64_t *y, int64_t *pad,
                                  df_error *err)
{
    df_status status = check_ranks(s, w_ndim, err);
    const int n = s->ndim - 2;
    if (status == DF_OK) status = check_list(s, DF_CONV_STRIDES, n, 1, err);
    if (status == DF_OK) status = check_list(s, DF_CONV_DILATIONS, n, 1, err);
    if (status == DF_OK)
        status = check_list(s, DF_CONV_PADS, s->attrs[DF_CONV_SAME].i ? 0 : 2 * n, 0, err);
    if (status == DF_OK) status = check_channels(s, err);
    for (int d = 0; d < n && status == DF_OK; d++) status = measure(s, d, &y[d + 1], &pad[d], err);
    if (status != DF_OK) return status;
    y[0] = s->x[0];
    y[n + 1] = s->w[n + 1];
    return DF_OK;
}

/* Sizes must have been checked and be known. */
df_conv DF_SYM(df_conv_from_shapes)(const df_conv_shapes *s, df_dtype dtype)
{
    const int n = s->ndim - 2;
    int64_t y[5], pad[3];
    df_error err;
    df_conv c = {.dtype = df_wide_dtype(dtype), .stored = dtype, .n = s->x[0],
                 .c_in = s->x[n + 1], .c_out = s->w[n + 1], .groups = 1,
                 .exact = s->attrs[DF_CONV_EXACT].i};
    DF_SYM(df_conv_measure)(s, s->ndim, y, pad, &err);
    if (s->w[n] > 0) c.groups = df_max(c.c_in / s->w[n], 1);
    for (int d = 0; d < 3; d++) {
        const int i = d - (3 - n);
        c.in[d] = i < 0 ? 1 : s->x[i + 1];
        c.out[d] = i < 0 ? 1 : y[i + 1];
        c.kernel[d] = i < 0 ? 1 : s->w[i];
        c.stride[d] = c.out[d] <= 1 ? 1 : s->attrs[DF_CONV_STRIDES].list.v[i];
        c.dilation[d] = c.kernel[d] == 1 ? 1 : s->attrs[DF_CONV_DILATIONS].list.v[i];
        c.pad[d] = i < 0 ? 0 : pad[i];
    }
    df_conv_shorten_steps(&c);
    return c;
}

df_status DF_SYM(df_conv_check_dtypes)(const df_call *call, df_error *err)
{
    for (int i = 0; i < 2; i++)
        if (call->in[i]->dtype != DF_F32 && call->in[i]->dtype != DF_F64)
            return df_fail_dtype(call, i, "float32 or float64", err);
    return call->in[0]->dtype == call->in[1]->dtype
               ? DF_OK
               : df_fail_dtype(call, 1, df_dtypes[call->in[0]->dtype].name, err);
}

double DF_SYM(df_conv_flops)(const df_conv *c)
{
    const double y = (double)c->n * (double)c->out[0] * (double)c->out[1] * (double)c->out[2];
    const double w = (double)c->kernel[0] * (double)c->kernel[1] * (double)c->kernel[2];
    return 2 * y * (double)c->c_out * w * (double)(c->c_in / c->groups);
}

df_conv DF_SYM(df_conv_of_filters)(int ndim, const int64_t *w, int64_t groups)
{
    const int n = ndim - 2;
    df_conv c = {.dtype = DF_F32, .stored = DF_F32, .groups = groups, .c_out = w[n + 1]};
    if (w[n] < 0 || !df_mul_size(w[n], groups, &c.c_in)) c.c_in = DF_UNKNOWN;
    for (int d = 0; d < 3; d++) c.kernel[d] = d < 3 - n ? 1 : w[d - (3 - n)];
    return c;
}
