/* The table of element types and the promotion of two of them. */
#include "base/dtype.h"

const df_dtype_info df_dtypes[DF_N_DTYPES] = {
    [DF_BOOL] = {"bool", "?", 1, DF_KIND_BOOL},
    [DF_U8] = {"uint8", "B", 1, DF_KIND_INT},
    [DF_U16] = {"uint16", "H", 2, DF_KIND_INT},
    [DF_U32] = {"uint32", "I", 4, DF_KIND_INT},
    [DF_U64] = {"uint64", "Q", 8, DF_KIND_INT},
    [DF_I8] = {"int8", "b", 1, DF_KIND_INT},
    [DF_I16] = {"int16", "h", 2, DF_KIND_INT},
    [DF_I32] = {"int32", "i", 4, DF_KIND_INT},
    [DF_I64] = {"int64", "q", 8, DF_KIND_INT},
    [DF_F16] = {"float16", "e", 2, DF_KIND_FLOAT},
    [DF_BF16] = {"bfloat16", "", 2, DF_KIND_FLOAT},
    [DF_F32] = {"float32", "f", 4, DF_KIND_FLOAT},
    [DF_F64] = {"float64", "d", 8, DF_KIND_FLOAT},
    [DF_C64] = {"complex64", "Zf", 8, DF_KIND_COMPLEX},
    [DF_C128] = {"complex128", "Zd", 16, DF_KIND_COMPLEX},
};

df_dtype df_promote(df_dtype a, df_dtype b)
{
    static const df_dtype holds_signed_and[] = {
        [DF_U8] = DF_I16, [DF_U16] = DF_I32, [DF_U32] = DF_I64, [DF_U64] = DF_F64};
    const df_dtype_info *x = &df_dtypes[a], *y = &df_dtypes[b];
    if (a == b) return a;
    if (df_is_complex(a) || df_is_complex(b)) /* only float64 widens complex64 */
        return a == DF_C128 || b == DF_C128 || a == DF_F64 || b == DF_F64 ? DF_C128 : DF_C64;
    if (x->kind != y->kind) return x->kind > y->kind ? a : b;
    if (x->bytes > y->bytes && (df_is_unsigned(b) || !df_is_unsigned(a))) return a;
    if (x->bytes < y->bytes && (df_is_unsigned(a) || !df_is_unsigned(b))) return b;
    /* Neither type holds the other: the narrowest that holds both. */
    return x->kind == DF_KIND_FLOAT ? DF_F32 : holds_signed_and[df_is_unsigned(a) ? a : b];
}
