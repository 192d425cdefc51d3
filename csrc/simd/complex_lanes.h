/* Vectors of complex numbers of each dtype that this build has: load_complex_f32, ... */
#ifndef DF_COMPLEX_LANES_H
#define DF_COMPLEX_LANES_H

#include "base/kernel_config.h"
#include "simd/lanes.h"

/* Shuffles within blocks of 16 bytes, see lanes_complex.h. */
#define DF_BLOCK_EVEN_f32_16 0, 2, 16, 18, 4, 6, 20, 22, 8, 10, 24, 26, 12, 14, 28, 30
#define DF_BLOCK_EVEN_f32_8 0, 2, 8, 10, 4, 6, 12, 14
#define DF_BLOCK_EVEN_f32_4 DF_EVEN_4
#define DF_BLOCK_ODD_f32_16 1, 3, 17, 19, 5, 7, 21, 23, 9, 11, 25, 27, 13, 15, 29, 31
#define DF_BLOCK_ODD_f32_8 1, 3, 9, 11, 5, 7, 13, 15
#define DF_BLOCK_ODD_f32_4 DF_ODD_4
#define DF_BLOCK_LOW_f32_16 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29
#define DF_BLOCK_LOW_f32_8 0, 8, 1, 9, 4, 12, 5, 13
#define DF_BLOCK_LOW_f32_4 DF_LOW_4
#define DF_BLOCK_HIGH_f32_16 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31
#define DF_BLOCK_HIGH_f32_8 2, 10, 3, 11, 6, 14, 7, 15
#define DF_BLOCK_HIGH_f32_4 DF_HIGH_4
#define DF_BLOCK_ORDER_f32_16 0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15
#define DF_BLOCK_ORDER_f32_8 0, 1, 4, 5, 2, 3, 6, 7
#define DF_BLOCK_ORDER_f32_4 0, 1, 2, 3
#define DF_BLOCK_PLACES_f32_16 0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15
#define DF_BLOCK_PLACES_f32_8 DF_BLOCK_ORDER_f32_8
#define DF_BLOCK_PLACES_f32_4 DF_BLOCK_ORDER_f32_4
/* A block holds one complex128: the interleaving of two blocks is its own inverse. */
#define DF_BLOCK_EVEN_f64_8 0, 8, 2, 10, 4, 12, 6, 14
#define DF_BLOCK_EVEN_f64_4 0, 4, 2, 6
#define DF_BLOCK_EVEN_f64_2 DF_EVEN_2
#define DF_BLOCK_ODD_f64_8 1, 9, 3, 11, 5, 13, 7, 15
#define DF_BLOCK_ODD_f64_4 1, 5, 3, 7
#define DF_BLOCK_ODD_f64_2 DF_ODD_2
#define DF_BLOCK_LOW_f64_8 DF_BLOCK_EVEN_f64_8
#define DF_BLOCK_LOW_f64_4 DF_BLOCK_EVEN_f64_4
#define DF_BLOCK_LOW_f64_2 DF_LOW_2
#define DF_BLOCK_HIGH_f64_8 DF_BLOCK_ODD_f64_8
#define DF_BLOCK_HIGH_f64_4 DF_BLOCK_ODD_f64_4
#define DF_BLOCK_HIGH_f64_2 DF_HIGH_2
#define DF_BLOCK_ORDER_f64_8 0, 2, 4, 6, 1, 3, 5, 7
#define DF_BLOCK_ORDER_f64_4 0, 2, 1, 3
#define DF_BLOCK_ORDER_f64_2 0, 1
#define DF_BLOCK_PLACES_f64_8 0, 4, 1, 5, 2, 6, 3, 7
#define DF_BLOCK_PLACES_f64_4 DF_BLOCK_ORDER_f64_4
#define DF_BLOCK_PLACES_f64_2 DF_BLOCK_ORDER_f64_2
#define DF_BLOCK_LIST(name) DF_CAT(DF_CAT(name, DTYPE), DF_CAT(DF_LANES, DTYPE))

#define Z DF_CAT(z, DTYPE)
#if DF_BUILT_C64
#define DTYPE f32
#include "simd/lanes_complex.h"
#undef DTYPE
#endif
#if DF_BUILT_C128
#define DTYPE f64
#include "simd/lanes_complex.h"
#undef DTYPE
#endif
#undef Z

#endif
