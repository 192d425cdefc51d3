/* Part of lanes_check.c, included once per floating dtype. */

/* Equal, including the sign of zero; NaN equals NaN. */
static void FN(check_same)(T got, double want)
{
    CHECK(isnan(want) ? isnan(got) : got == (T)want && !signbit(got) == !signbit((T)want));
}

static void FN(check_pair)(T a, T b)
{
    V x = FN(splat)(a), y = FN(splat)(b);
    bool nan = isnan(a) || isnan(b);
    T high = FN(max)(x, y)[0], low = FN(min)(x, y)[0];
    CHECK(nan ? isnan(high) && isnan(low) : high == (a > b ? a : b) && low == (a < b ? a : b));
    FN(check_same)(FN(copysign)(x, y)[0], copysign((double)a, (double)b));
    V pair = y;
    pair[LANES - 1] = a;
    CHECK(nan ? isnan(FN(hmax)(pair)) && isnan(FN(hmin)(pair))
              : FN(hmax)(pair) == high && FN(hmin)(pair) == low);
}

static void FN(check_float)(void)
{
    const T whole = sizeof(T) == 4 ? (T)8388609 : (T)4503599627370497;
    const T tiny = sizeof(T) == 4 ? (T)1e-45 : (T)5e-324;
    const T values[] = {0, -(T)0, (T)0.3, (T)-0.3, (T)0.5, (T)-0.5, (T)1.5, (T)-1.5, (T)2.5,
                        (T)-2.5, (T)0.7, (T)-0.7, 3, -3, whole, -whole, whole / 2, -whole / 2,
                        (T)INFINITY, (T)-INFINITY, (T)NAN, tiny, -tiny, (T)1e30, (T)-1e30};
    const int n = sizeof values / sizeof *values;
    for (int i = 0; i < n; i++) {
        T a = values[i];
        V x = FN(splat)(a);
        FN(check_same)(FN(rint)(x)[LANES - 1], rint((double)a));
        FN(check_same)(FN(floor)(x)[LANES - 1], floor((double)a));
        FN(check_same)(FN(ceil)(x)[LANES - 1], ceil((double)a));
        FN(check_same)(FN(trunc)(x)[LANES - 1], trunc((double)a));
        FN(check_same)(FN(abs)(x)[0], fabs((double)a));
        FN(check_same)(FN(sqrt)(x)[0], sqrt((double)a));
        FN(check_same)(FN(rsqrt)(x)[0], (double)(1 / (T)sqrt((double)a)));
        FN(check_same)(FN(clamp)(x, -2, 2)[0], a > 2 ? 2 : a < -2 ? -2 : (double)a);
        FN(check_same)(FN(max0)(x)[0], a <= 0 ? 0 : (double)a);
        FN(check_same)(FN(fma)(x, FN(splat)(2), FN(splat)(1))[0], (double)(T)(a * 2 + 1));
        CHECK(FN(isnan)(x)[0] == -!!isnan(a) && FN(isinf)(x)[0] == -!!isinf(a));
        CHECK(FN(isfinite)(x)[0] == -!!isfinite(a));
        for (int j = 0; j < n; j++) FN(check_pair)(a, values[j]);
    }
#if defined(DF_HAVE_FMA)
    T step = 1 + (sizeof(T) == 4 ? (T)0x1p-20 : (T)0x1p-50);
    V exact = FN(fma)(FN(splat)(step), FN(splat)(step), FN(splat)(-(step * step)));
    CHECK(exact[0] == (sizeof(T) == 4 ? (T)0x1p-40 : (T)0x1p-100));
#endif
}
