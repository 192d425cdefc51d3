/* Comparisons, and selection by a condition. Bools are bytes 0 and 1. */
#include "ops/elementwise/complex.h"
#include "ops/elementwise/elementwise.h"

#define TEMPLATE "ops/elementwise/compare_formulas.h"
#include "ops/each_float.h"
#include "ops/each_int.h"
#undef TEMPLATE

DF_OP(equal) = {COMPARE_OP("equal"), .commutative = true,
                .tile = {NUMBERS(equal), BOOLS(equal), COMPLEX(equal)}};
DF_OP(not_equal) = {COMPARE_OP("not_equal"), .commutative = true,
                    .tile = {NUMBERS(not_equal), BOOLS(not_equal), COMPLEX(not_equal)}};
DF_OP(less) = {COMPARE_OP("less"), .tile = {NUMBERS(less), BOOLS(less)}};
DF_OP(less_equal) = {COMPARE_OP("less_equal"), .tile = {NUMBERS(less_equal), BOOLS(less_equal)}};
DF_OP(greater) = {COMPARE_OP("greater"), .tile = {NUMBERS(greater), BOOLS(greater)}};
DF_OP(greater_equal) = {COMPARE_OP("greater_equal"),
                        .tile = {NUMBERS(greater_equal), BOOLS(greater_equal)}};

/* Numbers of 16 bytes; those of 8 bytes are selected as int64. */
#if DF_BUILT_C128
static void where_tile_c128(int64_t n, void *out, const void *const *in, const df_attr *attrs)
{
    const uint8_t *condition = in[0];
    (void)attrs;
    for (int64_t i = 0; i < n; i++)
        memmove((double *)out + 2 * i, (const double *)in[condition[i] ? 1 : 2] + 2 * i,
                2 * sizeof(double));
}
#endif

static df_status infer_where(const df_call *call, df_error *err)
{
    if (call->in[0]->dtype != DF_BOOL) return df_fail_dtype(call, 0, "bool", err);
    return df_infer_broadcast(call, err);
}

/* where(condition, a, b): a and b are promoted to one dtype, which selects the tile function. */
DF_OP(where) = {.name = "where", .kind = DF_ELEMENTWISE, .n_in = 3, .n_out = 1, .promote = 6,
                .infer = infer_where, .tile_key = 1, .formula.form = DF_FORM_CHOICE,
                .tile = {INTS(where), BOOLS(where), DF_OF(F16, where_tile_i16),
                         DF_OF(BF16, where_tile_i16), [DF_F32] = where_tile_f32,
                         DF_OF(F64, where_tile_f64), DF_OF(C64, where_tile_i64),
                         DF_OF(C128, where_tile_c128)}};
