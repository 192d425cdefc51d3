/* The logarithm of the gamma function, its derivatives, and the Hurwitz zeta function. */
#include "ops/elementwise/elementwise.h"
#include "simd/vmath_gamma.h"

#define TEMPLATE "ops/elementwise/gamma_formulas.h"
#include "ops/each_float.h"
#undef TEMPLATE

DF_OP(lgamma) = {UNARY_OP("lgamma"), .tile = {FLOATS(lgamma)}, .cost = 8};
DF_OP(digamma) = {UNARY_OP("digamma"), .tile = {FLOATS(digamma)}, .cost = 20};

enum { N_ATTR };

static df_status infer_polygamma(const df_call *call, df_error *err)
{
    int64_t n = call->attrs[N_ATTR].i;
    if (n < 0 || n > DF_POLYGAMMA_MAX)
        return df_fail(err, DF_INVALID_ARGUMENT, "%s: n is %lld, expected 0 to %d", call->op->name,
                       (long long)n, DF_POLYGAMMA_MAX);
    return df_infer_broadcast(call, err);
}

DF_OP(polygamma) = {.name = "polygamma", .kind = DF_ELEMENTWISE, .n_in = 1, .n_out = 1,
                    .n_attrs = 1, .attrs = {{"n", DF_ATTR_INT}}, .promote = 1,
                    .may_alias = DF_ANY_INPUT,
                    .infer = infer_polygamma, .tile = {FLOATS(polygamma)}, .cost = 300};
DF_OP(zeta) = {BINARY_OP("zeta"), .tile = {FLOATS(zeta)}, .cost = 500};
