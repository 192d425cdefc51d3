/* Sigmoid and related functions, x log y and related functions, the error functions. Most formulas
 * are in vmath.h. */
#include "ops/elementwise/complex.h"
#include "ops/elementwise/elementwise.h"

#define TEMPLATE "ops/elementwise/special_formulas.h"
#include "ops/each_float.h"
#undef TEMPLATE

DF_OP(sigmoid) = {UNARY_OP("sigmoid"), .tile = {FLOATS(sigmoid), COMPLEX(sigmoid)}, .cost = 0.4};
/* sigmoid_grad(g, x): the gradient of x for y = sigmoid(x). */
DF_OP(sigmoid_grad) = {BINARY_OP("sigmoid_grad"), .tile = {FLOATS(sigmoid_grad)}, .cost = 0.4};
DF_OP(softplus) = {UNARY_OP("softplus"), .tile = {FLOATS(softplus)}, .cost = 0.8};
DF_OP(log_sigmoid) = {UNARY_OP("log_sigmoid"), .tile = {FLOATS(log_sigmoid)}, .cost = 0.8};
DF_OP(xlogy) = {BINARY_OP("xlogy"), .tile = {FLOATS(xlogy), COMPLEX(xlogy)}, .cost = 0.5};
DF_OP(xlog1py) = {BINARY_OP("xlog1py"), .tile = {FLOATS(xlog1py), COMPLEX(xlog1py)}, .cost = 0.6};
DF_OP(xdivy) = {BINARY_OP("xdivy"), .tile = {FLOATS(xdivy), COMPLEX(xdivy)}};
DF_OP(erf) = {UNARY_OP("erf"), .tile = {FLOATS(erf)}, .cost = 0.5};
DF_OP(erfc) = {UNARY_OP("erfc"), .tile = {FLOATS(erfc)}, .cost = 2};
