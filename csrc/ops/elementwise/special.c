/* Sigmoid and related functions, x log y and related functions, the error and gamma functions. Most
 * formulas are in vmath.h. */
#include "ops/elementwise/elementwise.h"

#define TEMPLATE "ops/elementwise/special_formulas.h"
#include "ops/each_float.h"
#undef TEMPLATE

DF_OP(sigmoid) = {UNARY_OP("sigmoid"), .tile = {FLOATS(sigmoid)}, .cost = 0.4};
/* sigmoid_grad(g, x): the gradient of x for y = sigmoid(x). */
DF_OP(sigmoid_grad) = {BINARY_OP("sigmoid_grad"), .tile = {FLOATS(sigmoid_grad)}, .cost = 0.4};
DF_OP(softplus) = {UNARY_OP("softplus"), .tile = {FLOATS(softplus)}, .cost = 0.8};
DF_OP(log_sigmoid) = {UNARY_OP("log_sigmoid"), .tile = {FLOATS(log_sigmoid)}, .cost = 0.8};
DF_OP(xlogy) = {BINARY_OP("xlogy"), .tile = {FLOATS(xlogy)}, .cost = 0.5};
DF_OP(xlog1py) = {BINARY_OP("xlog1py"), .tile = {FLOATS(xlog1py)}, .cost = 0.6};
DF_OP(xdivy) = {BINARY_OP("xdivy"), .tile = {FLOATS(xdivy)}};
DF_OP(erf) = {UNARY_OP("erf"), .tile = {FLOATS(erf)}, .cost = 0.5};
DF_OP(erfc) = {UNARY_OP("erfc"), .tile = {FLOATS(erfc)}, .cost = 2};
DF_OP(lgamma) = {UNARY_OP("lgamma"), .tile = {FLOATS(lgamma)}, .cost = 8};
DF_OP(digamma) = {UNARY_OP("digamma"), .tile = {FLOATS(digamma)}, .cost = 20};

enum { N_ATTR };

static df_status infer_polygamma(const df_call *call, df_error *err)
{
    int64_t n = call->attrs[N_ATTR].i;
    if (n < 0 || n > POLYGAMMA_MAX)
        return df_fail(err, DF_INVALID_ARGUMENT, "%s: n is %lld, expected 0 to %d", call->op->name,
                       (long long)n, POLYGAMMA_MAX);
    return df_infer_broadcast(call, err);
}

DF_OP(polygamma) = {.name = "polygamma", .kind = DF_ELEMENTWISE, .n_in = 1, .n_out = 1,
                    .n_attrs = 1, .attrs = {{"n", DF_ATTR_INT}}, .promote = 1,
                    .may_alias = DF_ANY_INPUT,
                    .infer = infer_polygamma, .tile = {FLOATS(polygamma)}, .cost = 300};
