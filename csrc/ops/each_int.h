/* Includes TEMPLATE once per integer dtype that this build has. Some ops compute bools as uint8,
 * 16-bit floats as int16, and complex64 as int64; in other families these functions are unused.
 * Formulas with the same bits for either sign are compiled only if DTYPE_SIGNED, so each unsigned
 * dtype comes with the signed one. */
#define DTYPE_FLOAT 0
#define DTYPE_SIGNED 0
#if DF_BUILT_U8 || DF_BUILT_BOOL
#define DTYPE u8
#include TEMPLATE
#undef DTYPE
#endif
#if DF_BUILT_U16
#define DTYPE u16
#include TEMPLATE
#undef DTYPE
#endif
#if DF_BUILT_U32
#define DTYPE u32
#include TEMPLATE
#undef DTYPE
#endif
#if DF_BUILT_U64
#define DTYPE u64
#include TEMPLATE
#undef DTYPE
#endif
#undef DTYPE_SIGNED
#define DTYPE_SIGNED 1
#if DF_BUILT_I8 || DF_BUILT_U8 || DF_BUILT_BOOL
#define DTYPE i8
#include TEMPLATE
#undef DTYPE
#endif
#if DF_BUILT_I16 || DF_BUILT_U16 || DF_BUILT_HALVES
#define DTYPE i16
#include TEMPLATE
#undef DTYPE
#endif
#if DF_BUILT_I32 || DF_BUILT_U32
#define DTYPE i32
#include TEMPLATE
#undef DTYPE
#endif
#if DF_BUILT_I64 || DF_BUILT_U64 || DF_BUILT_C64
#define DTYPE i64
#include TEMPLATE
#undef DTYPE
#endif
#undef DTYPE_SIGNED
#undef DTYPE_FLOAT
