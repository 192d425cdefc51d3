/* Comparisons, and the choice by a condition. Bools are bytes 0 and 1. */
#ifndef DTYPE

#include "ops/elementwise.h"

#define TEMPLATE "ops/compare.c"
#include "ops/each_float.h"
#include "ops/each_int.h"
#undef TEMPLATE

DF_OP(equal) = {COMPARE_OP("equal"), .commutative = true, .tile = {NUMBERS(equal), BOOLS(equal)}};
DF_OP(not_equal) = {COMPARE_OP("not_equal"), .commutative = true,
                    .tile = {NUMBERS(not_equal), BOOLS(not_equal)}};
DF_OP(less) = {COMPARE_OP("less"), .tile = {NUMBERS(less), BOOLS(less)}};
DF_OP(less_equal) = {COMPARE_OP("less_equal"), .tile = {NUMBERS(less_equal), BOOLS(less_equal)}};
DF_OP(greater) = {COMPARE_OP("greater"), .tile = {NUMBERS(greater), BOOLS(greater)}};
DF_OP(greater_equal) = {COMPARE_OP("greater_equal"),
                        .tile = {NUMBERS(greater_equal), BOOLS(greater_equal)}};

static df_status infer_where(const df_call *call, df_error *err)
{
    if (call->in[0]->dtype != DF_BOOL) return df_fail_dtype(call, 0, "bool", err);
    return df_infer_broadcast(call, err);
}

/* where(condition, a, b): a and b promoted to one dtype, which selects the tile function. */
DF_OP(where) = {.name = "where", .kind = DF_ELEMENTWISE, .n_in = 3, .n_out = 1, .promote = 6,
                .infer = infer_where, .tile_key = 1,
                .tile = {INTS(where), BOOLS(where), [DF_F16] = where_tile_i16,
                         [DF_BF16] = where_tile_i16, [DF_F32] = where_tile_f32,
                         [DF_F64] = where_tile_f64}};

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

TILE_OF(where)
{
    (void)attrs;
    const uint8_t *condition = in[0];
    const T *a = in[1], *b = in[2];
    T *y = out;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        M mask = FN(load_mask)(condition + i);
        FN(store)(y + i, FN(select)(mask, FN(load)(a + i), FN(load)(b + i)));
    }
    for (; i < n; i++) y[i] = condition[i] ? a[i] : b[i];
}

#endif
