/* Comparisons, logic and bits. Bools are bytes 0 and 1. */
#ifndef DTYPE

#include "elementwise.h"

/* of any integer dtype, unsigned ones too */
DF_INLINE bool shift_fits(int64_t by, int64_t bits) { return by >= 0 && by < bits; }
DF_INLINE int64_t sign_of(int64_t x) { return x < 0 ? -1 : 0; }

#define TEMPLATE "ops/compare.c"
#include "each_float.h"
#include "each_int.h"
#undef TEMPLATE

DF_OP(equal) = {COMPARE_OP("equal"), .commutative = true, .tile = {NUMBERS(equal), BOOLS(equal)}};
DF_OP(not_equal) = {COMPARE_OP("not_equal"), .commutative = true,
                    .tile = {NUMBERS(not_equal), BOOLS(not_equal)}};
DF_OP(less) = {COMPARE_OP("less"), .tile = {NUMBERS(less), BOOLS(less)}};
DF_OP(less_equal) = {COMPARE_OP("less_equal"), .tile = {NUMBERS(less_equal), BOOLS(less_equal)}};
DF_OP(greater) = {COMPARE_OP("greater"), .tile = {NUMBERS(greater), BOOLS(greater)}};
DF_OP(greater_equal) = {COMPARE_OP("greater_equal"),
                        .tile = {NUMBERS(greater_equal), BOOLS(greater_equal)}};

DF_OP(bitwise_and) = {BINARY_OP("bitwise_and"), .commutative = true,
                      .tile = {INTS(bitwise_and)}};
DF_OP(bitwise_or) = {BINARY_OP("bitwise_or"), .commutative = true, .tile = {INTS(bitwise_or)}};
DF_OP(bitwise_xor) = {BINARY_OP("bitwise_xor"), .commutative = true, .tile = {INTS(bitwise_xor)}};
DF_OP(bitwise_not) = {UNARY_OP("bitwise_not"), .tile = {INTS(bitwise_not)}};
DF_OP(left_shift) = {BINARY_OP("left_shift"), .tile = {INTS(left_shift)}};
DF_OP(right_shift) = {BINARY_OP("right_shift"), .tile = {INTS(right_shift)}};

static void logical_not_tile(int64_t n, void *out, const void *const *in, const df_attr *attrs)
{
    (void)attrs;
    const uint8_t *x = in[0];
    uint8_t *y = out;
    for (int64_t i = 0; i < n; i++) y[i] = x[i] ^ 1;
}

DF_OP(logical_and) = {BINARY_OP("logical_and"), .commutative = true, .tile = {BOOLS(bitwise_and)}};
DF_OP(logical_or) = {BINARY_OP("logical_or"), .commutative = true, .tile = {BOOLS(bitwise_or)}};
DF_OP(logical_xor) = {BINARY_OP("logical_xor"), .commutative = true, .tile = {BOOLS(bitwise_xor)}};
DF_OP(logical_not) = {UNARY_OP("logical_not"), .tile = {[DF_BOOL] = logical_not_tile}};

/* where(condition, a, b): a and b promoted to one dtype, which selects the tile function. */
DF_OP(where) = {.name = "where", .kind = DF_ELEMENTWISE, .n_in = 3, .n_out = 1, .promote = 6,
                .infer = df_infer_broadcast, .tile = {NUMBERS(where), BOOLS(where)},
                .tile_key = 1};

#else

DF_INLINE M FN(equal)(V a, V b) { return a == b; }
DF_INLINE M FN(not_equal)(V a, V b) { return a != b; }
DF_INLINE M FN(less)(V a, V b) { return a < b; }
DF_INLINE M FN(less_equal)(V a, V b) { return a <= b; }
DF_INLINE M FN(greater)(V a, V b) { return a > b; }
DF_INLINE M FN(greater_equal)(V a, V b) { return a >= b; }

TILE_COMPARE(equal)
TILE_COMPARE(not_equal)
TILE_COMPARE(less)
TILE_COMPARE(less_equal)
TILE_COMPARE(greater)
TILE_COMPARE(greater_equal)

TILE_HEAD(where)
{
    (void)attrs;
    const uint8_t *condition = in[0];
    const T *a = in[1], *b = in[2];
    T *y = out;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        FN(store)(y + i, FN(select)(FN(load_mask)(condition + i), FN(load)(a + i),
                                    FN(load)(b + i)));
    for (; i < n; i++) y[i] = condition[i] ? a[i] : b[i];
}

#if !DTYPE_FLOAT

DF_INLINE V FN(bitwise_and)(V a, V b) { return a & b; }
DF_INLINE V FN(bitwise_or)(V a, V b) { return a | b; }
DF_INLINE V FN(bitwise_xor)(V a, V b) { return a ^ b; }
DF_INLINE V FN(bitwise_not)(V x) { return ~x; }

/* A shift by the width or more, undefined in C, gives what shifting bit by bit would: 0, or the
 * sign. A negative shift counts as too long. */
DF_INLINE T FN(left_shift_1)(T a, T b)
{
    return shift_fits(b, 8 * sizeof(T)) ? (T)((uint64_t)a << b) : (T)0;
}
DF_INLINE T FN(right_shift_1)(T a, T b)
{
    return shift_fits(b, 8 * sizeof(T)) ? (T)(a >> b) : (T)sign_of(a);
}
DF_INLINE V FN(left_shift)(V a, V b) { return FN(lanewise2)(a, b, FN(left_shift_1)); }
DF_INLINE V FN(right_shift)(V a, V b) { return FN(lanewise2)(a, b, FN(right_shift_1)); }

TILE_BINARY(bitwise_and)
TILE_BINARY(bitwise_or)
TILE_BINARY(bitwise_xor)
TILE_UNARY(bitwise_not)
TILE_BINARY(left_shift)
TILE_BINARY(right_shift)

#endif
#endif
