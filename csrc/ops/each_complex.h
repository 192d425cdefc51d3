/* Includes TEMPLATE once per complex dtype that this build has, with DTYPE the dtype of the parts
 * and Z the vectors of complex numbers; CN(name) is the name with the suffix of the complex
 * dtype. */
#define Z DF_CAT(z, DTYPE)
#define CN(name) DF_CAT(name, DF_COMPLEX_NAME)
#if DF_BUILT_C64
#define DTYPE f32
#define DF_COMPLEX_NAME c64
#include TEMPLATE
#undef DF_COMPLEX_NAME
#undef DTYPE
#endif
#if DF_BUILT_C128
#define DTYPE f64
#define DF_COMPLEX_NAME c128
#include TEMPLATE
#undef DF_COMPLEX_NAME
#undef DTYPE
#endif
#undef CN
#undef Z
