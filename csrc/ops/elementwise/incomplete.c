/* The incomplete gamma and beta functions and their derivatives. */
#include "ops/elementwise/elementwise.h"
#include "special/special.h"

#define TEMPLATE "ops/elementwise/incomplete_formulas.h"
#include "ops/each_float.h"
#undef TEMPLATE

DF_OP(igamma) = {BINARY_OP("igamma"), .tile = {FLOATS(igamma)}, .cost = 300};
DF_OP(igammac) = {BINARY_OP("igammac"), .tile = {FLOATS(igammac)}, .cost = 300};
DF_OP(igamma_grad_a) = {BINARY_OP("igamma_grad_a"), .tile = {FLOATS(igamma_grad_a)}, .cost = 600};
DF_OP(gamma_density) = {BINARY_OP("gamma_density"), .tile = {FLOATS(gamma_density)}, .cost = 100};
DF_OP(betainc) = {TERNARY_OP("betainc"), .tile = {FLOATS(betainc)}, .cost = 400};
DF_OP(beta_density) = {TERNARY_OP("beta_density"), .tile = {FLOATS(beta_density)}, .cost = 200};
