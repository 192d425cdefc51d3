/* Trigonometric functions and their inverses. The formulas are in vmath.h. */
#include "ops/elementwise/complex.h"
#include "ops/elementwise/elementwise.h"

#define TEMPLATE "ops/elementwise/trigonometric_formulas.h"
#include "ops/each_float.h"
#undef TEMPLATE

DF_OP(sin) = {UNARY_OP("sin"), .tile = {FLOATS(sin), COMPLEX(sin)}, .cost = 0.4};
DF_OP(cos) = {UNARY_OP("cos"), .tile = {FLOATS(cos), COMPLEX(cos)}, .cost = 0.4};
DF_OP(tan) = {UNARY_OP("tan"), .tile = {FLOATS(tan), COMPLEX(tan)}, .cost = 0.5};
DF_OP(asin) = {UNARY_OP("asin"), .tile = {FLOATS(asin), COMPLEX(asin)}, .cost = 2};
DF_OP(acos) = {UNARY_OP("acos"), .tile = {FLOATS(acos), COMPLEX(acos)}, .cost = 2};
DF_OP(atan) = {UNARY_OP("atan"), .tile = {FLOATS(atan), COMPLEX(atan)}, .cost = 0.5};
/* atan2(y, x) */
DF_OP(atan2) = {BINARY_OP("atan2"), .tile = {FLOATS(atan2)}, .cost = 0.8};
