/* Includes TEMPLATE once per floating dtype that this build has. */
#define DTYPE_FLOAT 1
#define DTYPE_SIGNED 1
#define DTYPE f32
#include TEMPLATE
#undef DTYPE
#if DF_BUILT_F64
#define DTYPE f64
#include TEMPLATE
#undef DTYPE
#endif
#undef DTYPE_SIGNED
#undef DTYPE_FLOAT
