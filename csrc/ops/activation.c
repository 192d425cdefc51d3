/* Activations of neural networks, and what flows back through them: `<name>_grad(g, x)`, but of the
 * result y for relu and relu6. NaN stays NaN; infinities give the limit. */
#include "ops/elementwise.h"
#include "simd/vmath.h"
#include <float.h>

/* the constants of self-normalising networks (Klambauer et al. 2017) */
#define SELU_SCALE 1.0507009873554804934193349852946
#define SELU_SCALE_ALPHA (SELU_SCALE * 1.6732632423543772848170429916717)
/* gelu by tanh (Hendrycks and Gimpel 2016): x (1 + tanh(u)) / 2 = x sigmoid(2u), with
 * 2u = GELU_A x + GELU_B x^3 */
#define GELU_A 1.5957691216057307117597842397375L /* 2 sqrt(2 / pi) */
#define GELU_B (GELU_A * 0.044715L)
/* far enough for x sigmoid(2u) to be 0, and not so far that e^2u leaves the range of `scale` */
#define GELU_END_f32 11
#define GELU_END_f64 22
#define LARGEST_f32 FLT_MAX
#define LARGEST_f64 DBL_MAX

#define TEMPLATE "ops/activation_formulas.h"
#include "ops/each_float.h"
#include "ops/each_int.h"
#undef TEMPLATE

DF_OP(relu) = {UNARY_OP("relu"), .tile = {NUMBERS(relu)}};
DF_OP(relu_grad) = {BINARY_OP("relu_grad"), .tile = {FLOATS(relu_grad)}};
DF_OP(relu6) = {UNARY_OP("relu6"), .tile = {NUMBERS(relu6)}};
DF_OP(relu6_grad) = {BINARY_OP("relu6_grad"), .tile = {FLOATS(relu6_grad)}};
DF_OP(leaky_relu) = {UNARY_OP("leaky_relu"), .n_attrs = 1, .attrs = {{"alpha", DF_ATTR_FLOAT}},
                     .tile = {FLOATS(leaky_relu)}};
DF_OP(leaky_relu_grad) = {BINARY_OP("leaky_relu_grad"), .n_attrs = 1,
                          .attrs = {{"alpha", DF_ATTR_FLOAT}}, .tile = {FLOATS(leaky_relu_grad)}};
DF_OP(elu) = {UNARY_OP("elu"), .tile = {FLOATS(elu)}, .cost = 0.5};
DF_OP(elu_grad) = {BINARY_OP("elu_grad"), .tile = {FLOATS(elu_grad)}, .cost = 0.4};
DF_OP(selu) = {UNARY_OP("selu"), .tile = {FLOATS(selu)}, .cost = 0.5};
DF_OP(selu_grad) = {BINARY_OP("selu_grad"), .tile = {FLOATS(selu_grad)}, .cost = 0.4};
DF_OP(gelu) = {UNARY_OP("gelu"), .n_attrs = 1, .attrs = {{"approximate", DF_ATTR_BOOL}},
               .tile = {FLOATS(gelu)}, .cost = 0.5};
DF_OP(gelu_grad) = {BINARY_OP("gelu_grad"), .n_attrs = 1, .attrs = {{"approximate", DF_ATTR_BOOL}},
                    .tile = {FLOATS(gelu_grad)}, .cost = 0.8};
DF_OP(silu) = {UNARY_OP("silu"), .tile = {FLOATS(silu)}, .cost = 0.4};
DF_OP(silu_grad) = {BINARY_OP("silu_grad"), .tile = {FLOATS(silu_grad)}, .cost = 0.5};
DF_OP(softsign) = {UNARY_OP("softsign"), .tile = {FLOATS(softsign)}, .cost = 0.3};
