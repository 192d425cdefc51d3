/* Vector functions of float32 and float64: exp_f32(V), log_f64(V), ... FN(exp) in per-dtype code.
 *
 * float32 results are within 2 ulp over the whole range at every SIMD level, checked by
 * tests/c/vmath_sweep.c. Zeros keep their sign, NaN stays NaN, denormal inputs and results are
 * correct. Include before DTYPE is defined. Independent of ops and tensors.
 *
 *   vmath_exp.h     exp expm1 tanh sigmoid sinh cosh   \
 *   vmath_erf.h     erf                                 | one source for both dtypes,
 *   vmath_log.h     log log1p softplus                  | coefficients in vmath_tables.h
 *   vmath_trig.h    sin cos tan                         |
 *   vmath_atan.h    atan atan2                          |
 *   vmath_asin.h    asin acos                           |
 *   vmath_pow.h     pow                                 |
 *   vmath_normal.h  gelu silu and their derivatives    /
 *   vmath_pieces.h  tanh erf of float32 with AVX-512, from tables; a part of erfc and gelu
 *   vmath_wide.h    asinh acosh atanh of float32, computed in float64; erfc without FMA
 *   vmath_area.h    asinh acosh atanh erfc of float64
 *   vmath_erfc.h    erfc of float32; gelu of float32 with AVX-512
 *
 * Separate: vmath_gamma.h has lgamma, digamma and related functions, vmath_quantile.h erfinv and
 * ndtri. */
#ifndef DF_VMATH_H
#define DF_VMATH_H

#include "simd/lanes.h"
#include "simd/vmath_tables.h"

#ifdef DTYPE
#error "include vmath.h before DTYPE is defined"
#endif

/* FN(poly)(x, table, its length): Horner's rule, unrolled as the length is a constant. */
#define POLY(x, table) FN(poly)(x, FN(table), (int)(sizeof FN(table) / sizeof(T)))

/* ln2 in two parts; the first is short enough that n * LN2_HI is exact for every exponent n. */
#define LN2_HI_f32 0x1.62e4p-1f
#define LN2_LO_f32 0x1.7f7d1cp-20f
#define LN2_HI_f64 0x1.62e42feep-1
#define LN2_LO_f64 0x1.a39ef35793c76p-33
#define LOG2E 1.4426950408889634

/* x 2^n rounds to zero for n up to SCALE_ZERO, in float32 for x below 2^9, in float64 below 2^11.
 * SCALE_LOW is -254 and -2046: twice the exponent whose biased form is 0. */
#define SCALE_ZERO_f32 (-159)
#define SCALE_ZERO_f64 (-1086)

/* e^x overflows beyond EXP_HIGH; at EXP_LOW and below, far below the smallest number, it is
 * computed with n = SCALE_LOW. */
#define EXP_HIGH_f32 89
#define EXP_LOW_f32 (-176)
#define EXP_HIGH_f64 710
#define EXP_LOW_f64 (-1418)
/* From this x on, 1 - tanh(x) is below half an ulp, so the result is 1. */
#define TANH_ONE_f32 9.1f
#define TANH_ONE_f64 19.1
/* The corresponding bounds of erf and sigmoid. */
#define ERF_ONE_f32 3.95f
#define ERF_ONE_f64 5.95
#define SIGMOID_ONE_f32 18
#define SIGMOID_ONE_f64 38

#define DTYPE f64
#include "simd/vmath_exp.h"
#include "simd/vmath_erf.h"
#undef DTYPE
#define DTYPE f32
#include "simd/vmath_exp.h"
#include "simd/vmath_erf.h"
#undef DTYPE

DF_INLINE v_f64 tanh_f64(v_f64 x) { return tanh_by_exp_f64(x); }
DF_INLINE v_f64 erf_f64(v_f64 x) { return erf_by_exp_f64(x); }
#if defined(__AVX512F__)
#include "simd/vmath_pieces.h"
#else
DF_INLINE v_f32 tanh_f32(v_f32 x) { return tanh_by_exp_f32(x); }
DF_INLINE v_f32 erf_f32(v_f32 x) { return erf_by_exp_f32(x); }
#endif

#include "simd/vmath_log.h"
#include "simd/vmath_trig.h"
#define DTYPE f64
#include "simd/vmath_pow.h"
#include "simd/vmath_normal.h"
#include "simd/vmath_atan.h"
#include "simd/vmath_asin.h"
#undef DTYPE
#define DTYPE f32
#include "simd/vmath_pow.h"
#include "simd/vmath_normal.h"
#include "simd/vmath_atan.h"
#include "simd/vmath_asin.h"
#undef DTYPE
/* A scalar function, one lane at a time. */
DF_INLINE v_f64 by_lane_f64(double (*f)(double), v_f64 x)
{
    for (int64_t i = 0; i < (int64_t)(sizeof x / sizeof(double)); i++) x[i] = f(x[i]);
    return x;
}

DF_INLINE v_f32 by_lane_f32(double (*f)(double), v_f32 x)
{
    for (int64_t i = 0; i < (int64_t)(sizeof x / sizeof(float)); i++) x[i] = (float)f((double)x[i]);
    return x;
}

#include "simd/vmath_area.h"
#include "simd/vmath_wide.h"
#define DTYPE f32
#include "simd/vmath_erfc.h"
#undef DTYPE
DF_INLINE v_f64 gelu_f64(v_f64 x) { return gelu_by_mills_f64(x); }

#endif
