/* Exponentials, logarithms, powers and roots. The formulas are in vmath.h. */
#ifndef DTYPE

#include "elementwise.h"
#include "vmath.h"

#define TEMPLATE "ops/exponential.c"
#include "each_float.h"
#undef TEMPLATE

DF_OP(exp) = {UNARY_OP("exp"), .tile = {FLOATS(exp)}, .cost = 0.3};
DF_OP(log) = {UNARY_OP("log"), .tile = {FLOATS(log)}, .cost = 0.4};
DF_OP(pow) = {BINARY_OP("pow"), .tile = {FLOATS(pow)}, .cost = 2};

#else

TILE_UNARY(exp)
TILE_UNARY(log)
TILE_BINARY(pow)

#endif
