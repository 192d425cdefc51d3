/* Element types. */
#ifndef DF_DTYPE_H
#define DF_DTYPE_H

#include "base/built.h"
#include "base/status.h"

typedef enum {
    DF_BOOL = 0, /* one byte, 0 or 1 */
    DF_U8,
    DF_U16,
    DF_U32,
    DF_U64,
    DF_I8,
    DF_I16,
    DF_I32,
    DF_I64,
    DF_F16,  /* computed in float32 and rounded once per op, */
    DF_BF16, /* as this one */
    DF_F32,
    DF_F64,
    DF_N_DTYPES
} df_dtype;

typedef enum { DF_KIND_BOOL, DF_KIND_INT, DF_KIND_FLOAT } df_kind;

typedef struct {
    const char *name;   /* NumPy's name: "float32" */
    const char *format; /* struct-module format of the buffer protocol; "" where there is none */
    int bytes;
    df_kind kind;
} df_dtype_info;

extern const df_dtype_info df_dtypes[DF_N_DTYPES];

/* The dtype both operands are cast to: the wider within a kind, the float of int and float, x of
 * bool and x. Where neither holds the other, the narrowest that holds both: float16 with bfloat16
 * gives float32, int8 with uint8 int16, int16 with uint32 int64; no integer holds uint64 and a
 * signed one, whose numbers become float64. */
df_dtype df_promote(df_dtype a, df_dtype b);

static inline bool df_is_float(df_dtype d) { return df_dtypes[d].kind == DF_KIND_FLOAT; }
#define DF_BUILT_HALVES (DF_BUILT_F16 || DF_BUILT_BF16)
static inline bool df_is_half(df_dtype d)
{
    return DF_BUILT_HALVES && (d == DF_F16 || d == DF_BF16);
}
static inline bool df_is_int(df_dtype d) { return df_dtypes[d].kind == DF_KIND_INT; }
static inline bool df_is_unsigned(df_dtype d) { return d >= DF_U8 && d <= DF_U64; }

/* What a table holds for a dtype, nothing where this build has no kernels of it: a value, or one in
 * braces. DF_HAS: such a value by itself, 0 there. DF_WHERE: code for such kernels. */
#define DF_OF(dtype, x) [DF_##dtype] = DF_PICK(DF_BUILT_##dtype, DF_VALUE)(x)
#define DF_OF_ALL(dtype, ...) [DF_##dtype] = DF_PICK(DF_BUILT_##dtype, DF_ALL)(__VA_ARGS__)
#define DF_HAS(dtype, x) DF_PICK(DF_BUILT_##dtype, DF_VALUE)(x)
#define DF_WHERE(dtype, ...) DF_PICK(DF_BUILT_##dtype, DF_CODE)(__VA_ARGS__)
#define DF_PICK(built, what) DF_CAT(what, built)
#define DF_VALUE_0(x) 0
#define DF_VALUE_1(x) x
#define DF_ALL_0(...) {0}
#define DF_ALL_1(...) __VA_ARGS__
#define DF_CODE_0(...)
#define DF_CODE_1(...) __VA_ARGS__

#endif
