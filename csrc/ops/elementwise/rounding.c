/* Rounding to integers, and tests for NaN, infinite and finite numbers. */
#include "ops/elementwise/complex.h"
#include "ops/elementwise/elementwise.h"

#define TEMPLATE "ops/elementwise/rounding_formulas.h"
#include "ops/each_float.h"
#include "ops/each_int.h"
#undef TEMPLATE

TEST_TILE_OF_PARTS(is_nan, |)
TEST_TILE_OF_PARTS(is_inf, |)
TEST_TILE_OF_PARTS(is_finite, &)

DF_OP(floor) = {UNARY_OP("floor"), .tile = {FLOATS(floor)}};
DF_OP(ceil) = {UNARY_OP("ceil"), .tile = {FLOATS(ceil)}};
DF_OP(round) = {UNARY_OP("round"), .tile = {NUMBERS(round)}}; /* ties to even */
DF_OP(trunc) = {UNARY_OP("trunc"), .tile = {FLOATS(trunc)}};
DF_OP(is_nan) = {TEST_OP("is_nan"), .tile = {FLOATS(is_nan), PARTS(is_nan)}};
DF_OP(is_inf) = {TEST_OP("is_inf"), .tile = {FLOATS(is_inf), PARTS(is_inf)}};
DF_OP(is_finite) = {TEST_OP("is_finite"), .tile = {FLOATS(is_finite), PARTS(is_finite)}};
