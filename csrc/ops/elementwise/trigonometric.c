/* Trigonometric functions and their inverses. The formulas are in vmath.h. */
#include "ops/elementwise/elementwise.h"

#define TEMPLATE "ops/elementwise/trigonometric_formulas.h"
#include "ops/each_float.h"
#undef TEMPLATE

DF_OP(sin) = {UNARY_OP("sin"), .tile = {FLOATS(sin)}, .cost = 0.4};
DF_OP(cos) = {UNARY_OP("cos"), .tile = {FLOATS(cos)}, .cost = 0.4};
DF_OP(tan) = {UNARY_OP("tan"), .tile = {FLOATS(tan)}, .cost = 0.5};
DF_OP(asin) = {UNARY_OP("asin"), .tile = {FLOATS(asin)}, .cost = 2};
DF_OP(acos) = {UNARY_OP("acos"), .tile = {FLOATS(acos)}, .cost = 2};
DF_OP(atan) = {UNARY_OP("atan"), .tile = {FLOATS(atan)}, .cost = 0.5};
/* atan2(y, x) */
DF_OP(atan2) = {BINARY_OP("atan2"), .tile = {FLOATS(atan2)}, .cost = 0.8};
