/* Bitwise ops on integers, and logical ops on bools: bytes 0 and 1, so the formulas are shared. */
#include "ops/elementwise/elementwise.h"

#define TEMPLATE "ops/elementwise/bitwise_formulas.h"
#include "ops/each_int.h"
#undef TEMPLATE

#define DTYPE u8
#include "ops/elementwise/bitwise_bools_formulas.h"
#undef DTYPE

DF_OP(bitwise_and) = {BINARY_OP("bitwise_and"), .commutative = true,
                      .tile = {INTS(bitwise_and), BOOLS(bitwise_and)}};
DF_OP(bitwise_or) = {BINARY_OP("bitwise_or"), .commutative = true,
                    .tile = {INTS(bitwise_or), BOOLS(bitwise_or)}};
DF_OP(bitwise_xor) = {BINARY_OP("bitwise_xor"), .commutative = true,
                     .tile = {INTS(bitwise_xor), BOOLS(bitwise_xor)}};
DF_OP(bitwise_not) = {UNARY_OP("bitwise_not"),
                     .tile = {INTS(bitwise_not), BOOLS(logical_not)},
                     .formula.of_bools = "logical_not"};
DF_OP(left_shift) = {BINARY_OP("left_shift"), .tile = {INTS(left_shift)}};
DF_OP(right_shift) = {BINARY_OP("right_shift"), .tile = {INTS(right_shift)}};

/* The same formulas, for bools only. */
DF_OP(logical_and) = {BINARY_OP("logical_and"), .commutative = true, .tile = {BOOLS(bitwise_and)},
                      .formula.name = "bitwise_and"};
DF_OP(logical_or) = {BINARY_OP("logical_or"), .commutative = true, .tile = {BOOLS(bitwise_or)},
                     .formula.name = "bitwise_or"};
DF_OP(logical_xor) = {BINARY_OP("logical_xor"), .commutative = true, .tile = {BOOLS(bitwise_xor)},
                      .formula.name = "bitwise_xor"};
DF_OP(logical_not) = {UNARY_OP("logical_not"), .tile = {BOOLS(logical_not)}};
