/* The larger, the smaller, and what lies between. NaN in any operand gives NaN. */
#ifndef DTYPE

#include "ops/elementwise.h"

#define TEMPLATE "ops/limits.c"
#include "ops/each_float.h"
#include "ops/each_int.h"
#undef TEMPLATE

/* Not commutative: of zeros that differ in sign they give the second. */
DF_OP(maximum) = {BINARY_OP("maximum"), .tile = {NUMBERS(maximum)}};
DF_OP(minimum) = {BINARY_OP("minimum"), .tile = {NUMBERS(minimum)}};
/* clip_by_value(x, low, high) */
DF_OP(clip_by_value) = {TERNARY_OP("clip_by_value"), .tile = {NUMBERS(clip_by_value)}};

#else

DF_INLINE V FN(maximum)(V a, V b) { return FN(max)(a, b); }
DF_INLINE V FN(minimum)(V a, V b) { return FN(min)(a, b); }
DF_INLINE V FN(clip_by_value)(V x, V low, V high) { return FN(max)(FN(min)(x, high), low); }

TILE_BINARY(maximum)
TILE_BINARY(minimum)
TILE_TERNARY(clip_by_value)

#endif
