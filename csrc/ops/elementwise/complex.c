/* Complex numbers: construction, parts, and the tile functions of arithmetic. */
#include "ops/elementwise/complex.h"
#include "ops/elementwise/elementwise.h"
#include "simd/complex_lanes.h"

#define PIECE 256 /* numbers whose parts are separated on the stack */

extern DF_OP(atan2);

#define TEMPLATE "ops/elementwise/complex_formulas.h"
#include "ops/each_complex.h"
#undef TEMPLATE

df_status DF_SYM(df_infer_part)(const df_call *call, df_error *err)
{
    const df_tensor *x = call->in[0];
    return df_tensor_set(call->out[0], df_real_dtype(x->dtype), x->ndim, x->shape, call->op->name,
                         err);
}

static df_status infer_complex(const df_call *call, df_error *err)
{
    df_status status = df_infer_broadcast(call, err);
    if (status == DF_OK) call->out[0]->dtype = call->in[0]->dtype == DF_F64 ? DF_C128 : DF_C64;
    return status;
}

#define OWN(name) DF_OF(C64, name##_tile_c64), DF_OF(C128, name##_tile_c128)

DF_OP(complex) = {ELEMENTWISE_OP("complex", 2, 3), .infer = infer_complex,
                  .tile = {[DF_F32] = DF_HAS(C64, complex_tile_c64),
                           [DF_F64] = DF_HAS(C128, complex_tile_c128)}};
DF_OP(real) = {ELEMENTWISE_OP("real", 1, 1), .infer = DF_SYM(df_infer_part), .tile = {OWN(real)}};
DF_OP(imag) = {ELEMENTWISE_OP("imag", 1, 1), .infer = DF_SYM(df_infer_part), .tile = {OWN(imag)}};
DF_OP(conj) = {ELEMENTWISE_OP("conj", 1, 1), .may_alias = DF_ANY_INPUT,
               .infer = df_infer_broadcast, .tile = {OWN(conj)}};
DF_OP(angle) = {ELEMENTWISE_OP("angle", 1, 1), .infer = DF_SYM(df_infer_part), .tile = {OWN(angle)},
                .cost = 2};
