/* Smooth activations and their gradients. Compiled once per floating dtype. */
#include <float.h>

/* Constants of self-normalising networks (Klambauer et al. 2017). */
#define SELU_SCALE 1.0507009873554804934193349852946
#define SELU_SCALE_ALPHA (SELU_SCALE * 1.6732632423543772848170429916717)
/* Tanh form of gelu (Hendrycks and Gimpel 2016): x (1 + tanh(u)) / 2 = x sigmoid(2u), with 2u =
 * GELU_A x + GELU_B x^3. */
#define GELU_A 1.5957691216057307117597842397375L /* 2 sqrt(2 / pi) */
#define GELU_B (GELU_A * 0.044715L)
/* For x below -GELU_END, x sigmoid(2u) is 0; 2u at -GELU_END is EXP_LOW. */
#define GELU_END_f32 12.961f
#define GELU_END_f64 26.8118

DF_INLINE V FN(elu)(V x) { return FN(select)(x > (V){0}, x, FN(expm1)(x)); }
DF_INLINE V FN(elu_grad)(V g, V x) { return FN(select)(x > (V){0}, g, g * FN(exp)(x)); }

DF_INLINE V FN(selu)(V x)
{
    return FN(select)(x > (V){0}, x * (T)SELU_SCALE, FN(expm1)(x) * (T)SELU_SCALE_ALPHA);
}
DF_INLINE V FN(selu_grad)(V g, V x)
{
    return g * FN(select)(x > (V){0}, FN(splat)((T)SELU_SCALE), (T)SELU_SCALE_ALPHA * FN(exp)(x));
}

/* Replaces infinities by the largest finite number, since inf / inf would be NaN. */
DF_INLINE V FN(bounded)(V x)
{
    const T largest = (T)(sizeof(T) == 4 ? FLT_MAX : DBL_MAX);
    return FN(clamp)(x, -largest, largest);
}

DF_INLINE V FN(silu_grad)(V g, V x) { return g * FN(silu_slope)(x); }

DF_INLINE V FN(gelu_exact_grad)(V g, V x) { return g * FN(gelu_slope)(x); }

/* x (A + B x^2) as a pair; the constants are also pairs. */
DF_INLINE FN(df_pair) FN(gelu_exponent)(V x)
{
    const T a = (T)GELU_A, b = (T)GELU_B, b_rest = (T)(GELU_B - b);
    FN(df_pair) w = FN(pair_product)((FN(df_pair)){FN(splat)(b), FN(splat)(b_rest)},
                                     FN(two_product)(x, x));
    V sum = a + w.high, of_w = sum - a;
    w.low += (a - (sum - of_w)) + (w.high - of_w) + (T)(GELU_A - a);
    return FN(pair_product)((FN(df_pair)){x, {0}}, (FN(df_pair)){sum, w.low});
}
DF_INLINE V FN(gelu_tanh)(V x)
{
    V n, s, c = FN(clamp)(x, -DF_CAT(GELU_END, DTYPE), DF_CAT(GELU_END, DTYPE));
    V q = FN(sigmoid_fraction)(FN(gelu_exponent)(c), &n, &s);
    return FN(scale)(FN(select)(x < (V){0}, c, x) * q, n);
}
/* The derivatives at x and -x sum to 1. */
DF_INLINE V FN(gelu_tanh_grad)(V g, V x)
{
    V n, s, c = -FN(at_most)(FN(abs)(x), DF_CAT(GELU_END, DTYPE));
    V q = FN(sigmoid_fraction)(FN(gelu_exponent)(c), &n, &s);
    V slope = FN(fma)(FN(splat)((T)(3 * GELU_B)), c * c, FN(splat)((T)GELU_A));
    V below = FN(scale)(q * FN(fma)(c * slope, 1 - s, FN(splat)(1)), n);
    return g * FN(select)(x > (V){0}, 1 - below, below);
}

DF_INLINE V FN(softsign)(V x)
{
    x = FN(bounded)(x);
    return x / (1 + FN(abs)(x));
}

TILE_UNARY(elu)
TILE_BINARY(elu_grad)
TILE_UNARY(selu)
TILE_BINARY(selu_grad)
TILE_UNARY(silu)
TILE_BINARY(silu_grad)
TILE_UNARY(softsign)

TILE_UNARY_EITHER(gelu, gelu_tanh, gelu)
TILE_BINARY_EITHER(gelu_grad, gelu_tanh_grad, gelu_exact_grad)
