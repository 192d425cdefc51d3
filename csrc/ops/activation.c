/* Activations of neural networks, and what flows back through them: `<name>_grad(g, x)`, but of the
 * result y for relu and relu6. NaN stays NaN; infinities give the limit. */
#include "ops/elementwise.h"

#define TEMPLATE "ops/activation_formulas.h"
#include "ops/each_float.h"
#include "ops/each_int.h"
#undef TEMPLATE

DF_OP(relu) = {UNARY_OP("relu"), .tile = {NUMBERS(relu)}};
DF_OP(relu_grad) = {BINARY_OP("relu_grad"), .tile = {FLOATS(relu_grad)}};
DF_OP(relu6) = {UNARY_OP("relu6"), .tile = {NUMBERS(relu6)}};
DF_OP(relu6_grad) = {BINARY_OP("relu6_grad"), .tile = {FLOATS(relu6_grad)}};
DF_OP(leaky_relu) = {UNARY_OP("leaky_relu"), .n_attrs = 1, .attrs = {{"alpha", DF_ATTR_FLOAT}},
                     .tile = {FLOATS(leaky_relu)}};
DF_OP(leaky_relu_grad) = {BINARY_OP("leaky_relu_grad"), .n_attrs = 1,
                          .attrs = {{"alpha", DF_ATTR_FLOAT}}, .tile = {FLOATS(leaky_relu_grad)}};
DF_OP(elu) = {UNARY_OP("elu"), .tile = {FLOATS(elu)}, .cost = 0.5};
DF_OP(elu_grad) = {BINARY_OP("elu_grad"), .tile = {FLOATS(elu_grad)}, .cost = 0.4};
DF_OP(selu) = {UNARY_OP("selu"), .tile = {FLOATS(selu)}, .cost = 0.5};
DF_OP(selu_grad) = {BINARY_OP("selu_grad"), .tile = {FLOATS(selu_grad)}, .cost = 0.4};
DF_OP(gelu) = {UNARY_OP("gelu"), .n_attrs = 1, .attrs = {{"approximate", DF_ATTR_BOOL}},
               .tile = {FLOATS(gelu)}, .cost = 0.5};
DF_OP(gelu_grad) = {BINARY_OP("gelu_grad"), .n_attrs = 1, .attrs = {{"approximate", DF_ATTR_BOOL}},
                    .tile = {FLOATS(gelu_grad)}, .cost = 0.8};
DF_OP(silu) = {UNARY_OP("silu"), .tile = {FLOATS(silu)}, .cost = 0.4};
DF_OP(silu_grad) = {BINARY_OP("silu_grad"), .tile = {FLOATS(silu_grad)}, .cost = 0.5};
DF_OP(softsign) = {UNARY_OP("softsign"), .tile = {FLOATS(softsign)}, .cost = 0.3};
