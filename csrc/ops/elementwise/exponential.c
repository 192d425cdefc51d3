/* Exponentials, logarithms, powers and roots. The formulas are in vmath.h and lanes.h. */
#include "ops/elementwise/complex.h"
#include "ops/elementwise/elementwise.h"

#define TEMPLATE "ops/elementwise/exponential_formulas.h"
#include "ops/each_float.h"
#include "ops/each_int.h"
#undef TEMPLATE

FIRST_OF_INTS(below_zero)

DF_OP(exp) = {UNARY_OP("exp"), .tile = {FLOATS(exp), COMPLEX(exp)}, .cost = 0.3};
DF_OP(expm1) = {UNARY_OP("expm1"), .tile = {FLOATS(expm1), COMPLEX(expm1)}, .cost = 0.4};
DF_OP(log) = {UNARY_OP("log"), .tile = {FLOATS(log), COMPLEX(log)}, .cost = 0.4};
DF_OP(log1p) = {UNARY_OP("log1p"), .tile = {FLOATS(log1p), COMPLEX(log1p)}, .cost = 0.5};
DF_OP(sqrt) = {UNARY_OP("sqrt"), .tile = {FLOATS(sqrt), COMPLEX(sqrt)}, .cost = 0.3};
DF_OP(rsqrt) = {UNARY_OP("rsqrt"), .tile = {FLOATS(rsqrt), COMPLEX(rsqrt)}, .cost = 0.4};
DF_OP(pow) = {BINARY_OP("pow"), .tile = {NUMBERS(pow), COMPLEX(pow)}, .cost = 2,
              .tile_scalar[1] = {[DF_F32] = pow_one1_tile_f32, DF_OF(F64, pow_one1_tile_f64)},
              .value_check = {.input = 1, .dtypes = SIGNED_INTS, .first = below_zero_first,
                              .want = "integer exponents of at least 0"}};
