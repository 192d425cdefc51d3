/* Rectifiers and their gradients, `<name>_grad(g, x)`; for relu and relu6 with the result y instead
 * of x. NaN stays NaN. */
#include "ops/elementwise/elementwise.h"

#define TEMPLATE "ops/elementwise/relu_formulas.h"
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
