/* Formulas over vectors of complex numbers, each with its tile function. Included once per complex
 * dtype. */

DF_INLINE void FN(map_complex1)(int64_t n, T *out, const T *x, Z (*f)(Z))
{
    for (int64_t i = 0; i < n; i += LANES) {
        const int64_t m = df_min(LANES, n - i);
        FN(store_complex)(out + 2 * i, f(FN(load_complex)(x + 2 * i, m)), m);
    }
}

DF_INLINE void FN(map_complex2)(int64_t n, T *out, const T *a, const T *b, Z (*f)(Z, Z))
{
    for (int64_t i = 0; i < n; i += LANES) {
        const int64_t m = df_min(LANES, n - i);
        FN(store_complex)(out + 2 * i, f(FN(load_complex)(a + 2 * i, m),
                                         FN(load_complex)(b + 2 * i, m)), m);
    }
}

/* One real number per complex number. */
DF_INLINE void FN(map_to_part)(int64_t n, T *out, const T *x, V (*f)(Z))
{
    for (int64_t i = 0; i < n; i += LANES) {
        const int64_t m = df_min(LANES, n - i);
        FN(store_upto)(out + i, FN(in_order)(f(FN(load_complex)(x + 2 * i, m))), m);
    }
}

DF_INLINE void FN(compare_complex)(int64_t n, uint8_t *out, const T *a, const T *b, M (*f)(Z, Z))
{
    for (int64_t i = 0; i < n; i += LANES) {
        const int64_t m = df_min(LANES, n - i);
        const M mask = f(FN(load_complex)(a + 2 * i, m), FN(load_complex)(b + 2 * i, m));
        FN(store_mask_n)(out + i, (M)FN(in_order)((V)mask), m);
    }
}

#define TILE(name)                                                                               \
    void DF_SYM(CN(df_##name))(int64_t n, void *out, const void *const *in, const df_attr *attrs)
#define OWN_TILE(name)                                                                           \
    static void CN(name##_tile)(int64_t n, void *out, const void *const *in, const df_attr *attrs)
#define MAP1(name, f) name { (void)attrs; FN(map_complex1)(n, out, in[0], FN(f)); }
#define MAP2(name, f) name { (void)attrs; FN(map_complex2)(n, out, in[0], in[1], FN(f)); }
#define MAP_TO_PART(name, f) name { (void)attrs; FN(map_to_part)(n, out, in[0], FN(f)); }
#define MAP_COMPARE(name, f) name { (void)attrs; FN(compare_complex)(n, out, in[0], in[1], FN(f)); }

DF_INLINE Z FN(complex_square)(Z z) { return FN(complex_multiply)(z, z); }
/* |a - b|^2, a real number: conj(a - b) (a - b). */
DF_INLINE Z FN(complex_squared_difference)(Z a, Z b)
{
    const V re = a.re - b.re, im = a.im - b.im;
    return (Z){re * re + im * im, (V){0}};
}
/* z / |z|, or 0 for 0. With one infinite part, the number points along its axis. */
DF_INLINE Z FN(complex_sign)(Z z)
{
    const M re_inf = FN(isinf)(z.re), im_inf = FN(isinf)(z.im), along = re_inf ^ im_inf;
    const V one = FN(splat)(1), none = (V){0};
    z.re = FN(select)(along, FN(copysign)(FN(select)(re_inf, one, none), z.re), z.re);
    z.im = FN(select)(along, FN(copysign)(FN(select)(im_inf, one, none), z.im), z.im);
    const V size = FN(complex_abs)(z);
    const M zero = size == 0;
    return (Z){FN(select)(zero, none, z.re / size), FN(select)(zero, none, z.im / size)};
}
DF_INLINE Z FN(complex_divide_no_nan)(Z a, Z b)
{
    const Z q = FN(complex_divide)(a, b);
    const M zero = (b.re == 0) & (b.im == 0);
    return (Z){FN(select)(zero, (V){0}, q.re), FN(select)(zero, (V){0}, q.im)};
}
DF_INLINE Z FN(complex_multiply_no_nan)(Z a, Z b)
{
    const Z y = FN(complex_multiply)(a, b);
    const M zero = (b.re == 0) & (b.im == 0);
    return (Z){FN(select)(zero, (V){0}, y.re), FN(select)(zero, (V){0}, y.im)};
}
DF_INLINE Z FN(complex_xdivy)(Z a, Z b)
{
    const Z q = FN(complex_divide)(a, b);
    const M zero = (a.re == 0) & (a.im == 0);
    return (Z){FN(select)(zero, (V){0}, q.re), FN(select)(zero, (V){0}, q.im)};
}
DF_INLINE Z FN(complex_reciprocal)(Z z)
{
    return FN(complex_divide)((Z){FN(splat)(1), (V){0}}, z);
}
DF_INLINE Z FN(complex_conj)(Z z) { return (Z){z.re, -z.im}; }
DF_INLINE V FN(complex_real)(Z z) { return z.re; }
DF_INLINE V FN(complex_imag)(Z z) { return z.im; }
DF_INLINE M FN(complex_equal)(Z a, Z b) { return (a.re == b.re) & (a.im == b.im); }
DF_INLINE M FN(complex_not_equal)(Z a, Z b) { return ~FN(complex_equal)(a, b); }

MAP2(TILE(multiply), complex_multiply)
MAP2(TILE(squared_difference), complex_squared_difference)
MAP2(TILE(divide), complex_divide)
MAP2(TILE(divide_no_nan), complex_divide_no_nan)
MAP2(TILE(multiply_no_nan), complex_multiply_no_nan)
MAP2(TILE(xdivy), complex_xdivy)
MAP1(TILE(square), complex_square)
MAP1(TILE(sign), complex_sign)
MAP1(TILE(reciprocal), complex_reciprocal)
MAP_TO_PART(TILE(abs), complex_abs)
MAP_COMPARE(TILE(equal), complex_equal)
MAP_COMPARE(TILE(not_equal), complex_not_equal)
MAP1(OWN_TILE(conj), complex_conj)
MAP_TO_PART(OWN_TILE(real), complex_real)
MAP_TO_PART(OWN_TILE(imag), complex_imag)

OWN_TILE(complex)
{
    const T *re = in[0], *im = in[1];
    (void)attrs;
    for (int64_t i = 0; i < n; i += LANES) {
        const int64_t m = df_min(LANES, n - i);
        const Z z = {FN(in_blocks)(FN(load_upto)(re + i, m)),
                     FN(in_blocks)(FN(load_upto)(im + i, m))};
        FN(store_complex)((T *)out + 2 * i, z, m);
    }
}

/* The tile function of atan2 on separated parts. */
OWN_TILE(angle)
{
    T re[PIECE], im[PIECE];
    for (int64_t i = 0; i < n; i += PIECE) {
        const int64_t m = df_min(PIECE, n - i);
        const void *z[1] = {(const T *)in[0] + 2 * i}, *parts[2] = {im, re};
        CN(real_tile)(m, re, z, attrs);
        CN(imag_tile)(m, im, z, attrs);
        DF_SYM(df_op_atan2).tile[PART_DTYPE](m, (T *)out + i, parts, attrs);
    }
}
#undef TILE
#undef OWN_TILE
#undef MAP1
#undef MAP2
#undef MAP_TO_PART
#undef MAP_COMPARE
