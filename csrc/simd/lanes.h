/* Loads, stores and arithmetic of one vector that the compiler's vector operators lack, for every
 * dtype with kernels: load_f32, select_i64, rint_f64, ... (FN(load) in per-dtype code).
 *
 * Include before DTYPE is defined. Independent of ops, tensors and functions like exp. */
#ifndef DF_LANES_H
#define DF_LANES_H

#include "simd/lane_numbers.h"
#include "simd/simd.h"
#include <math.h>

#ifdef DTYPE
#error "include lanes.h before DTYPE is defined"
#endif

#if defined(__x86_64__)
#include "simd/intrinsics.h"
#define DF_X86 1
#endif

/* Bytes 0 or 1 for the dtypes simd.h leaves out. */
typedef uint8_t b_i8 __attribute__((vector_size(DF_VEC_BYTES)));
typedef b_i8 b_u8;
typedef uint8_t b_i16 __attribute__((vector_size(DF_VEC_BYTES / 2)));
typedef b_f32 b_i32;
typedef b_f64 b_i64;
typedef b_i16 b_u16;
typedef b_f32 b_u32;
typedef b_f64 b_u64;
#define B DF_CAT(b, DTYPE)

/* The x86 intrinsic of the level for the current DTYPE: DF_MM(sqrt) -> _mm512_sqrt_ps. */
#define mm_f32 ps
#define mm_f64 pd
#if defined(__AVX512F__)
#define DF_MM_(op) _mm512_##op
#elif defined(__AVX2__)
#define DF_MM_(op) _mm256_##op
#else
#define DF_MM_(op) _mm_##op
#endif
#define DF_MM(op) DF_CAT(DF_MM_(op), DF_CAT(mm, DTYPE))

/* Rounding instructions, if the level has them. */
#if defined(__AVX512F__)
#define DF_ROUND(x, mode) DF_MM(roundscale)(x, (mode) | _MM_FROUND_NO_EXC)
#elif defined(__AVX2__)
#define DF_ROUND(x, mode) DF_MM(round)(x, (mode) | _MM_FROUND_NO_EXC)
#endif

/* Per float dtype: explicit fraction bits, exponent bias, and 1.5 * 2^fraction bits: adding the
 * latter to a number of magnitude below 2^(fraction bits - 1) leaves the nearest integer in the low
 * bits. */
#define FRACTION_BITS_f32 23
#define FRACTION_BITS_f64 52
#define EXPONENT_BIAS_f32 127
#define EXPONENT_BIAS_f64 1023
#define ROUND_MAGIC_f32 0x1.8p23f
#define ROUND_MAGIC_f64 0x1.8p52

#define DTYPE f32
#include "simd/lanes_any.h"
#include "simd/lanes_float.h"
#undef DTYPE
#define DTYPE f64
#include "simd/lanes_any.h"
#include "simd/lanes_float.h"
#undef DTYPE
#define DTYPE i8
#include "simd/lanes_any.h"
#include "simd/lanes_int.h"
#undef DTYPE
#define DTYPE i16
#include "simd/lanes_any.h"
#include "simd/lanes_int.h"
#undef DTYPE
#define DTYPE i32
#include "simd/lanes_any.h"
#include "simd/lanes_int.h"
#undef DTYPE
#define DTYPE i64
#include "simd/lanes_any.h"
#include "simd/lanes_int.h"
#undef DTYPE
#define DTYPE u8
#include "simd/lanes_any.h"
#include "simd/lanes_int.h"
#undef DTYPE
#define DTYPE u16
#include "simd/lanes_any.h"
#include "simd/lanes_int.h"
#undef DTYPE
#define DTYPE u32
#include "simd/lanes_any.h"
#include "simd/lanes_int.h"
#undef DTYPE
#define DTYPE u64
#include "simd/lanes_any.h"
#include "simd/lanes_int.h"
#undef DTYPE

/* float32 numbers as two float64 vectors. */
typedef struct {
    v_f64 lo, hi;
} df_wide;

typedef float h_f32 __attribute__((vector_size(DF_VEC_BYTES / 2)));

DF_INLINE df_wide widen(v_f32 x)
{
    h_f32 half[2];
    memcpy(half, &x, sizeof x);
    return (df_wide){__builtin_convertvector(half[0], v_f64),
                     __builtin_convertvector(half[1], v_f64)};
}

DF_INLINE v_f32 narrow(df_wide x)
{
    h_f32 half[2] = {__builtin_convertvector(x.lo, h_f32), __builtin_convertvector(x.hi, h_f32)};
    v_f32 y;
    memcpy(&y, half, sizeof y);
    return y;
}

#endif
