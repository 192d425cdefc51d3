/* <immintrin.h> without instruction sets that no kernel of this SIMD level uses. GCC's header
 * declares every set, whatever the flags: 50,000 lines that each file parses for half a second. Its
 * parts have include guards, which are defined here beforehand; a guard that a version of GCC lacks
 * has no effect. clang's header omits the sets that the flags exclude. */
#ifndef DF_INTRINSICS_H
#define DF_INTRINSICS_H

#if defined(__x86_64__)
#if defined(__GNUC__) && !defined(__clang__)
#define _AVX512ERINTRIN_H_INCLUDED
#define _AVX512PFINTRIN_H_INCLUDED
#define _AVX5124FMAPSINTRIN_H_INCLUDED
#define _AVX5124VNNIWINTRIN_H_INCLUDED
#define _AVX512BITALGINTRIN_H_INCLUDED
#define __AVX512FP16INTRIN_H_INCLUDED
#define __AVX512FP16VLINTRIN_H_INCLUDED
#define _AVX512IFMAINTRIN_H_INCLUDED
#define _AVX512IFMAVLINTRIN_H_INCLUDED
#define __AVX512VBMI2INTRIN_H_INCLUDED
#define _AVX512VBMI2VLINTRIN_H_INCLUDED
#define _AVX512VBMIINTRIN_H_INCLUDED
#define _AVX512VBMIVLINTRIN_H_INCLUDED
#define _AVX512VP2INTERSECTINTRIN_H_INCLUDED
#define _AVX512VP2INTERSECTVLINTRIN_H_INCLUDED
#define _AVX512VPOPCNTDQINTRIN_H_INCLUDED
#define _AVX512VPOPCNTDQVLINTRIN_H_INCLUDED
#define _GFNIINTRIN_H_INCLUDED
#define _KEYLOCKERINTRIN_H_INCLUDED
#define __VAESINTRIN_H_INCLUDED
#define _VPCLMULQDQINTRIN_H_INCLUDED
#ifndef __AVX512F__
#define _AVX512FINTRIN_H_INCLUDED
#define _AVX512CDINTRIN_H_INCLUDED
#define _AVX512BWINTRIN_H_INCLUDED
#define _AVX512DQINTRIN_H_INCLUDED
#define _AVX512VLINTRIN_H_INCLUDED
#define _AVX512VLBWINTRIN_H_INCLUDED
#define _AVX512VLDQINTRIN_H_INCLUDED
#define _AVX512BF16INTRIN_H_INCLUDED
#define _AVX512BF16VLINTRIN_H_INCLUDED
#define __AVX512VNNIINTRIN_H_INCLUDED
#define _AVX512VNNIVLINTRIN_H_INCLUDED
#define _AVXVNNIINTRIN_H_INCLUDED
#endif
#endif
#include <immintrin.h>
#endif

#endif
