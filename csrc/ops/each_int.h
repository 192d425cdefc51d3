/* Includes TEMPLATE once per integer dtype that this build has. Some ops compute bools as uint8,
 * and halves as int16; others leave those functions unused. */
#define DTYPE_FLOAT 0
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
#if DF_BUILT_I8
#define DTYPE i8
#include TEMPLATE
#undef DTYPE
#endif
#if DF_BUILT_I16 || DF_BUILT_F16 || DF_BUILT_BF16
#define DTYPE i16
#include TEMPLATE
#undef DTYPE
#endif
#if DF_BUILT_I32
#define DTYPE i32
#include TEMPLATE
#undef DTYPE
#endif
#if DF_BUILT_I64
#define DTYPE i64
#include TEMPLATE
#undef DTYPE
#endif
#undef DTYPE_FLOAT
