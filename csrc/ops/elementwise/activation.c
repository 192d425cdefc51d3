/* Smooth activations of neural networks and their gradients, `<name>_grad(g, x)`. NaN stays NaN; an
 * infinity yields the limit. */
#include "ops/elementwise/elementwise.h"

#define TEMPLATE "ops/elementwise/activation_formulas.h"
#include "ops/each_float.h"
#undef TEMPLATE

DF_OP(elu) = {UNARY_OP("elu"), .tile = {FLOATS(elu)}, .cost = 0.5};
DF_OP(elu_grad) = {BINARY_OP("elu_grad"), .tile = {FLOATS(elu_grad)}, .cost = 0.4};
DF_OP(selu) = {UNARY_OP("selu"), .tile = {FLOATS(selu)}, .cost = 0.5};
DF_OP(selu_grad) = {BINARY_OP("selu_grad"), .tile = {FLOATS(selu_grad)}, .cost = 0.4};
DF_OP(gelu) = {UNARY_OP("gelu"), .n_attrs = 1, .attrs = {{"approximate", DF_ATTR_BOOL}},
               .tile = {FLOATS(gelu)}, .formula.if_true = "gelu_tanh", .cost = 0.5};
DF_OP(gelu_grad) = {BINARY_OP("gelu_grad"), .n_attrs = 1, .attrs = {{"approximate", DF_ATTR_BOOL}},
                    .tile = {FLOATS(gelu_grad)}, .formula.name = "gelu_exact_grad",
                    .formula.if_true = "gelu_tanh_grad", .cost = 0.8};
DF_OP(silu) = {UNARY_OP("silu"), .tile = {FLOATS(silu)}, .cost = 0.4};
DF_OP(silu_grad) = {BINARY_OP("silu_grad"), .tile = {FLOATS(silu_grad)}, .cost = 0.5};
DF_OP(softsign) = {UNARY_OP("softsign"), .tile = {FLOATS(softsign)}, .cost = 0.3};
