/* erfinv, erfcinv and ndtri: float32 by polynomials, float64 one lane at a time.
 *
 * With w = -log((1 - x) (1 + x)), erfinv(x) / x is a smooth function of w, and erfinv(x) / sqrt(w)
 * of 1 / sqrt(w) for large w (M. Giles, "Approximating the erfinv function", GPU Computing Gems,
 * 2011). Chebyshev series of both, truncated. */
#ifndef DF_VMATH_QUANTILE_H
#define DF_VMATH_QUANTILE_H

#include "simd/vmath.h"
#include "special/special.h"

#define ERFINV_NEAR_END 6.25f /* of w */

/* (erfinv(x) / x - ERFINV_AT_1_5) / t, t = w - 3/2; error of the quotient 2^-27.7 */
#define ERFINV_AT_1_5 1.2520638463199214
static const float erfinv_near_f32[] = {
    0.250362456f, 0.000879704778f, -0.00209232722f, 0.000177770315f, 2.32538569e-05f,
    -5.42390444e-06f, -3.18946043e-08f, 1.20020175e-07f, -1.48060577e-08f, 5.69820024e-10f,
    5.50008086e-12f,
};

/* (erfinv(x) / sqrt(w) - ERFINV_AT_16) / t, t = 1 / sqrt(w) - 1/4, up to w = 104, where denormal
 * numbers end; positive beyond; error of the quotient 2^-28.6 */
#define ERFINV_AT_16 0.95994589495436726
static const float erfinv_far_f32[] = {
    -0.198196173f, 0.0802308246f, 0.55367744f, -0.874471962f, 0.881137431f, -3.28126001f,
    -2.39171171f, -10.3107777f, 140.371185f,
};

/* x scale (middle + rest), |rest| < middle: the product with `middle` is rounded only once, as it
 * is the larger part. */
DF_INLINE v_f32 scaled_sum(v_f32 x, double scale, double middle, v_f32 rest)
{
    const float high = (float)(scale * middle), low = (float)(scale * middle - high);
    return fma_f32(x, splat_f32(high), x * fma_f32(rest, splat_f32((float)scale), splat_f32(low)));
}

/* erfinv(x) * scale, where `product` is (1 - x) (1 + x). */
DF_NOINLINE v_f32 erfinv_of(v_f32 x, v_f32 product, double scale)
{
    const v_f32 w = -log_f32(product), t = w - 1.5f;
    const v_i32 far = w > ERFINV_NEAR_END;
    const int n_near = sizeof erfinv_near_f32 / sizeof(float);
    const int n_far = sizeof erfinv_far_f32 / sizeof(float);
    v_f32 y = scaled_sum(x, scale, ERFINV_AT_1_5, t * poly_f32(t, erfinv_near_f32, n_near));
    if (any_f32(far)) {
        const v_f32 root = sqrt_f32(w), u = 1 / root - 0.25f;
        y = select_f32(far, scaled_sum(root, scale, ERFINV_AT_16,
                                       u * poly_f32(u, erfinv_far_f32, n_far)), y);
    }
    return copysign_f32(y, x);
}

DF_INLINE v_f32 erfinv_f32(v_f32 x) { return erfinv_of(x, (1 - x) * (1 + x), 1); }
DF_INLINE v_f32 erfcinv_f32(v_f32 x) { return erfinv_of(1 - x, x * (2 - x), 1); }

/* sqrt(2) erfinv(2p - 1) */
DF_INLINE v_f32 ndtri_f32(v_f32 p)
{
    return erfinv_of(2 * (p - 0.5f), 4 * p * (1 - p), M_SQRT2);
}

DF_INLINE v_f64 erfinv_f64(v_f64 x) { return by_lane_f64(df_erfinv, x); }
DF_INLINE v_f64 erfcinv_f64(v_f64 x) { return by_lane_f64(df_erfcinv, x); }
DF_INLINE v_f64 ndtri_f64(v_f64 p) { return by_lane_f64(df_ndtri, p); }

#endif
