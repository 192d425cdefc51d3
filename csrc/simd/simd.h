/* Portable vectors for code compiled once per SIMD level: GCC and Clang vector extensions.
 *
 * A file with formulas for several dtypes is included once per dtype with DTYPE defined as f32,
 * f64, i8, ... In such a file T is the element type, V the vector, M the signed integer vector of
 * the same lanes (the result type of a comparison: 0 or -1 per lane), LANES the number of lanes,
 * and FN(name) the name with the suffix of the dtype. Loads and stores are unaligned. */
#ifndef DF_SIMD_H
#define DF_SIMD_H

#include "base/status.h"
#include <string.h>

#if defined(__AVX512F__)
#define DF_VEC_BYTES 64
#elif defined(__AVX2__)
#define DF_VEC_BYTES 32
#else
#define DF_VEC_BYTES 16
#endif

typedef float t_f32;
typedef double t_f64;
typedef int8_t t_i8;
typedef int16_t t_i16;
typedef int32_t t_i32;
typedef int64_t t_i64;
typedef uint8_t t_u8;
typedef uint16_t t_u16;
typedef uint32_t t_u32;
typedef uint64_t t_u64;
typedef uint8_t t_bool;

#define DF_VECTOR(name, elem) typedef elem name __attribute__((vector_size(DF_VEC_BYTES)))
DF_VECTOR(v_f32, float);
DF_VECTOR(v_f64, double);
DF_VECTOR(v_i8, int8_t);
DF_VECTOR(v_i16, int16_t);
DF_VECTOR(v_i32, int32_t);
DF_VECTOR(v_i64, int64_t);
DF_VECTOR(v_u8, uint8_t);
DF_VECTOR(v_u16, uint16_t);
DF_VECTOR(v_u32, uint32_t);
DF_VECTOR(v_u64, uint64_t);
#undef DF_VECTOR

typedef v_i32 m_f32;
typedef v_i64 m_f64;
typedef v_i8 m_i8;
typedef v_i16 m_i16;
typedef v_i32 m_i32;
typedef v_i64 m_i64;
typedef v_i8 m_u8;
typedef v_i16 m_u16;
typedef v_i32 m_u32;
typedef v_i64 m_u64;

/* Bytes 0 or 1, one per lane of a vector of 4-byte or 8-byte elements. */
typedef uint8_t b_f32 __attribute__((vector_size(DF_VEC_BYTES / 4)));
typedef uint8_t b_f64 __attribute__((vector_size(DF_VEC_BYTES / 8)));

#define T DF_CAT(t, DTYPE)
#define V DF_CAT(v, DTYPE)
#define M DF_CAT(m, DTYPE)
#define FN(name) DF_CAT(name, DTYPE)
#define LANES ((int64_t)(DF_VEC_BYTES / sizeof(T)))

#define DF_INLINE static inline __attribute__((always_inline, unused))
#define DF_NOINLINE static __attribute__((noinline, unused))

/* Selects lanes of two vectors, numbered through both; gcc 11 has only the older form. */
#if __has_builtin(__builtin_shufflevector)
#define DF_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define DF_SHUFFLE(a, b, ...)                                                                    \
    __extension__({                                                                              \
        typedef __typeof__(((a) < (b))[0]) places __attribute__((vector_size(sizeof(a))));       \
        __builtin_shuffle(a, b, (places){__VA_ARGS__});                                          \
    })
#endif

/* Indices of DF_SHUFFLE: a perfect shuffle of two vectors of n lanes (LOW, HIGH: first and second
 * half of the result), and its inverse (EVEN, ODD). */
#define DF_LOW_16 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define DF_HIGH_16 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#define DF_LOW_8 0, 8, 1, 9, 2, 10, 3, 11
#define DF_HIGH_8 4, 12, 5, 13, 6, 14, 7, 15
#define DF_LOW_4 0, 4, 1, 5
#define DF_HIGH_4 2, 6, 3, 7
#define DF_LOW_2 0, 2
#define DF_HIGH_2 1, 3
#define DF_EVEN_16 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
#define DF_ODD_16 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
#define DF_EVEN_8 0, 2, 4, 6, 8, 10, 12, 14
#define DF_ODD_8 1, 3, 5, 7, 9, 11, 13, 15
#define DF_EVEN_4 0, 2, 4, 6
#define DF_ODD_4 1, 3, 5, 7
#define DF_EVEN_2 0, 2
#define DF_ODD_2 1, 3
/* The two lanes of each pair in the other order. */
#define DF_SWAPPED_16 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14
#define DF_SWAPPED_8 1, 0, 3, 2, 5, 4, 7, 6
#define DF_SWAPPED_4 1, 0, 3, 2
#define DF_SWAPPED_2 1, 0
/* The list for the lanes of the current DTYPE: DF_LIST(DF_EVEN). */
#if DF_VEC_BYTES == 64
#define DF_LANES_f32 16
#define DF_LANES_f64 8
#elif DF_VEC_BYTES == 32
#define DF_LANES_f32 8
#define DF_LANES_f64 4
#else
#define DF_LANES_f32 4
#define DF_LANES_f64 2
#endif
#define DF_LIST(name) DF_CAT(name, DF_CAT(DF_LANES, DTYPE))

#endif
