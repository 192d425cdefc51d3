/* Maximum, minimum and clipping. NaN in any operand yields NaN. */
#include "ops/elementwise/elementwise.h"

#define TEMPLATE "ops/elementwise/limits_formulas.h"
#include "ops/each_float.h"
#include "ops/each_int.h"
#undef TEMPLATE

/* Not commutative: of zeros with different signs they return the second. */
DF_OP(maximum) = {BINARY_OP("maximum"), .tile = {NUMBERS(maximum)}, WITH_ONE(maximum)};
DF_OP(minimum) = {BINARY_OP("minimum"), .tile = {NUMBERS(minimum)}, WITH_ONE(minimum)};
/* clip_by_value(x, low, high) */
DF_OP(clip_by_value) = {TERNARY_OP("clip_by_value"), .tile = {NUMBERS(clip_by_value)}};
