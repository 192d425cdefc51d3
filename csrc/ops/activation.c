/* Activations of neural networks, and what flows back through them: `<name>_grad(g, y or x)`. NaN
 * stays NaN; infinities give the limit. */
#ifndef DTYPE

#include "elementwise.h"
#include "vmath.h"
#include <float.h>

/* the constants of self-normalising networks (Klambauer et al. 2017) */
#define SELU_SCALE 1.0507009873554804934193349852946
#define SELU_SCALE_ALPHA (SELU_SCALE * 1.6732632423543772848170429916717)
/* gelu by tanh (Hendrycks and Gimpel 2016): x (1 + tanh(u)) / 2 = x sigmoid(2u), with
 * 2u = GELU_A x + GELU_B x^3 */
#define GELU_A 1.5957691216057307117597842397375 /* 2 sqrt(2 / pi) */
#define GELU_B (GELU_A * 0.044715)
#define SQRT_HALF 0.70710678118654752440084436210485
#define INV_SQRT_2PI 0.39894228040143267793994605993438
#define LARGEST_f32 FLT_MAX
#define LARGEST_f64 DBL_MAX

#define TEMPLATE "ops/activation.c"
#include "each_float.h"
#include "each_int.h"
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
DF_OP(elu_grad) = {BINARY_OP("elu_grad"), .tile = {FLOATS(elu_grad)}};
DF_OP(selu) = {UNARY_OP("selu"), .tile = {FLOATS(selu)}, .cost = 0.5};
DF_OP(selu_grad) = {BINARY_OP("selu_grad"), .tile = {FLOATS(selu_grad)}};
DF_OP(gelu) = {UNARY_OP("gelu"), .n_attrs = 1, .attrs = {{"approximate", DF_ATTR_BOOL}},
               .tile = {FLOATS(gelu)}, .cost = 0.5};
DF_OP(gelu_grad) = {BINARY_OP("gelu_grad"), .n_attrs = 1, .attrs = {{"approximate", DF_ATTR_BOOL}},
                    .tile = {FLOATS(gelu_grad)}, .cost = 0.8};
DF_OP(silu) = {UNARY_OP("silu"), .tile = {FLOATS(silu)}, .cost = 0.4};
DF_OP(silu_grad) = {BINARY_OP("silu_grad"), .tile = {FLOATS(silu_grad)}, .cost = 0.5};
DF_OP(softsign) = {UNARY_OP("softsign"), .tile = {FLOATS(softsign)}, .cost = 0.3};

#else

DF_INLINE V FN(relu)(V x) { return FN(max0)(x); }
DF_INLINE V FN(relu6)(V x)
{
    x = FN(max0)(x);
    return FN(select)(x > 6, FN(splat)(6), x);
}

TILE_UNARY(relu)
TILE_UNARY(relu6)

#if DTYPE_FLOAT

DF_INLINE V FN(relu_grad)(V g, V y) { return FN(select)(y > (V){0}, g, (V){0}); }
DF_INLINE V FN(relu6_grad)(V g, V y)
{
    return FN(select)((y > (V){0}) & (y < 6), g, (V){0});
}

DF_INLINE V FN(leaky_relu)(V x, V alpha) { return FN(select)(x > (V){0}, x, alpha * x); }
DF_INLINE V FN(leaky_relu_grad)(V g, V x, V alpha)
{
    return FN(select)(x > (V){0}, g, alpha * g);
}

DF_INLINE V FN(elu)(V x) { return FN(select)(x > (V){0}, x, FN(expm1)(x)); }
DF_INLINE V FN(elu_grad)(V g, V y) { return FN(select)(y > (V){0}, g, g * (y + 1)); }

DF_INLINE V FN(selu)(V x)
{
    return FN(select)(x > (V){0}, x * (T)SELU_SCALE, FN(expm1)(x) * (T)SELU_SCALE_ALPHA);
}
DF_INLINE V FN(selu_grad)(V g, V y)
{
    return g * FN(select)(y > (V){0}, FN(splat)((T)SELU_SCALE), y + (T)SELU_SCALE_ALPHA);
}

/* -inf times a vanishing factor would be NaN: the largest finite number stands for it. */
DF_INLINE V FN(bounded)(V x)
{
    return FN(clamp)(x, -DF_CAT(LARGEST, DTYPE), DF_CAT(LARGEST, DTYPE));
}

DF_INLINE V FN(silu)(V x)
{
    V s = FN(sigmoid)(x);
    return FN(select)(x < (V){0}, FN(bounded)(x), x) * s;
}
DF_INLINE V FN(silu_grad)(V g, V x)
{
    V s = FN(sigmoid)(x);
    return g * (s * (1 + FN(bounded)(x) * (1 - s)));
}

DF_INLINE V FN(gelu_exact)(V x)
{
    V half = (T)0.5 * FN(select)(x < (V){0}, FN(bounded)(x), x);
    return half * (1 + FN(erf)(x * (T)SQRT_HALF));
}
DF_INLINE V FN(gelu_tanh)(V x)
{
    V s = FN(sigmoid)(x * FN(fma)(FN(splat)((T)GELU_B), x * x, FN(splat)((T)GELU_A)));
    return FN(select)(x < (V){0}, FN(bounded)(x), x) * s;
}

/* Beyond 40 the derivatives are 0 and 1 in either dtype; the limit keeps inf * 0 away. */
DF_INLINE V FN(gelu_exact_grad)(V g, V x)
{
    x = FN(clamp)(x, -40, 40);
    V density = (T)INV_SQRT_2PI * FN(exp)((T)-0.5 * x * x);
    return g * FN(fma)(x, density, (T)0.5 * (1 + FN(erf)(x * (T)SQRT_HALF)));
}
DF_INLINE V FN(gelu_tanh_grad)(V g, V x)
{
    x = FN(clamp)(x, -40, 40);
    V square = x * x;
    V s = FN(sigmoid)(x * FN(fma)(FN(splat)((T)GELU_B), square, FN(splat)((T)GELU_A)));
    V slope = FN(fma)(FN(splat)((T)(3 * GELU_B)), square, FN(splat)((T)GELU_A));
    return g * FN(fma)(x * slope, s * (1 - s), s);
}

DF_INLINE V FN(softsign)(V x)
{
    x = FN(bounded)(x);
    return x / (1 + FN(abs)(x));
}

TILE_BINARY(relu_grad)
TILE_BINARY(relu6_grad)
TILE_UNARY_WITH(leaky_relu)
TILE_BINARY_WITH(leaky_relu_grad)
TILE_UNARY(elu)
TILE_BINARY(elu_grad)
TILE_UNARY(selu)
TILE_BINARY(selu_grad)
TILE_UNARY(silu)
TILE_BINARY(silu_grad)
TILE_UNARY(softsign)

TILE_HEAD(gelu, 1)
{
    if (attrs[0].i) FN(map1)(n, out, in[0], FN(gelu_tanh));
    else FN(map1)(n, out, in[0], FN(gelu_exact));
}

TILE_HEAD(gelu_grad, 2)
{
    if (attrs[0].i) FN(map2)(n, out, in[0], in[1], FN(gelu_tanh_grad));
    else FN(map2)(n, out, in[0], in[1], FN(gelu_exact_grad));
}

#endif
#endif
