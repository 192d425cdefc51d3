/* Includes TEMPLATE once per floating dtype. */
#define DTYPE_FLOAT 1
#define DTYPE f32
#include TEMPLATE
#undef DTYPE
#define DTYPE f64
#include TEMPLATE
#undef DTYPE
#undef DTYPE_FLOAT
