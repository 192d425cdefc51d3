/* Element types. Their order is part of the format of program files. */
#ifndef DF_DTYPE_H
#define DF_DTYPE_H

#include "base/kernel_config.h"
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
    DF_F16,  /* computed in float32 and rounded once per op */
    DF_BF16, /* likewise */
    DF_F32,
    DF_F64,
    DF_C64,  /* two float32: the real part, then the imaginary part */
    DF_C128, /* two float64 */
    DF_N_DTYPES
} df_dtype;

typedef enum { DF_KIND_BOOL, DF_KIND_INT, DF_KIND_FLOAT, DF_KIND_COMPLEX } df_kind;

typedef struct {
    const char *name;   /* NumPy's name: "float32" */
    const char *format; /* struct-module format of the buffer protocol; "" if there is none */
    int bytes;
    df_kind kind;
} df_dtype_info;

#define DF_MAX_BYTES 16 /* of an element */
extern const df_dtype_info df_dtypes[DF_N_DTYPES];

/* The dtype that both operands are cast to: the wider one within a kind, the float of an int and a
 * float, x of bool and x. With a complex dtype: complex128 if one operand is complex128 or
 * float64, else complex64. If neither holds the other, the narrowest dtype that holds both: float32
 * for float16 with bfloat16, int16 for int8 with uint8, int64 for int16 with uint32. No integer
 * dtype holds both uint64 and signed integers; they promote to float64. */
df_dtype df_promote(df_dtype a, df_dtype b);

static inline bool df_is_float(df_dtype d) { return df_dtypes[d].kind == DF_KIND_FLOAT; }
static inline bool df_is_complex(df_dtype d) { return df_dtypes[d].kind == DF_KIND_COMPLEX; }
/* True for floats and complex numbers: the dtypes that have gradients. */
static inline bool df_is_inexact(df_dtype d) { return df_dtypes[d].kind >= DF_KIND_FLOAT; }
/* The dtype of the parts of a complex number; any other dtype itself. */
static inline df_dtype df_real_dtype(df_dtype d)
{
    return d == DF_C64 ? DF_F32 : d == DF_C128 ? DF_F64 : d;
}
#define DF_BUILT_HALVES (DF_BUILT_F16 || DF_BUILT_BF16)
static inline bool df_is_reduced_float(df_dtype d)
{
    return DF_BUILT_HALVES && (d == DF_F16 || d == DF_BF16);
}
static inline bool df_is_int(df_dtype d) { return df_dtypes[d].kind == DF_KIND_INT; }
static inline bool df_is_unsigned(df_dtype d) { return d >= DF_U8 && d <= DF_U64; }

/* Table entries that are empty if the build has no kernels for a dtype. DF_OF: a designated entry;
 * DF_OF_ALL: one with a braced value; DF_HAS: the value alone, otherwise 0; DF_WHERE: code. */
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
