/* Part of vmath.h: asinh, acosh, atanh and erfc of float64. The inverse hyperbolic functions are
 * logarithms of 1 + u with u in two parts, as rounding u would cost another ulp. Without FMA
 * libm lane by lane is faster, so it is used instead. */

#if defined(DF_HAVE_FMA)

/* a + b exactly, for any order of magnitudes. */
DF_INLINE df_pair_f64 any_sum_f64(v_f64 a, v_f64 b)
{
    v_f64 sum = a + b, of_b = sum - a;
    return (df_pair_f64){sum, (a - (sum - of_b)) + (b - of_b)};
}

/* log(1 + u.high + u.low), u.high >= 0. */
DF_INLINE v_f64 log1p_pair_f64(df_pair_f64 u)
{
    v_f64 k, y = log1p_inside_f64(u.high, &k);
    return y + u.low / (1 + u.high);
}

/* The square root of a nonzero pair, as a pair. */
DF_INLINE df_pair_f64 pair_sqrt_f64(df_pair_f64 x)
{
    v_f64 root = sqrt_f64(x.high);
    df_pair_f64 square = two_product_f64(root, root);
    return (df_pair_f64){root, ((x.high - square.high) - square.low + x.low) / (root + root)};
}

/* Above AREA_FAR, asinh(a) and acosh(a) equal log(2 a) = log1p(a - 1) + ln2 to full precision, and
 * a^2 might overflow. */
#define AREA_FAR 0x1p28

DF_INLINE v_f64 area_log_f64(v_f64 a, df_pair_f64 u)
{
    v_i64 far = a > AREA_FAR;
    u.high = select_f64(far, a, u.high);
    u.low = select_f64(far, splat_f64(-1), u.low);
    return log1p_pair_f64(u) + select_f64(far, splat_f64(M_LN2), (v_f64){0});
}

/* 1 + u = a + sqrt(1 + a^2), u = a + a^2 / (1 + sqrt(1 + a^2)) */
DF_INLINE v_f64 asinh_f64(v_f64 x)
{
    v_f64 a = abs_f64(x), inside = clamp_f64(a, 0, AREA_FAR);
    df_pair_f64 square = two_product_f64(inside, inside);
    df_pair_f64 sum = any_sum_f64(splat_f64(1), square.high);
    sum.low += square.low;
    df_pair_f64 root = pair_sqrt_f64(sum), divisor = any_sum_f64(splat_f64(1), root.high);
    divisor.low += root.low;
    v_f64 inverse = 1 / divisor.high, q = square.high * inverse;
    df_pair_f64 back = two_product_f64(q, divisor.high);
    v_f64 rest = ((square.high - back.high) - back.low + square.low - q * divisor.low) * inverse;
    df_pair_f64 u = any_sum_f64(inside, q);
    u.low += rest;
    v_f64 y = area_log_f64(a, u);
    return copysign_f64(select_f64((a != a) | (a == (double)INFINITY) | (a < 0x1p-28), a, y), x);
}

/* 1 + u = x + sqrt(x^2 - 1), u = t + sqrt(t (x + 1)) with t = x - 1 */
DF_INLINE v_f64 acosh_f64(v_f64 x)
{
    v_f64 inside = clamp_f64(x, 1, AREA_FAR);
    df_pair_f64 t = any_sum_f64(inside, splat_f64(-1)), w = any_sum_f64(inside, splat_f64(1));
    df_pair_f64 root = pair_sqrt_f64(pair_product_f64(t, w)), u = any_sum_f64(t.high, root.high);
    u.low += t.low + root.low;
    v_f64 y = select_f64(x == 1, (v_f64){0}, area_log_f64(x, u));
    y = select_f64(x < 1, splat_f64((double)NAN), y);
    return select_f64((x != x) | (x == (double)INFINITY), x, y);
}

/* 1 + u = (1 + a) / (1 - a), u = 2 a / (1 - a) */
DF_INLINE v_f64 atanh_f64(v_f64 x)
{
    v_f64 a = abs_f64(x), inside = clamp_f64(a, 0, 1 - 0x1p-53);
    v_f64 divisor = 1 - inside, error = (1 - divisor) - inside;
    v_f64 inverse = 1 / divisor, q = 2 * inside * inverse;
    df_pair_f64 back = two_product_f64(q, divisor);
    v_f64 rest = ((2 * inside - back.high) - back.low - q * error) * inverse;
    v_f64 y = 0.5 * log1p_pair_f64((df_pair_f64){q, rest});
    y = select_f64(a == 1, splat_f64((double)INFINITY), y);
    y = select_f64(a > 1, splat_f64((double)NAN), y);
    return copysign_f64(select_f64((a != a) | (a < 0x1p-28), a, y), x);
}

/* erfc is 0 above this, 2 below its negative; its square is -EXP_LOW. */
#define ERFC_END_f64 37.6583
/* The low parts of sqrt(2) and of sqrt(2 / pi), beyond float64. */
#define SQRT_2_LOW (-0x1.bdd3413b26456p-54)
#define SQRT_2_OVER_PI_LOW (-0x1.cbc0d30ebfd15p-55)

/* sqrt(2 / pi) mills(sqrt(2) a) for a >= 1, corrected for the rounding of the argument and of the
 * factors: 3.4 ulp in total instead of 4.8. */
DF_INLINE v_f64 erfc_ratio_f64(v_f64 a)
{
    const int n = sizeof mills_poly_f64 / sizeof *mills_poly_f64;
    df_pair_f64 t = two_product_f64(a, splat_f64(2 * SQRT_HALF));
    t.low = fma_f64(a, splat_f64(SQRT_2_LOW), t.low);
    df_pair_f64 divisor = any_sum_f64(t.high, splat_f64(4));
    divisor.low += t.low;
    v_f64 inverse = 1 / divisor.high, dividend = t.high - 4, u = dividend * inverse;
    v_f64 error = (fma_f64(-u, divisor.high, dividend) + t.low - u * divisor.low) * inverse;
    v_f64 slope = poly_f64(u, mills_poly_f64 + 1, n - 1); /* approximately: the slope of the chord
                                                           * from 0 */
    v_f64 y = fma_f64(u, slope, splat_f64(*mills_poly_f64)) + error * slope;
    df_pair_f64 top = two_product_f64(y, splat_f64(2 * INV_SQRT_2PI));
    top.low += y * SQRT_2_OVER_PI_LOW;
    v_f64 q = top.high * inverse;
    return fma_f64(fma_f64(-q, divisor.high, top.high) + (top.low - q * divisor.low), inverse, q);
}

/* Twice the tail of the normal distribution beyond sqrt(2) x; for |x| < 1, 1 - x - x P(x^2), since
 * erf(x) = x + x P(x^2) there. */
DF_INLINE v_f64 erfc_f64(v_f64 x)
{
    const int n_terms = sizeof erf_poly_f64 / sizeof *erf_poly_f64;
    v_f64 a = clamp_f64(abs_f64(x), 0, ERFC_END_f64), n;
    df_pair_f64 square = two_product_f64(a, a);
    v_f64 fraction = exp_pair_fraction_f64((df_pair_f64){-square.high, -square.low}, &n);
    v_f64 tail = scale_f64(fraction * erfc_ratio_f64(a), n);
    tail = select_f64(x < (v_f64){0}, 2 - tail, tail);
    v_f64 b = copysign_f64(a, x), near = fma_f64(-b, poly_f64(a * a, erf_poly_f64, n_terms), 1 - b);
    return select_f64(a < 1, near, select_f64(x != x, x, tail));
}

#else

DF_INLINE v_f64 asinh_f64(v_f64 x) { return by_lane_f64(asinh, x); }
DF_INLINE v_f64 acosh_f64(v_f64 x) { return by_lane_f64(acosh, x); }
DF_INLINE v_f64 atanh_f64(v_f64 x) { return by_lane_f64(atanh, x); }
DF_INLINE v_f64 erfc_f64(v_f64 x) { return by_lane_f64(erfc, x); }

#endif
