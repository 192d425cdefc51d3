/* LANE_NUMBERS: an initializer 0, 1, 2, ... with one number per lane of the current DTYPE. GCC
 * turns it into a constant, but a loop that fills a vector into one instruction per lane at each
 * use. */
#ifndef DF_LANE_NUMBERS_H
#define DF_LANE_NUMBERS_H

#include "simd/simd.h"

#define NUMBERS_2 0, 1
#define NUMBERS_4 NUMBERS_2, 2, 3
#define NUMBERS_8 NUMBERS_4, 4, 5, 6, 7
#define NUMBERS_16 NUMBERS_8, 8, 9, 10, 11, 12, 13, 14, 15
#define NUMBERS_32 NUMBERS_16, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
#define NUMBERS_64                                                                               \
    NUMBERS_32, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51,  \
        52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63

#if DF_VEC_BYTES == 64
#define NUMBERS_OF_1 NUMBERS_64
#define NUMBERS_OF_2 NUMBERS_32
#define NUMBERS_OF_4 NUMBERS_16
#define NUMBERS_OF_8 NUMBERS_8
#elif DF_VEC_BYTES == 32
#define NUMBERS_OF_1 NUMBERS_32
#define NUMBERS_OF_2 NUMBERS_16
#define NUMBERS_OF_4 NUMBERS_8
#define NUMBERS_OF_8 NUMBERS_4
#else
#define NUMBERS_OF_1 NUMBERS_16
#define NUMBERS_OF_2 NUMBERS_8
#define NUMBERS_OF_4 NUMBERS_4
#define NUMBERS_OF_8 NUMBERS_2
#endif

#define LANE_NUMBERS_u8 NUMBERS_OF_1
#define LANE_NUMBERS_i8 NUMBERS_OF_1
#define LANE_NUMBERS_u16 NUMBERS_OF_2
#define LANE_NUMBERS_i16 NUMBERS_OF_2
#define LANE_NUMBERS_u32 NUMBERS_OF_4
#define LANE_NUMBERS_i32 NUMBERS_OF_4
#define LANE_NUMBERS_f32 NUMBERS_OF_4
#define LANE_NUMBERS_u64 NUMBERS_OF_8
#define LANE_NUMBERS_i64 NUMBERS_OF_8
#define LANE_NUMBERS_f64 NUMBERS_OF_8
#define LANE_NUMBERS DF_CAT(LANE_NUMBERS, DTYPE)

#endif
