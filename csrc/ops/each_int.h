/* Includes TEMPLATE once per integer dtype. */
#define DTYPE_FLOAT 0
#define DTYPE u8
#include TEMPLATE
#undef DTYPE
#define DTYPE u16
#include TEMPLATE
#undef DTYPE
#define DTYPE u32
#include TEMPLATE
#undef DTYPE
#define DTYPE u64
#include TEMPLATE
#undef DTYPE
#define DTYPE i8
#include TEMPLATE
#undef DTYPE
#define DTYPE i16
#include TEMPLATE
#undef DTYPE
#define DTYPE i32
#include TEMPLATE
#undef DTYPE
#define DTYPE i64
#include TEMPLATE
#undef DTYPE
#undef DTYPE_FLOAT
