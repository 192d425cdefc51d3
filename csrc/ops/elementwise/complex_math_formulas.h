/* Tile functions of complex functions. Included once per complex dtype. Each number is computed by
 * a vector formula or, if the formula would lose accuracy or overflow, by a scalar function. The
 * choice depends on the number alone, so results do not depend on its position. */

#define WIDE (sizeof(T) == 8)
/* Bounds of the squares of parts without overflow, or underflow that matters. */
#define SQUARE_LOW (WIDE ? (T)0x1p-960 : (T)0x1p-100)
#define SQUARE_HIGH (WIDE ? (T)0x1p960 : (T)0x1p100)
#define CTILE(name)                                                                              \
    void DF_SYM(CN(df_##name))(int64_t n, void *out, const void *const *in, const df_attr *attrs)

/* A piece of numbers: parts of the operand and of the result. `rare` is -1 for numbers that the
 * scalar function computes. The last vector may be padded with zeros. */
typedef struct {
    T part[2][DF_COMPLEX_PIECE], value[2][DF_COMPLEX_PIECE];
    M rare[DF_COMPLEX_PIECE / LANES], any;
} FN(complex_piece);

/* Separates n <= DF_COMPLEX_PIECE numbers. Returns n rounded up to whole vectors. */
DF_NOINLINE int64_t FN(load_piece)(FN(complex_piece) *p, int64_t n, const T *x)
{
    const df_dtype dtype = WIDE ? DF_C128 : DF_C64;
    const int64_t last = (n - 1) / LANES * LANES;
    const void *z[1] = {x};
    FN(store)(p->part[0] + last, (V){0});
    FN(store)(p->part[1] + last, (V){0});
    DF_SYM(df_op_real).tile[dtype](n, p->part[0], z, NULL);
    DF_SYM(df_op_imag).tile[dtype](n, p->part[1], z, NULL);
    p->any = (M){0};
    return last + LANES;
}

DF_NOINLINE void FN(store_piece)(const FN(complex_piece) *p, int64_t n, T *out, df_complex_fn f)
{
    const void *parts[2] = {p->value[0], p->value[1]};
    DF_SYM(df_op_complex).tile[PART_DTYPE](n, out, parts, NULL);
    if (FN(any)(p->any)) df_complex_replace(f, WIDE, n, out, p->part[0], p->part[1], p->rare);
}

DF_INLINE void FN(set_values)(FN(complex_piece) *p, int64_t i, V re, V im, M rare)
{
    FN(store)(p->value[0] + i, re);
    FN(store)(p->value[1] + i, im);
    p->rare[i / LANES] = rare;
    p->any |= rare;
}

/* tanh(z) = (sinh(x) cosh(x) + i sin(y) cos(y)) / (sinh(x)^2 + cos(y)^2)
 * sigmoid(z) = (e^x + cos(y) + i sin(y)) / (2 (cosh(x) + cos(y))), except near its poles */
DF_NOINLINE void FN(map_parts)(int64_t n, T *out, const T *in, const parts_recipe *f)
{
    FN(complex_piece) p;
    T value[4][DF_COMPLEX_PIECE];
    const T *const grows = p.part[f->grows_with_imag], *const bounded = p.part[!f->grows_with_imag];
    const T limit = f->form == FORM_TANH ? (WIDE ? 340 : 40) : (WIDE ? 708 : 87);
    for (int64_t i = 0; i < n; i += DF_COMPLEX_PIECE) {
        const int64_t m = df_min(DF_COMPLEX_PIECE, n - i);
        const int64_t padded = FN(load_piece)(&p, m, in + 2 * i);
        for (int k = 0; k < 4; k++) {
            const void *x[1] = {k < 2 ? grows : bounded};
            f->of_part[k]->tile[PART_DTYPE](padded, value[k], x, NULL);
        }
        for (int64_t j = 0; j < padded; j += LANES) {
            const V a = FN(load)(value[0] + j), b = FN(load)(value[1] + j);
            const V c = FN(load)(value[2] + j), s = FN(load)(value[3] + j);
            M common = (FN(abs)(FN(load)(grows + j)) <= FN(splat)(limit)) &
                       FN(isfinite)(FN(load)(bounded + j));
            V re = a * c, im = b * s;
            if (f->form == FORM_MINUS) im = -im;
            if (f->form >= FORM_TANH) {
                V divisor = a * a + c * c;
                re = a * b;
                im = c * s;
                if (f->form == FORM_SIGMOID) {
                    divisor = b + c;
                    common &= divisor > (T)0.25;
                    divisor += divisor;
                    re = a + c;
                    im = s;
                }
                re /= divisor;
                im /= divisor;
            }
            FN(set_values)(&p, j, re, im, ~common);
        }
        FN(store_piece)(&p, m, out + 2 * i, f->exact);
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
    const T near_one = WIDE ? (T)0x1p-90 : (T)0x1p-34;
    FN(complex_piece) p;
    T high[DF_COMPLEX_PIECE], low[DF_COMPLEX_PIECE];
    for (int64_t i = 0; i < n; i += DF_COMPLEX_PIECE) {
        const int64_t m = df_min(DF_COMPLEX_PIECE, n - i);
        const int64_t padded = FN(load_piece)(&p, m, (const T *)in[0] + 2 * i);
        const void *of_high[1] = {high}, *of_parts[2] = {p.part[1], p.part[0]};
        for (int64_t j = 0; j < padded; j += LANES) {
            const V x = FN(abs)(FN(load)(p.part[0] + j)), y = FN(abs)(FN(load)(p.part[1] + j));
            const M swap = x < y;
            const V a = FN(select)(swap, y, x), b = FN(select)(swap, x, y);
            const FN(df_pair) aa = FN(two_product)(a, a), bb = FN(two_product)(b, b);
            const FN(df_pair) sum = FN(two_sum)(aa.high, bb.high);
            FN(store)(high + j, sum.high);
            FN(store)(low + j, sum.low + (aa.low + bb.low));
        }
        DF_SYM(df_op_log).tile[PART_DTYPE](padded, p.value[0], of_high, attrs);
        DF_SYM(df_op_atan2).tile[PART_DTYPE](padded, p.value[1], of_parts, attrs);
        for (int64_t j = 0; j < padded; j += LANES) {
            const V h = FN(load)(high + j), r = FN(load)(low + j);
            const M common = (h >= SQUARE_LOW) & (h <= SQUARE_HIGH) &
                             (FN(abs)(h - 1 + r) >= FN(splat)(near_one));
            const V size = (FN(load)(p.value[0] + j) + r / h) * (T)0.5;
            FN(set_values)(&p, j, size, FN(load)(p.value[1] + j), ~common);
        }
        FN(store_piece)(&p, m, (T *)out + 2 * i, clog);
    }
}

/* The root whose real part is not negative: its larger part t is sqrt((|re| + |z|) / 2), the other
 * one im / (2 t). */
CTILE(sqrt)
{
    FN(complex_piece) p;
    (void)attrs;
    for (int64_t i = 0; i < n; i += DF_COMPLEX_PIECE) {
        const int64_t m = df_min(DF_COMPLEX_PIECE, n - i);
        const int64_t padded = FN(load_piece)(&p, m, (const T *)in[0] + 2 * i);
        for (int64_t j = 0; j < padded; j += LANES) {
            const V x = FN(load)(p.part[0] + j), y = FN(load)(p.part[1] + j);
            const V square = x * x + y * y;
            const V t = FN(sqrt)((FN(abs)(x) + FN(sqrt)(square)) * (T)0.5);
            const V u = FN(abs)(y) * (T)0.5 / t;
            const M left = x < 0, common = (square >= SQUARE_LOW) & (square <= SQUARE_HIGH);
            FN(set_values)(&p, j, FN(select)(left, u, t),
                           FN(copysign)(FN(select)(left, t, u), y), ~common);
        }
        FN(store_piece)(&p, m, (T *)out + 2 * i, csqrt);
    }
}

CTILE(rsqrt)
{
    const void *root[1] = {out};
    DF_SYM(CN(df_sqrt))(n, out, in, attrs);
    DF_SYM(CN(df_reciprocal))(n, out, root, attrs);
}

/* y = x^k for n <= DF_COMPLEX_PIECE numbers and k != 0, by products as `square` and `multiply`
 * compute them, and a reciprocal. */
DF_NOINLINE void FN(powers_by_products)(int64_t n, void *y, const void *x, int k)
{
    T power[2 * DF_COMPLEX_PIECE];
    const void *factors[2] = {power, y};
    bool begun = false;
    memcpy(power, x, (size_t)n * 2 * sizeof(T));
    for (int left = abs(k);; DF_SYM(CN(df_square))(n, power, factors, NULL)) {
        if (left & 1) {
            if (begun) DF_SYM(CN(df_multiply))(n, y, factors, NULL);
            else memcpy(y, power, (size_t)n * 2 * sizeof(T));
            begun = true;
        }
        left >>= 1;
        if (!left) break;
    }
    if (k < 0) DF_SYM(CN(df_reciprocal))(n, y, factors + 1, NULL);
}

CTILE(pow)
{
    (void)attrs;
    df_complex_pow(WIDE, n, out, in[0], in[1], FN(powers_by_products));
}

/* x log(y) by the tile function `log`, or 0 where x is 0. */
DF_NOINLINE void FN(times_log)(int64_t n, T *out, const void *const *in, df_tile_fn log)
{
    T value[2 * DF_COMPLEX_PIECE];
    for (int64_t i = 0; i < n; i += DF_COMPLEX_PIECE) {
        const int64_t m = df_min(DF_COMPLEX_PIECE, n - i);
        const void *y[1] = {(const T *)in[1] + 2 * i}, *x[2] = {value, (const T *)in[0] + 2 * i};
        log(m, value, y, NULL);
        DF_SYM(CN(df_multiply_no_nan))(m, out + 2 * i, x, NULL);
    }
}
CTILE(xlogy) { (void)attrs; FN(times_log)(n, out, in, DF_SYM(CN(df_log))); }
CTILE(xlog1py) { (void)attrs; FN(times_log)(n, out, in, DF_SYM(CN(df_log1p))); }

#define SCALAR(name, f)                                                                          \
    CTILE(name) { (void)attrs; df_complex_each(f, WIDE, n, out, in[0]); }
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
#undef WIDE
#undef SQUARE_LOW
#undef SQUARE_HIGH
