/* Hyperbolic functions and their inverses. The formulas are in vmath.h. */
#include "ops/elementwise/complex.h"
#include "ops/elementwise/elementwise.h"

#define TEMPLATE "ops/elementwise/hyperbolic_formulas.h"
#include "ops/each_float.h"
#undef TEMPLATE

DF_OP(sinh) = {UNARY_OP("sinh"), .tile = {FLOATS(sinh), COMPLEX(sinh)}, .cost = 0.5};
DF_OP(cosh) = {UNARY_OP("cosh"), .tile = {FLOATS(cosh), COMPLEX(cosh)}, .cost = 0.4};
DF_OP(tanh) = {UNARY_OP("tanh"), .tile = {FLOATS(tanh), COMPLEX(tanh)}, .cost = 0.4};
/* tanh_grad(g, x): the gradient of x for y = tanh(x). */
DF_OP(tanh_grad) = {BINARY_OP("tanh_grad"), .tile = {FLOATS(tanh_grad)}, .cost = 0.4};
DF_OP(asinh) = {UNARY_OP("asinh"), .tile = {FLOATS(asinh), COMPLEX(asinh)}, .cost = 2};
DF_OP(acosh) = {UNARY_OP("acosh"), .tile = {FLOATS(acosh), COMPLEX(acosh)}, .cost = 2};
DF_OP(atanh) = {UNARY_OP("atanh"), .tile = {FLOATS(atanh), COMPLEX(atanh)}, .cost = 2};
