/* Tile functions of complex functions. Included once per complex dtype. Each number is computed by
 * a vector formula or, if the formula would lose accuracy or overflow, by a scalar function. The
 * choice depends on the number alone, so results do not depend on its position. */
#include "simd/lanes_complex.h"

/* Bounds of the squares of parts without overflow, or underflow that matters. */
#define SQUARE_LOW (sizeof(T) == 4 ? (T)0x1p-100 : (T)0x1p-960)
#define SQUARE_HIGH (sizeof(T) == 4 ? (T)0x1p100 : (T)0x1p960)
#define CTILE(name)                                                                              \
    void DF_SYM(CN(df_##name))(int64_t n, void *out, const void *const *in, const df_attr *attrs)

/* Replaces the numbers of z in lanes of `rare` by f(z). */
DF_NOINLINE void FN(replace_rare)(int64_t n, T *out, Z z, M rare, df_complex_fn f)
{
    for (int64_t i = 0; i < n; i++) {
        if (!rare[i]) continue;
        const df_complex y = f(df_complex_of((double)z.re[i], (double)z.im[i]));
        out[2 * i] = (T)creal(y);
        out[2 * i + 1] = (T)cimag(y);
    }
}

DF_INLINE void FN(store_unless)(int64_t n, T *out, Z y, Z z, M rare, df_complex_fn f)
{
    FN(store_complex)(out, y, n);
    if (__builtin_expect(FN(any)(rare), 0)) FN(replace_rare)(n, out, z, rare, f);
}

/* Separates n <= PIECE numbers times `factor`. */
DF_NOINLINE void FN(separate_piece)(int64_t n, T *re, T *im, const T *x, T factor)
{
    for (int64_t i = 0; i < n; i += LANES) {
        const int64_t m = df_min(LANES, n - i);
        const Z z = FN(load_complex)(x + 2 * i, m);
        FN(store_upto)(re + i, z.re * factor, m);
        FN(store_upto)(im + i, z.im * factor, m);
    }
}

/* sigmoid(2 w) = e^w conj(cosh(w)) / (2 |cosh(w)|^2) with |cosh(w)|^2 = sinh(re)^2 + cos(im)^2 */
DF_INLINE Z FN(combine_parts)(form form, V grows, V grows2, V bounded, V bounded2)
{
    if (form == FORM_PRODUCTS) return (Z){grows * bounded, grows2 * bounded2};
    if (form == FORM_PRODUCTS_MINUS) return (Z){grows * bounded, -(grows2 * bounded2)};
    const V square = bounded * bounded, divisor = grows * grows + square;
    if (form == FORM_TANH)
        return (Z){grows * grows2 / divisor, bounded * bounded2 / divisor};
    return (Z){(T)0.5 * (grows2 * grows + square) / divisor,
               (T)0.5 * (bounded * bounded2) / divisor};
}

DF_NOINLINE void FN(map_parts)(int64_t n, T *out, const T *in, const parts_recipe *f)
{
    T part[2][PIECE], value[4][PIECE];
    T *const grows = part[f->grows_with_imag], *const bounded = part[!f->grows_with_imag];
    const T factor = f->form == FORM_SIGMOID ? (T)0.5 : 1;
    const T limit = f->form >= FORM_TANH ? (sizeof(T) == 4 ? 40 : 340)
                                         : (sizeof(T) == 4 ? 87 : 708);
    for (int64_t i = 0; i < n; i += PIECE) {
        const int64_t m = df_min(PIECE, n - i);
        FN(separate_piece)(m, part[0], part[1], in + 2 * i, factor);
        for (int k = 0; k < 4; k++) {
            const void *x[1] = {k < 2 ? grows : bounded};
            const df_op *op = k < 2 ? f->growing[k] : f->bounded[k - 2];
            op->tile[PART_DTYPE](m, value[k], x, NULL);
        }
        for (int64_t j = 0; j < m; j += LANES) {
            const int64_t l = df_min(LANES, m - j);
            V v[4];
            for (int k = 0; k < 4; k++) v[k] = FN(load_upto)(value[k] + j, l);
            const V x = FN(load_upto)(grows + j, l), y = FN(load_upto)(bounded + j, l);
            const M rare = ~((FN(abs)(x) <= FN(splat)(limit)) & FN(isfinite)(y));
            const Z z = {f->grows_with_imag ? y : x, f->grows_with_imag ? x : y};
            FN(store_unless)(l, out + 2 * (i + j),
                             FN(combine_parts)(f->form, v[0], v[1], v[2], v[3]), z, rare,
                             f->exact);
        }
    }
}

#define FROM_PARTS(name)                                                                         \
    CTILE(name) { (void)attrs; FN(map_parts)(n, out, in[0], &name##_recipe); }
FROM_PARTS(exp)
FROM_PARTS(sin)
FROM_PARTS(cos)
FROM_PARTS(sinh)
FROM_PARTS(cosh)
FROM_PARTS(tanh)
FROM_PARTS(sigmoid)

/* log |z| = log(high + low) / 2 = (log(high) + low / high) / 2 with |z|^2 = high + low, rounded to
 * twice the digits: near |z| = 1 the logarithm consists of the low digits. */
CTILE(log)
{
    const T near_one = sizeof(T) == 4 ? (T)0x1p-34 : (T)0x1p-90;
    T part[2][PIECE], high[PIECE], low[PIECE], size[PIECE], angle[PIECE];
    for (int64_t i = 0; i < n; i += PIECE) {
        const int64_t m = df_min(PIECE, n - i);
        const void *of_high[1] = {high}, *of_parts[2] = {part[1], part[0]};
        FN(separate_piece)(m, part[0], part[1], (const T *)in[0] + 2 * i, 1);
        for (int64_t j = 0; j < m; j += LANES) {
            const int64_t l = df_min(LANES, m - j);
            const V x = FN(abs)(FN(load_upto)(part[0] + j, l));
            const V y = FN(abs)(FN(load_upto)(part[1] + j, l));
            const M swap = x < y;
            const V a = FN(select)(swap, y, x), b = FN(select)(swap, x, y);
            const FN(df_pair) aa = FN(two_product)(a, a), bb = FN(two_product)(b, b);
            const FN(df_pair) sum = FN(two_sum)(aa.high, bb.high);
            FN(store_upto)(high + j, sum.high, l);
            FN(store_upto)(low + j, sum.low + (aa.low + bb.low), l);
        }
        DF_SYM(df_op_log).tile[PART_DTYPE](m, size, of_high, attrs);
        DF_SYM(df_op_atan2).tile[PART_DTYPE](m, angle, of_parts, attrs);
        for (int64_t j = 0; j < m; j += LANES) {
            const int64_t l = df_min(LANES, m - j);
            const V h = FN(load_upto)(high + j, l), r = FN(load_upto)(low + j, l);
            const M bounded = (h >= SQUARE_LOW) & (h <= SQUARE_HIGH);
            const M rare = ~bounded | (FN(abs)(h - 1 + r) < FN(splat)(near_one));
            const Z z = {FN(load_upto)(part[0] + j, l), FN(load_upto)(part[1] + j, l)};
            const Z y = {(FN(load_upto)(size + j, l) + r / h) * (T)0.5,
                         FN(load_upto)(angle + j, l)};
            FN(store_unless)(l, (T *)out + 2 * (i + j), y, z, rare, clog);
        }
    }
}

/* The root whose real part is not negative: its larger part t is sqrt((|re| + |z|) / 2), the other
 * one im / (2 t). */
CTILE(sqrt)
{
    (void)attrs;
    for (int64_t i = 0; i < n; i += LANES) {
        const int64_t m = df_min(LANES, n - i);
        const Z z = FN(load_complex)((const T *)in[0] + 2 * i, m);
        const V square = z.re * z.re + z.im * z.im;
        const V t = FN(sqrt)((FN(abs)(z.re) + FN(sqrt)(square)) * (T)0.5);
        const V u = FN(abs)(z.im) * (T)0.5 / t;
        const M left = z.re < 0, bounded = (square >= SQUARE_LOW) & (square <= SQUARE_HIGH);
        const Z y = {FN(select)(left, u, t), FN(copysign)(FN(select)(left, t, u), z.im)};
        FN(store_unless)(m, (T *)out + 2 * i, y, z, ~bounded, csqrt);
    }
}

CTILE(rsqrt)
{
    const void *root[1] = {out};
    DF_SYM(CN(df_sqrt))(n, out, in, attrs);
    DF_SYM(CN(df_reciprocal))(n, out, root, attrs);
}

/* Integer exponents of at most POWER_MAX by products, as `square` and `multiply` compute them, and
 * their reciprocals. Replaces the others, and reciprocals that are not finite, because the product
 * may have overflowed where the power underflows. */
CTILE(pow)
{
    (void)attrs;
    for (int64_t i = 0; i < n; i += LANES) {
        const int64_t m = df_min(LANES, n - i);
        const Z z = FN(load_complex)((const T *)in[0] + 2 * i, m);
        const Z exponent = FN(load_complex)((const T *)in[1] + 2 * i, m);
        V k = FN(abs)(exponent.re);
        const M whole = (exponent.im == 0) & (FN(floor)(k) == k) & (k <= POWER_MAX);
        Z y = {FN(splat)(1), (V){0}}, square = z;
        M begun = {0};
        k = FN(select)(whole, k, (V){0});
        while (FN(any)(k != 0)) {
            const V half = FN(floor)(k * (T)0.5);
            const M odd = half + half != k;
            const Z product = FN(complex_multiply)(y, square);
            y.re = FN(select)(odd, FN(select)(begun, product.re, square.re), y.re);
            y.im = FN(select)(odd, FN(select)(begun, product.im, square.im), y.im);
            square = FN(complex_multiply)(square, square);
            begun |= odd;
            k = half;
        }
        M rare = ~whole;
        const M negative = whole & (exponent.re < 0);
        if (FN(any)(negative)) {
            const Z inverse = FN(complex_divide)((Z){FN(splat)(1), (V){0}}, y);
            y.re = FN(select)(negative, inverse.re, y.re);
            y.im = FN(select)(negative, inverse.im, y.im);
            rare |= negative & ~(FN(isfinite)(y.re) & FN(isfinite)(y.im));
        }
        FN(store_complex)((T *)out + 2 * i, y, m);
        if (!FN(any)(rare)) continue;
        for (int64_t j = 0; j < m; j++) {
            if (!rare[j]) continue;
            const df_complex power = df_complex_power(
                df_complex_of((double)z.re[j], (double)z.im[j]),
                df_complex_of((double)exponent.re[j], (double)exponent.im[j]));
            ((T *)out)[2 * (i + j)] = (T)creal(power);
            ((T *)out)[2 * (i + j) + 1] = (T)cimag(power);
        }
    }
}

/* x log(y) by the tile function `log`, or 0 where x is 0. */
DF_INLINE void FN(times_log)(int64_t n, T *out, const T *x, const T *y, df_tile_fn log)
{
    T value[2 * PIECE];
    for (int64_t i = 0; i < n; i += PIECE) {
        const int64_t m = df_min(PIECE, n - i);
        const void *of[1] = {y + 2 * i}, *factors[2] = {value, x + 2 * i};
        log(m, value, of, NULL);
        DF_SYM(CN(df_multiply_no_nan))(m, out + 2 * i, factors, NULL);
    }
}
CTILE(xlogy) { (void)attrs; FN(times_log)(n, out, in[0], in[1], DF_SYM(CN(df_log))); }
CTILE(xlog1py) { (void)attrs; FN(times_log)(n, out, in[0], in[1], DF_SYM(CN(df_log1p))); }

#define SCALAR(name, f)                                                                          \
    CTILE(name) { (void)attrs; FN(df_complex_each)(f, n, out, in[0]); }
SCALAR(expm1, df_complex_expm1)
SCALAR(log1p, df_complex_log1p)
SCALAR(tan, ctan)
SCALAR(asin, casin)
SCALAR(acos, cacos)
SCALAR(atan, catan)
SCALAR(asinh, casinh)
SCALAR(acosh, cacosh)
SCALAR(atanh, catanh)
#undef CTILE
#undef FROM_PARTS
#undef SCALAR
#undef SQUARE_LOW
#undef SQUARE_HIGH
