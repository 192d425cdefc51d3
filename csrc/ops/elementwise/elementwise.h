/* Common header of elementwise ops.
 *
 * A family of such ops has two files. <family>_formulas.h contains formulas over one vector, each
 * with a line that defines its tile function; it needs only this header and is included once per
 * dtype through each_float.h and each_int.h. <family>.c includes it and contains the records. */
#ifndef DF_ELEMENTWISE_H
#define DF_ELEMENTWISE_H

#include "ops/in_float.h"
#include "op/op.h"
#include "op/tile.h"
#include "simd/lanes.h"
#include "simd/vmath.h"

/* Tests of an element of the current integer DTYPE, signed or not. */
#define is_negative(x) FN(is_negative)(x)
#define is_minus_one(x) FN(is_minus_one)(x)

#define TEMPLATE "ops/elementwise/map.h"
#include "ops/each_float.h"
#include "ops/each_int.h"
#undef TEMPLATE

/* Tile functions of 16-bit floats, generated together with the tile functions of float32. */
#define REDUCED(name, n_in, rounds) DF_CAT(REDUCED, DTYPE)(name, n_in, rounds)
#define REDUCED_f32(name, n_in, rounds)                                                          \
    DF_WHERE(F16, REDUCED_TILE(name, f16, DF_F16, n_in, rounds))                                 \
    DF_WHERE(BF16, REDUCED_TILE(name, bf16, DF_BF16, n_in, rounds))
#define REDUCED_TILE(name, dtype, half, n_in, rounds)                                            \
    static void name##_tile_##dtype(int64_t n, void *out, const void *const *in,                 \
                                    const df_attr *attrs)                                        \
    {                                                                                            \
        DF_SYM(df_tile_in_float)(name##_tile_f32, (df_half_tile){half, n_in, rounds}, n, out, in, \
                                 attrs);                                                         \
    }
#define REDUCED_f64(name, n_in, rounds)
#define REDUCED_u8(name, n_in, rounds)
#define REDUCED_u16(name, n_in, rounds)
#define REDUCED_u32(name, n_in, rounds)
#define REDUCED_u64(name, n_in, rounds)
#define REDUCED_i8(name, n_in, rounds)
#define REDUCED_i16(name, n_in, rounds)
#define REDUCED_i32(name, n_in, rounds)
#define REDUCED_i64(name, n_in, rounds)

/* The tile function of a formula: a loop over vectors, one line per formula. */
#define TILE_OF(name)                                                                            \
    static void FN(name##_tile)(int64_t n, void *out, const void *const *in, const df_attr *attrs)
#define TILE_HEAD(name, n_in) TILE_OF(name); REDUCED(name, n_in, true) TILE_OF(name)
#define TEST_HEAD(name, n_in) TILE_OF(name); REDUCED(name, n_in, false) TILE_OF(name)
#define TILE_UNARY(name) \
    TILE_HEAD(name, 1) { (void)attrs; FN(map1)(n, out, in[0], FN(name)); }
#define TILE_BINARY(name) \
    TILE_HEAD(name, 2) { (void)attrs; FN(map2)(n, out, in[0], in[1], FN(name)); }
/* variants in which one operand is a single element; not for 16-bit floats, like `tile_scalar` */
#define TILE_WITH_ONE(name)                                                                      \
    TILE_OF(name##_one0) { (void)attrs; FN(map2_one0)(n, out, in[0], in[1], FN(name)); }         \
    TILE_OF(name##_one1) { (void)attrs; FN(map2_one1)(n, out, in[0], in[1], FN(name)); }
#define TILE_TERNARY(name) \
    TILE_HEAD(name, 3) { (void)attrs; FN(map3)(n, out, in[0], in[1], in[2], FN(name)); }
#define TILE_QUATERNARY(name) \
    TILE_HEAD(name, 4) { (void)attrs; FN(map4)(n, out, in[0], in[1], in[2], in[3], FN(name)); }
/* with the first attribute of the op, a float, as last argument of the formula */
#define TILE_UNARY_WITH(name) \
    TILE_HEAD(name, 1) { FN(map1_with)(n, out, in[0], FN(splat)((T)attrs[0].f), FN(name)); }
#define TILE_BINARY_WITH(name) \
    TILE_HEAD(name, 2) { FN(map2_with)(n, out, in[0], in[1], FN(splat)((T)attrs[0].f), FN(name)); }
/* one of two formulas, selected by the first attribute of the op, a bool */
#define TILE_UNARY_EITHER(name, if_true, if_false)                                               \
    TILE_HEAD(name, 1)                                                                           \
    {                                                                                            \
        if (attrs[0].i) FN(map1)(n, out, in[0], FN(if_true));                                    \
        else FN(map1)(n, out, in[0], FN(if_false));                                              \
    }
#define TILE_BINARY_EITHER(name, if_true, if_false)                                              \
    TILE_HEAD(name, 2)                                                                           \
    {                                                                                            \
        if (attrs[0].i) FN(map2)(n, out, in[0], in[1], FN(if_true));                             \
        else FN(map2)(n, out, in[0], in[1], FN(if_false));                                       \
    }
/* 16-bit floats are selected as int16 */
#define TILE_CHOICE(name) \
    TILE_OF(name) { (void)attrs; FN(choice)(n, out, in[0], in[1], in[2], FN(name)); }
#define TILE_TEST(name) \
    TEST_HEAD(name, 1) { (void)attrs; FN(test1)(n, out, in[0], FN(name)); }
#define TILE_COMPARE(name) \
    TEST_HEAD(name, 2) { (void)attrs; FN(test2)(n, out, in[0], in[1], FN(name)); }

/* The tile table of a record. */
#define FLOATS(name)                                                                             \
    DF_OF(F16, name##_tile_f16), DF_OF(BF16, name##_tile_bf16), [DF_F32] = name##_tile_f32,      \
    DF_OF(F64, name##_tile_f64)
#define INTS(name)                                                                               \
    DF_OF(U8, name##_tile_u8), DF_OF(U16, name##_tile_u16), DF_OF(U32, name##_tile_u32),         \
    DF_OF(U64, name##_tile_u64), DF_OF(I8, name##_tile_i8), DF_OF(I16, name##_tile_i16),         \
    DF_OF(I32, name##_tile_i32), DF_OF(I64, name##_tile_i64)
#define NUMBERS(name) FLOATS(name), INTS(name)
#define WITH_ONE(name)                                                                           \
    .tile_scalar = {{[DF_F32] = name##_one0_tile_f32, DF_OF(F64, name##_one0_tile_f64)},         \
                    {[DF_F32] = name##_one1_tile_f32, DF_OF(F64, name##_one1_tile_f64)}}
#define SIGNED_INTS (1u << DF_I8 | 1u << DF_I16 | 1u << DF_I32 | 1u << DF_I64)
#define ALL_INTS (SIGNED_INTS | 1u << DF_U8 | 1u << DF_U16 | 1u << DF_U32 | 1u << DF_U64)
/* The search of df_value_check: name_first_<dtype> of each integer dtype. */
#define FIRST_OF_INTS(name)                                                                      \
    static int64_t name##_first(const df_tensor *x)                                              \
    {                                                                                            \
        static int64_t (*const of[])(int64_t, const void *) = {                                  \
            DF_OF(U8, name##_first_u8), DF_OF(U16, name##_first_u16),                            \
            DF_OF(U32, name##_first_u32), DF_OF(U64, name##_first_u64),                          \
            DF_OF(I8, name##_first_i8), DF_OF(I16, name##_first_i16),                            \
            DF_OF(I32, name##_first_i32), DF_OF(I64, name##_first_i64)};                         \
        return of[x->dtype](x->size, x->data);                                                   \
    }
#define TEST_FIRST(name)                                                                         \
    static int64_t FN(name##_first)(int64_t n, const void *x)                                    \
    { return FN(first1)(n, x, FN(name)); }
#define BOOLS(name) DF_OF(BOOL, name##_tile_u8) /* bools are bytes 0 and 1 */

/* Fields shared by all records of a form. */
#define ELEMENTWISE_OP(op, inputs, promoted)                                                     \
    .name = op, .kind = DF_ELEMENTWISE, .n_in = inputs, .n_out = 1, .promote = promoted
#define VECTOR_OP(op, inputs, promoted)                                                          \
    ELEMENTWISE_OP(op, inputs, promoted), .may_alias = DF_ANY_INPUT, .infer = df_infer_broadcast, \
    .formula.form = DF_FORM_VECTOR
#define MASK_OP(op, inputs, promoted)                                                            \
    ELEMENTWISE_OP(op, inputs, promoted), .infer = df_infer_compare, .formula.form = DF_FORM_MASK
#define UNARY_OP(op) VECTOR_OP(op, 1, 1)
#define BINARY_OP(op) VECTOR_OP(op, 2, 3)
#define TERNARY_OP(op) VECTOR_OP(op, 3, 7)
#define QUATERNARY_OP(op) VECTOR_OP(op, 4, 15)
#define TEST_OP(op) MASK_OP(op, 1, 1)
#define COMPARE_OP(op) MASK_OP(op, 2, 3)

#endif
