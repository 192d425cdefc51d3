/* fake_quant: floats rounded to the grid of an integer dtype, and its straight-through gradients.
 * Ops of dualflow/ops/quantization/fake_quant.py, elementwise: the range may be one number, or one
 * per channel. */
#include "ops/elementwise/elementwise.h"

enum { LEAST, MOST, LAST }; /* the last one is `divide` or `side` */

#define TEMPLATE "ops/quantization/fake_quant_formulas.h"
#include "ops/each_float.h"
#undef TEMPLATE

#define FAKE_QUANT_OP(op, n, name, type)                                                         \
    ELEMENTWISE_OP(op, n, (1 << (n)) - 1), .may_alias = DF_ANY_INPUT,                            \
    .infer = df_infer_broadcast, .cost = 0.4, .n_attrs = 3,                                      \
    .attrs = {{"least", DF_ATTR_FLOAT}, {"most", DF_ATTR_FLOAT}, {name, type}}

/* fake_quant(x, min, max) */
DF_OP(fake_quant) = {FAKE_QUANT_OP("fake_quant", 3, "divide", DF_ATTR_BOOL),
                     .tile = {FLOATS(fake_quant)}};
/* fake_quant_grad(g, x, min, max): g of the elements below (side < 0), within (0) or above the
 * nudged range, otherwise 0 */
DF_OP(fake_quant_grad) = {FAKE_QUANT_OP("fake_quant_grad", 4, "side", DF_ATTR_INT),
                          .tile = {FLOATS(fake_quant_grad)}};
