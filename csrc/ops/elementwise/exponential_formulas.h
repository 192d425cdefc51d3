/* Exponentials, logarithms, powers and roots that vmath.h and lanes.h lack. Compiled once per
 * dtype. */

#if DTYPE_FLOAT

TILE_UNARY(exp)
TILE_UNARY(expm1)
TILE_UNARY(log)
TILE_UNARY(log1p)
TILE_UNARY(sqrt)
TILE_UNARY(rsqrt)

DF_INLINE bool FN(all_equal)(int64_t n, const T *x)
{
    const V first = FN(splat)(x[0]);
    M other = {0};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) other |= FN(load)(x + i) != first;
    for (; i < n; i++)
        if (x[i] != x[0]) return false;
    return !FN(any)(other);
}

/* x[i]^y[i * step], step 0 or 1. A single loop, as FN(pow) is long. */
DF_NOINLINE void FN(pow_each)(int64_t n, T *out, const T *x, const T *y, int64_t step)
{
    for (int64_t i = 0; i < n; i += LANES) {
        const int64_t m = df_min(LANES, n - i);
        const V base = FN(load_upto)(x + i, m), exponent = FN(load_upto)(y + i * step, m);
        FN(store_upto)(out + i, FN(pow)(base, exponent), m);
    }
}

/* One exponent for all elements is tested once: as FN(pow), which tests each vector. */
DF_NOINLINE void FN(pow_single)(int64_t n, T *out, const T *x, T exponent)
{
    const V y = FN(splat)(exponent);
    if (exponent == -2) FN(map1)(n, out, x, FN(pow_minus_2));
    else if (exponent == -1) FN(map1)(n, out, x, FN(pow_minus_1));
    else if (exponent == (T)-0.5) FN(map1)(n, out, x, FN(pow_minus_half));
    else if (exponent == (T)0.5) FN(map1)(n, out, x, FN(pow_half));
    else if (exponent == 2) FN(map1)(n, out, x, FN(pow_2));
    else if (exponent == 3) FN(map1)(n, out, x, FN(pow_3));
    else if (exponent == 4) FN(map1)(n, out, x, FN(pow_4));
    else FN(pow_each)(n, out, x, (const T *)&y, 0);
}

TILE_HEAD(pow, 2)
{
    const T *y = in[1];
    (void)attrs;
    if (n && FN(all_equal)(n, y)) FN(pow_single)(n, out, in[0], y[0]);
    else FN(pow_each)(n, out, in[0], y, 1);
}

static void FN(pow_one1_tile)(int64_t n, void *out, const void *const *in, const df_attr *attrs)
{
    (void)attrs;
    FN(pow_single)(n, out, in[0], *(const T *)in[1]);
}

#else

DF_INLINE bool FN(below_zero)(T x) { return is_negative(x); }
TEST_FIRST(below_zero)

/* Repeated squaring with wraparound; negative exponents have been rejected. */
DF_INLINE T FN(pow_1)(T a, T b)
{
    T y = 1;
    for (; !is_negative(b) && b; b = (T)(b >> 1)) {
        if (b & 1) y = (T)(y * a);
        a = (T)(a * a);
    }
    return y;
}

DF_INLINE V FN(pow)(V a, V b) { return FN(lanewise2)(a, b, FN(pow_1)); }
TILE_BINARY(pow)

#endif
