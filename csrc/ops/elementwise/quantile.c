/* Inverses of the normal distribution and of the error functions. */
#include "ops/elementwise/elementwise.h"
#include "simd/vmath_quantile.h"

#define TEMPLATE "ops/elementwise/quantile_formulas.h"
#include "ops/each_float.h"
#undef TEMPLATE

DF_OP(erfinv) = {UNARY_OP("erfinv"), .tile = {FLOATS(erfinv)}, .cost = 15};
DF_OP(erfcinv) = {UNARY_OP("erfcinv"), .tile = {FLOATS(erfcinv)}, .cost = 15};
DF_OP(ndtri) = {UNARY_OP("ndtri"), .tile = {FLOATS(ndtri)}, .cost = 15};
