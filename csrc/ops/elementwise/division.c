/* Quotients, remainders, greatest common divisors. */
#include "ops/elementwise/complex.h"
#include "ops/elementwise/elementwise.h"

#define TEMPLATE "ops/elementwise/division_formulas.h"
#include "ops/each_float.h"
#include "ops/each_int.h"
#undef TEMPLATE

FIRST_OF_INTS(is_zero)
#define NO_ZERO                                                                                  \
    {.input = 1, .dtypes = ALL_INTS, .first = is_zero_first,                                     \
     .want = "integer divisors other than 0"}

DF_OP(divide) = {BINARY_OP("divide"), .promote_to_float = true, 
                 .tile = {FLOATS(divide), COMPLEX(divide)}, WITH_ONE(divide)};
DF_OP(divide_no_nan) = {BINARY_OP("divide_no_nan"), .promote_to_float = true,
                        .tile = {FLOATS(divide_no_nan), COMPLEX(divide_no_nan)}};
DF_OP(reciprocal) = {UNARY_OP("reciprocal"), .tile = {FLOATS(reciprocal), COMPLEX(reciprocal)}};
DF_OP(floordiv) = {BINARY_OP("floordiv"), .tile = {NUMBERS(floordiv)}, .cost = 2,
                   .value_check = NO_ZERO};
DF_OP(floormod) = {BINARY_OP("floormod"), .tile = {NUMBERS(floormod)}, .cost = 2,
                   .value_check = NO_ZERO};
DF_OP(gcd) = {BINARY_OP("gcd"), .commutative = true, .tile = {INTS(gcd)}, .cost = 20};
DF_OP(lcm) = {BINARY_OP("lcm"), .commutative = true, .tile = {INTS(lcm)}, .cost = 20};
