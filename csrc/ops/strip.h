/* Header of generated code: the formulas of elementwise ops, without tile functions, and strips. A
 * generated loop processes its operands in strips of `w` elements and holds each value of a strip
 * in one vector. w is a constant, the lanes of the widest dtype in the loop, so narrower dtypes
 * leave lanes unused. Bools are bytes 0 and 1, or the mask that a comparison yields; 16-bit floats
 * are their bits. The families of formulas, and casts, are included after this header. */
#ifndef DF_STRIP_H
#define DF_STRIP_H

#include "op/op.h"
#include "simd/lanes.h"
#include "simd/lanes_half.h"
#include "simd/vmath.h"

/* As in elementwise.h. */
#define is_negative(x) FN(is_negative)(x)
#define is_minus_one(x) FN(is_minus_one)(x)

#define TEMPLATE "ops/elementwise/map.h"
#include "ops/each_float.h"
#include "ops/each_int.h"
#undef TEMPLATE

/* Generated code calls formulas, or the tile function of the library if there is no vector
 * formula. */
#define TILE_HEAD(name, n_in)                                                                    \
    DF_INLINE void FN(name##_tile)(int64_t n, void *out, const void *const *in,                  \
                                   const df_attr *attrs)
#define TILE_UNARY(name)
#define TILE_BINARY(name)
#define TILE_WITH_ONE(name)
#define TILE_TERNARY(name)
#define TILE_QUATERNARY(name)
#define TILE_UNARY_WITH(name)
#define TILE_BINARY_WITH(name)
#define TILE_UNARY_EITHER(name, if_true, if_false)
#define TILE_BINARY_EITHER(name, if_true, if_false)
#define TILE_CHOICE(name)
#define TILE_TEST(name)
#define TILE_COMPARE(name)
#define TEST_FIRST(name)

/* Rows are reduced by these formulas, not by the functions of the library. */
#define REDUCER(name, identity, map, combine)                                                    \
    DF_INLINE T FN(name##_identity)(void) { return identity; }                                   \
    DF_INLINE V FN(name##_map)(V x) { return FN(map)(x, (V){0}); }                               \
    DF_INLINE V FN(name##_combine)(V a, V b) { return FN(combine)(a, b); }
#define FOLDED(name, identity, map, combine)
#define EXTREME(name, flip)
#define TEMPLATE "ops/reduction/reduction.h"
#include "ops/each_float.h"
#include "ops/each_int.h"
#undef TEMPLATE

/* --- strips --- */

/* Load and store m of the w elements of a strip; m is w except in the last strip. */
#define STRIP_LOAD(dtype, p, m, w)                                                               \
    ((m) != (w) ? load_n_##dtype(p, m)                                                           \
     : (w) == DF_VEC_BYTES / (int)sizeof(t_##dtype) ? load_##dtype(p) : load_part_##dtype(p, w))
#define STRIP_STORE(dtype, p, v, m, w)                                                           \
    ((m) != (w) ? store_n_##dtype(p, v, m) : (void)memcpy(p, &(v), (size_t)(w) * sizeof *(p)))

#define PART(dtype)                                                                              \
    DF_INLINE v_##dtype load_part_##dtype(const t_##dtype *p, const int w)                       \
    {                                                                                            \
        v_##dtype v = {0};                                                                       \
        memcpy(&v, p, (size_t)w * sizeof *p);                                                    \
        return v;                                                                                \
    }
PART(f32) PART(f64) PART(u8) PART(u16) PART(u32) PART(u64) PART(i8) PART(i16) PART(i32) PART(i64)

/* Bool bytes and masks of a dtype. */
#define MASKS(dtype)                                                                             \
    DF_INLINE v_u8 bytes_of_##dtype(m_##dtype mask)                                              \
    {                                                                                            \
        v_u8 bytes = {0};                                                                        \
        uint8_t few[DF_VEC_BYTES];                                                               \
        store_mask_##dtype(few, mask);                                                           \
        memcpy(&bytes, few, DF_VEC_BYTES / sizeof(t_##dtype));                                   \
        return bytes;                                                                            \
    }                                                                                            \
    DF_INLINE m_##dtype mask_of_##dtype(v_u8 bytes)                                              \
    {                                                                                            \
        uint8_t few[DF_VEC_BYTES];                                                               \
        memcpy(few, &bytes, sizeof few);                                                         \
        return load_mask_##dtype(few);                                                           \
    }
MASKS(f32) MASKS(f64) MASKS(u8) MASKS(u16) MASKS(u32) MASKS(u64) MASKS(i8) MASKS(i16) MASKS(i32)
MASKS(i64)

/* Conversion between 16-bit floats and float32, with one rounding. */
#define HALF(dtype, half)                                                                        \
    DF_INLINE v_f32 wide_of_##dtype(v_u16 x)                                                     \
    {                                                                                            \
        uint16_t bits[DF_VEC_BYTES / 2];                                                         \
        memcpy(bits, &x, sizeof bits);                                                           \
        return widen_##dtype(bits);                                                              \
    }                                                                                            \
    DF_INLINE v_u16 dtype##_of_wide(v_f32 x)                                                     \
    {                                                                                            \
        float wide[HALF_LANES];                                                                  \
        uint16_t bits[DF_VEC_BYTES / 2] = {0};                                                   \
        memcpy(wide, &x, sizeof wide);                                                           \
        df_narrow(half, HALF_LANES, bits, wide);                                                 \
        v_u16 y;                                                                                 \
        memcpy(&y, bits, sizeof bits);                                                           \
        return y;                                                                                \
    }
HALF(f16, DF_F16) HALF(bf16, DF_BF16)

/* The vectors of dtypes without arithmetic. */
typedef v_u8 v_boolean;
typedef v_u16 v_f16;
typedef v_u16 v_bf16;

/* Combines a strip of a row into accumulator k of a reduction: all w elements, or m of them. */
#define STRIP_REDUCE(dtype, acc, k, combine, x, identity, m, w)                                  \
    (acc)[k] = combine##_##dtype(                                                                \
        (acc)[k],                                                                                \
        (m) == (w) ? (x) : select_##dtype(first_lanes_##dtype(m), x, splat_##dtype(identity)))

/* y = x cast to another dtype, for w elements. */
#define STRIP_CAST(y, to, x, from, w)                                                            \
    do {                                                                                         \
        t_##from given[DF_VEC_BYTES / sizeof(t_##from)];                                         \
        t_##to made[DF_VEC_BYTES / sizeof(t_##to)] = {0};                                        \
        memcpy(given, &(x), sizeof given);                                                       \
        for (int lane = 0; lane < (w); lane++) made[lane] = to_##to(from_##from(given[lane]));   \
        memcpy(&(y), made, sizeof made);                                                         \
    } while (0)

#endif
