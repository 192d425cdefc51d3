/* Tile functions of complex64 and complex128, called through the records of the ops; defined in
 * complex.c and complex_math.c. Ops that treat both parts of a number alike, such as add, use the
 * tile function of the parts instead. */
#ifndef DF_COMPLEX_H
#define DF_COMPLEX_H

#include "op/op.h"

#define DF_COMPLEX_TILE(name)                                                                    \
    void DF_SYM(df_##name##_c64)(int64_t n, void *out, const void *const *in,                    \
                                 const df_attr *attrs);                                          \
    void DF_SYM(df_##name##_c128)(int64_t n, void *out, const void *const *in,                   \
                                  const df_attr *attrs);
DF_COMPLEX_TILE(multiply)
DF_COMPLEX_TILE(squared_difference)
DF_COMPLEX_TILE(square)
DF_COMPLEX_TILE(sign)
DF_COMPLEX_TILE(abs)
DF_COMPLEX_TILE(divide)
DF_COMPLEX_TILE(divide_no_nan)
DF_COMPLEX_TILE(reciprocal)
DF_COMPLEX_TILE(equal)
DF_COMPLEX_TILE(not_equal)
DF_COMPLEX_TILE(multiply_no_nan)
DF_COMPLEX_TILE(xdivy)
/* defined in complex_math.c */
DF_COMPLEX_TILE(exp)
DF_COMPLEX_TILE(expm1)
DF_COMPLEX_TILE(log)
DF_COMPLEX_TILE(log1p)
DF_COMPLEX_TILE(sqrt)
DF_COMPLEX_TILE(rsqrt)
DF_COMPLEX_TILE(pow)
DF_COMPLEX_TILE(sin)
DF_COMPLEX_TILE(cos)
DF_COMPLEX_TILE(tan)
DF_COMPLEX_TILE(asin)
DF_COMPLEX_TILE(acos)
DF_COMPLEX_TILE(atan)
DF_COMPLEX_TILE(sinh)
DF_COMPLEX_TILE(cosh)
DF_COMPLEX_TILE(tanh)
DF_COMPLEX_TILE(asinh)
DF_COMPLEX_TILE(acosh)
DF_COMPLEX_TILE(atanh)
DF_COMPLEX_TILE(sigmoid)
DF_COMPLEX_TILE(xlogy)
DF_COMPLEX_TILE(xlog1py)
#undef DF_COMPLEX_TILE

/* The dtype of the parts, for the table of a real op. */
#define PART_DTYPE DF_CAT(DF_PART, DTYPE)
#define DF_PART_f32 DF_F32
#define DF_PART_f64 DF_F64

/* The entries of a tile table. */
#define COMPLEX(name)                                                                            \
    DF_OF(C64, DF_SYM(df_##name##_c64)), DF_OF(C128, DF_SYM(df_##name##_c128))

/* The tile function of the parts, for ops that treat both alike. */
#define PARTS_TILE(name, complex, part)                                                          \
    static void name##_tile_##complex(int64_t n, void *out, const void *const *in,               \
                                      const df_attr *attrs)                                      \
    {                                                                                            \
        name##_tile_##part(2 * n, out, in, attrs);                                               \
    }
#define TILE_OF_PARTS(name)                                                                      \
    DF_WHERE(C64, PARTS_TILE(name, c64, f32)) DF_WHERE(C128, PARTS_TILE(name, c128, f64))
#define PARTS(name) DF_OF(C64, name##_tile_c64), DF_OF(C128, name##_tile_c128)

/* A test that is true for a complex number if it is true for either part, or both (`op` is | or
 * &); `test` is the tile function of the parts. */
#define TEST_OF_PARTS(name, complex, part, T, op)                                                \
    static void name##_tile_##complex(int64_t n, void *out, const void *const *in,               \
                                      const df_attr *attrs)                                      \
    {                                                                                            \
        uint8_t of_part[2 * TEST_PIECE], *y = out;                                               \
        for (int64_t i = 0; i < n; i += TEST_PIECE) {                                            \
            const int64_t m = df_min(TEST_PIECE, n - i);                                         \
            const void *parts[1] = {(const T *)in[0] + 2 * i};                                   \
            name##_tile_##part(2 * m, of_part, parts, attrs);                                    \
            for (int64_t j = 0; j < m; j++) y[i + j] = of_part[2 * j] op of_part[2 * j + 1];     \
        }                                                                                        \
    }
#define TEST_PIECE 256
#define TEST_TILE_OF_PARTS(name, op)                                                             \
    DF_WHERE(C64, TEST_OF_PARTS(name, c64, f32, float, op))                                      \
    DF_WHERE(C128, TEST_OF_PARTS(name, c128, f64, double, op))

/* Like df_infer_broadcast, for a result of the dtype of the parts. */
df_status DF_SYM(df_infer_part)(const df_call *call, df_error *err);

#endif
