/* Convolutions with filters that were transformed or packed once for many runs. The results are
 * bit-identical to those of conv. */
#include "ops/conv/geometry.h"
#include "ops/epilogue.h"

/* --- conv_transformed: conv with filters that were transformed before. They are rows of outputs,
 * points x channels of them, and one extra row, since whole vectors are read. --- */

enum { KERNEL = DF_CONV_N_ATTRS, CODE };

static df_status infer_transform(const df_call *call, df_error *err)
{
    const df_tensor *w = call->in[0];
    const df_conv none = {.groups = 1};
    const df_conv c = w->ndim == 4 ? DF_SYM(df_conv_of_filters)(4, w->shape, 1) : none;
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
    const df_conv c = DF_SYM(df_conv_of_filters)(4, call->in[0]->shape, 1);
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
    const df_conv c = DF_SYM(df_conv_of_filters)(4, w, 1);
    return DF_SYM(df_conv_transformed_each)(&c);
}

/* The shape of the filters before the transform. */
static df_conv_shapes shapes_before(const df_call *call, int64_t w[4])
{
    const int64_t *points = call->in[1]->shape, each = rows_each(call);
    w[0] = w[1] = call->attrs[KERNEL].i;
    w[2] = points[0] < 0 || each == 0 ? -1 : (points[0] - 1) / each;
    w[3] = points[1];
    return (df_conv_shapes){call, call->attrs, call->in[0]->ndim, call->in[0]->shape, w};
}

static df_conv conv_of_transformed(const df_call *call)
{
    int64_t w[4];
    const df_conv_shapes s = shapes_before(call, w);
    df_conv c = DF_SYM(df_conv_from_shapes)(&s, DF_F32);
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
    const df_conv_shapes s = shapes_before(call, w);
    df_status status = DF_SYM(df_conv_measure)(&s, 4, y, pad, err);
    if (status != DF_OK) return status;
    status = df_tensor_set(call->out[0], DF_F32, 4, y, call->op->name, err);
    if (status != DF_OK || x->size < 0 || points->size < 0) return status;
    const df_conv c = conv_of_transformed(call);
    return DF_SYM(df_conv_transforms)(&c) && points->shape[0] == rows_each(call) * c.c_in + 1
               ? DF_OK
               : DF_SYM(df_conv_fail_shapes)(&s, "sizes for which transformed filters are used",
                                             err);
}

static int64_t workspace_transformed(const df_call *call)
{
    const df_conv c = conv_of_transformed(call);
    return DF_SYM(df_conv_forward_workspace)(&c);
}

static void run_transformed_to(const df_call *call, const void *prepared, void *to,
                               df_product_epilogue epilogue, void *workspace)
{
    const df_conv c = conv_of_transformed(call);
    (void)prepared;
    DF_SYM(df_conv_forward)(&c, call->in[0]->data, call->in[1]->data, to, epilogue, workspace);
}

static df_status run_transformed(const df_call *call, df_error *err)
{
    (void)err;
    run_transformed_to(call, NULL, call->out[0]->data, (df_product_epilogue){0}, call->workspace);
    return DF_OK;
}

static double flops_transformed(const df_call *call)
{
    const df_conv c = conv_of_transformed(call);
    return DF_SYM(df_conv_flops)(&c);
}

DF_OP(conv_transformed) = {.name = "conv_transformed", .kind = DF_GENERAL, .cannot_fail = true,
                           .internal = true, .n_in = 2, .n_out = 1, .n_attrs = 6,
                           .attrs = {DF_CONV_GEOMETRY_ATTRS, {"kernel", DF_ATTR_INT}},
                           .infer = infer_transformed, .workspace = workspace_transformed,
                           .run = run_transformed, .flops = flops_transformed};

EPILOGUE(transformed, 2, CODE, infer_transformed, workspace_transformed, NULL,
         run_transformed_to)

DF_OP(conv_transformed_cluster) = {
    EPILOGUE_OP(transformed), .name = "conv_transformed_cluster", .n_attrs = 7,
    .attrs = {DF_CONV_GEOMETRY_ATTRS, {"kernel", DF_ATTR_INT}, {"code", DF_ATTR_INTS}},
    .flops = flops_transformed};

/* --- conv_packed: conv with filters in the order in which the kernel of windows reads them --- */

enum { GROUPS }; /* of conv_pack */
enum { FILTERS = DF_CONV_N_ATTRS, CODE_OF_PACKED };

static df_status infer_pack(const df_call *call, df_error *err)
{
    const df_tensor *w = call->in[0];
    const int64_t groups = call->attrs[GROUPS].i, last = w->ndim - 1;
    int64_t size = DF_UNKNOWN;
    if (w->dtype != DF_F32 || w->ndim < 3 || w->ndim > 5 || groups < 1 ||
        (w->shape[last] > 0 && w->shape[last] % groups))
        return df_fail(err, DF_BAD_SHAPE, "%s: filters are %s in %lld groups, expected float32 of "
                       "3, 4 or 5 dimensions, with outputs for each group", call->op->name,
                       df_tensor_text(w).text, (long long)groups);
    if (w->size >= 0) {
        const df_conv c = DF_SYM(df_conv_of_filters)(w->ndim, w->shape, groups);
        size = DF_SYM(df_conv_packed_size)(&c);
        if (size < 0)
            return df_fail(err, DF_OVERFLOW, "%s: the packed filters of %s exceed 64 bits",
                           call->op->name, df_tensor_text(w).text);
    }
    return df_tensor_set(call->out[0], DF_F32, 1, &size, call->op->name, err);
}

static df_status run_pack(const df_call *call, df_error *err)
{
    const df_tensor *w = call->in[0];
    const df_conv c = DF_SYM(df_conv_of_filters)(w->ndim, w->shape, call->attrs[GROUPS].i);
    (void)err;
    if (w->size) DF_SYM(df_conv_pack_filters)(&c, w->data, call->out[0]->data);
    return DF_OK;
}

DF_OP(conv_pack) = {.name = "conv_pack", .kind = DF_GENERAL, .cannot_fail = true, .internal = true,
                    .n_in = 1, .n_out = 1, .n_attrs = 1, .attrs = {{"groups", DF_ATTR_INT}},
                    .infer = infer_pack, .run = run_pack};

/* The attribute `filters` is the shape of the filters before packing. */
static df_conv_shapes shapes_of_packed(const df_call *call)
{
    return (df_conv_shapes){call, call->attrs, call->in[0]->ndim, call->in[0]->shape,
                            call->attrs[FILTERS].list.v};
}

static df_conv conv_of_packed(const df_call *call)
{
    const df_conv_shapes s = shapes_of_packed(call);
    df_conv c = DF_SYM(df_conv_from_shapes)(&s, DF_F32);
    c.packed = true;
    return c;
}

static df_status infer_packed(const df_call *call, df_error *err)
{
    const df_tensor *x = call->in[0], *packed = call->in[1];
    const df_ints w = call->attrs[FILTERS].list;
    int64_t y[5], pad[3];
    if (x->dtype != DF_F32 || packed->dtype != DF_F32 || packed->ndim != 1 || w.n != x->ndim)
        return df_fail(err, DF_BAD_SHAPE, "%s: input is %s and filters %s of %lld dimensions, "
                       "expected float32, as many dimensions as the input has, and packed filters",
                       call->op->name, df_tensor_text(x).text, df_tensor_text(packed).text,
                       (long long)w.n);
    const df_conv_shapes s = shapes_of_packed(call);
    for (int64_t i = 0; i < w.n; i++)
        if (w.v[i] < 1)
            return DF_SYM(df_conv_fail_shapes)(&s, "filters with elements", err);
    df_status status = DF_SYM(df_conv_measure)(&s, (int)w.n, y, pad, err);
    if (status != DF_OK) return status;
    status = df_tensor_set(call->out[0], DF_F32, s.ndim, y, call->op->name, err);
    if (status != DF_OK || x->size < 0 || packed->size < 0) return status;
    const df_conv c = conv_of_packed(call);
    return DF_SYM(df_conv_packs)(&c) && packed->size == DF_SYM(df_conv_packed_size)(&c)
               ? DF_OK
               : DF_SYM(df_conv_fail_shapes)(&s, "sizes for which packed filters are used", err);
}

static int64_t workspace_packed(const df_call *call)
{
    const df_conv c = conv_of_packed(call);
    return DF_SYM(df_conv_forward_workspace)(&c);
}

static void run_packed_to(const df_call *call, const void *prepared, void *to,
                          df_product_epilogue epilogue, void *workspace)
{
    const df_conv c = conv_of_packed(call);
    (void)prepared;
    DF_SYM(df_conv_forward)(&c, call->in[0]->data, call->in[1]->data, to, epilogue, workspace);
}

static df_status run_packed(const df_call *call, df_error *err)
{
    (void)err;
    run_packed_to(call, NULL, call->out[0]->data, (df_product_epilogue){0}, call->workspace);
    return DF_OK;
}

static double flops_packed(const df_call *call)
{
    const df_conv c = conv_of_packed(call);
    return DF_SYM(df_conv_flops)(&c);
}

DF_OP(conv_packed) = {.name = "conv_packed", .kind = DF_GENERAL, .cannot_fail = true,
                      .internal = true, .n_in = 2, .n_out = 1, .n_attrs = 6,
                      .attrs = {DF_CONV_GEOMETRY_ATTRS, {"filters", DF_ATTR_INTS}},
                      .infer = infer_packed, .workspace = workspace_packed, .run = run_packed,
                      .flops = flops_packed};

EPILOGUE(of_packed, 2, CODE_OF_PACKED, infer_packed, workspace_packed, NULL, run_packed_to)

DF_OP(conv_packed_cluster) = {
    EPILOGUE_OP(of_packed), .name = "conv_packed_cluster", .n_attrs = 7,
    .attrs = {DF_CONV_GEOMETRY_ATTRS, {"filters", DF_ATTR_INTS}, {"code", DF_ATTR_INTS}},
    .flops = flops_packed};

/* --- conv_scaled: conv_packed of x * scale, one factor for each image and channel, as in
 * squeeze-and-excitation. A core scales the pixels that it multiplies next. --- */

static df_conv conv_of_scaled(const df_call *call)
{
    df_conv c = conv_of_packed(call);
    c.scaled = true;
    return c;
}

static df_status infer_scaled(const df_call *call, df_error *err)
{
    const df_tensor *x = call->in[0], *scale = call->in[2];
    df_status status = infer_packed(call, err);
    if (status != DF_OK || x->size < 0 || call->in[1]->size < 0 || scale->size < 0) return status;
    const df_conv c = conv_of_scaled(call);
    if (scale->dtype != DF_F32 || scale->size != c.n * c.c_in)
        return df_fail(err, DF_BAD_SHAPE, "%s: scale is %s, expected float32 with an element for "
                       "each of %lld images and %lld channels", call->op->name,
                       df_tensor_text(scale).text, (long long)c.n, (long long)c.c_in);
    const df_conv_shapes s = shapes_of_packed(call);
    return DF_SYM(df_conv_scales)(&c)
               ? DF_OK
               : DF_SYM(df_conv_fail_shapes)(&s, "filters of one pixel and strides of 1", err);
}

static int64_t workspace_scaled(const df_call *call)
{
    const df_conv c = conv_of_scaled(call);
    return DF_SYM(df_conv_forward_workspace)(&c);
}

static void run_scaled_to(const df_call *call, const void *prepared, void *to,
                          df_product_epilogue epilogue, void *workspace)
{
    const df_conv c = conv_of_scaled(call);
    (void)prepared;
    DF_SYM(df_conv_forward_scaled)(&c, call->in[0]->data, call->in[1]->data, call->in[2]->data, to,
                                   epilogue, workspace);
}

static df_status run_scaled(const df_call *call, df_error *err)
{
    (void)err;
    run_scaled_to(call, NULL, call->out[0]->data, (df_product_epilogue){0}, call->workspace);
    return DF_OK;
}

DF_OP(conv_scaled) = {.name = "conv_scaled", .kind = DF_GENERAL, .cannot_fail = true,
                      .internal = true, .n_in = 3, .n_out = 1, .n_attrs = 6,
                      .attrs = {DF_CONV_GEOMETRY_ATTRS, {"filters", DF_ATTR_INTS}},
                      .infer = infer_scaled, .workspace = workspace_scaled, .run = run_scaled,
                      .flops = flops_packed};

EPILOGUE(of_scaled, 3, CODE_OF_PACKED, infer_scaled, workspace_scaled, NULL, run_scaled_to)

DF_OP(conv_scaled_cluster) = {
    EPILOGUE_OP(of_scaled), .name = "conv_scaled_cluster", .n_attrs = 7,
    .attrs = {DF_CONV_GEOMETRY_ATTRS, {"filters", DF_ATTR_INTS}, {"code", DF_ATTR_INTS}},
    .flops = flops_packed};
