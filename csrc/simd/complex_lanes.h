/* Vectors of complex numbers of each dtype that this build has: load_complex_f32, ... */
#ifndef DF_COMPLEX_LANES_H
#define DF_COMPLEX_LANES_H

#include "base/kernel_config.h"
#include "simd/lanes.h"

#define Z DF_CAT(z, DTYPE)
#if DF_BUILT_C64
#define DTYPE f32
#include "simd/lanes_complex.h"
#undef DTYPE
#endif
#if DF_BUILT_C128
#define DTYPE f64
#include "simd/lanes_complex.h"
#undef DTYPE
#endif
#undef Z

#endif
