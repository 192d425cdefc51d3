/* Rounding to integers, and tests of what kind of number one is. */
#ifndef DTYPE

#include "ops/elementwise.h"

#define TEMPLATE "ops/rounding.c"
#include "ops/each_float.h"
#include "ops/each_int.h"
#undef TEMPLATE

DF_OP(floor) = {UNARY_OP("floor"), .tile = {FLOATS(floor)}};
DF_OP(ceil) = {UNARY_OP("ceil"), .tile = {FLOATS(ceil)}};
DF_OP(round) = {UNARY_OP("round"), .tile = {NUMBERS(round)}}; /* halves to even */
DF_OP(trunc) = {UNARY_OP("trunc"), .tile = {FLOATS(trunc)}};
DF_OP(is_nan) = {TEST_OP("is_nan"), .tile = {FLOATS(is_nan)}};
DF_OP(is_inf) = {TEST_OP("is_inf"), .tile = {FLOATS(is_inf)}};
DF_OP(is_finite) = {TEST_OP("is_finite"), .tile = {FLOATS(is_finite)}};

#elif DTYPE_FLOAT

DF_INLINE V FN(round)(V x) { return FN(rint)(x); }
DF_INLINE M FN(is_nan)(V x) { return FN(isnan)(x); }
DF_INLINE M FN(is_inf)(V x) { return FN(isinf)(x); }
DF_INLINE M FN(is_finite)(V x) { return FN(isfinite)(x); }

TILE_UNARY(floor)
TILE_UNARY(ceil)
TILE_UNARY(round)
TILE_UNARY(trunc)
TILE_TEST(is_nan)
TILE_TEST(is_inf)
TILE_TEST(is_finite)

#else

DF_INLINE V FN(round)(V x) { return x; }

TILE_UNARY(round)

#endif
