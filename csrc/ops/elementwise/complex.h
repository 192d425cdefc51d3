/* Tile functions of complex64 and complex128, called through the records of the ops; defined in
 * complex.c. Ops that treat both parts of a number alike, such as add, use the tile function of the
 * parts instead. */
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
#undef DF_COMPLEX_TILE

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

/* Like df_infer_broadcast, for a result of the dtype of the parts. */
df_status DF_SYM(df_infer_part)(const df_call *call, df_error *err);

#endif
