/* conv_int32: x, w, zero -> convolution of int8 and uint8 with int32 sums. The padding of x is the
 * scalar `zero`. The attribute `exact` has no effect: sums are always exact. conv_int32_cluster:
 * conv_int32 followed by elementwise steps. */
#include "ops/conv/geometry.h"
#include "conv/integers.h"
#include "ops/epilogue.h"

enum { CODE = DF_CONV_N_ATTRS };

static df_conv_shapes shapes_of(const df_call *call)
{
    return (df_conv_shapes){call, call->attrs, call->in[0]->ndim, call->in[0]->shape,
                            call->in[1]->shape};
}

static df_conv_integers convolution_of(const df_call *call)
{
    const df_conv_shapes s = shapes_of(call);
    return (df_conv_integers){.c = DF_SYM(df_conv_from_shapes)(&s, call->in[0]->dtype),
                              .w_dtype = call->in[1]->dtype, .x = call->in[0]->data,
                              .w = call->in[1]->data};
}

static df_status infer(const df_call *call, df_error *err)
{
    const df_conv_shapes s = shapes_of(call);
    const df_tensor *zero = call->in[2];
    int64_t y[5], pad[3];
    for (int i = 0; i < 2; i++)
        if (call->in[i]->dtype != DF_I8 && call->in[i]->dtype != DF_U8)
            return df_fail_dtype(call, i, "int8 or uint8", err);
    if (zero->dtype != call->in[0]->dtype || zero->ndim != 0)
        return df_fail(err, DF_INVALID_ARGUMENT, "%s: zero is %s, expected a scalar of dtype %s",
                       call->op->name, df_tensor_text(zero).text,
                       df_dtypes[call->in[0]->dtype].name);
    df_status status = DF_SYM(df_conv_measure)(&s, call->in[1]->ndim, y, pad, err);
    return status == DF_OK
               ? df_tensor_set(call->out[0], DF_I32, s.ndim, y, call->op->name, err)
               : status;
}

static int64_t workspace(const df_call *call)
{
    const df_conv_integers t = convolution_of(call);
    return DF_SYM(df_conv_integers_workspace)(&t);
}

static void run_product(const df_call *call, const void *prepared, void *to,
                        df_product_epilogue epilogue, void *workspace)
{
    df_conv_integers t = convolution_of(call);
    (void)prepared;
    t.zero = *(const uint8_t *)call->in[2]->data;
    t.y = to;
    t.epilogue = epilogue;
    DF_SYM(df_conv_integers)(&t, workspace);
}

static df_status run(const df_call *call, df_error *err)
{
    (void)err;
    run_product(call, NULL, call->out[0]->data, (df_product_epilogue){0}, call->workspace);
    return DF_OK;
}

static double flops(const df_call *call)
{
    const df_conv_integers t = convolution_of(call);
    return DF_SYM(df_conv_flops)(&t.c);
}

DF_OP(conv_int32) = {.name = "conv_int32", .kind = DF_GENERAL, .cannot_fail = true, .n_in = 3,
                     .n_out = 1, .n_attrs = 5, .attrs = {DF_CONV_GEOMETRY_ATTRS}, .infer = infer,
                     .workspace = workspace, .run = run, .flops = flops};

EPILOGUE(integers, 3, CODE, infer, workspace, NULL, run_product)

DF_OP(conv_int32_cluster) = {EPILOGUE_OP(integers), .name = "conv_int32_cluster", .n_attrs = 6,
                             .attrs = {DF_CONV_GEOMETRY_ATTRS, {"code", DF_ATTR_INTS}},
                             .flops = flops};
