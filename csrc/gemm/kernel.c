/* Instances of the kernels of kernel_formulas.h. See kernel.h. */
#include "simd/lanes_bytes.h"
#include "base/cpu.h"
#include "gemm/kernel.h"

#define UNROLL _Pragma("GCC unroll 8")
#define FETCH_ROWS 2 /* rows of C, and of B, prefetched at a time */
#define AHEAD 8      /* rows of B between the prefetch and the copy */

/* Hides the value of x from gcc. Otherwise gcc splits the loop at every condition on x, and all
 * float32 blocks take 84 KB instead of 58 at AVX-512. */
#define OPAQUE(x) __asm__("" : "+r"(x))

/* Into L2: the panel in progress fills L1. */
DF_INLINE void prefetch_some(const int vectors, gemm_fetch *fetch)
{
    const char *row = fetch->row;
    for (int64_t n = fetch->at_once; n > 0; n--, row += fetch->step)
        UNROLL for (int j = 0; j < vectors; j++)
            __builtin_prefetch(row + j * DF_VEC_BYTES, 0, 2);
    fetch->row = row;
}

DF_INLINE void copy_some(const int vectors, gemm_copy *copy)
{
    OPAQUE(copy->rows);
    for (int i = 0; i < FETCH_ROWS && copy->rows > 0; i++, copy->rows--) {
        UNROLL for (int j = 0; j < vectors; j++) {
            __builtin_prefetch(copy->from + AHEAD * copy->step + j * DF_VEC_BYTES);
            store_i8((int8_t *)copy->to + j * DF_VEC_BYTES,
                     load_i8((const int8_t *)copy->from + j * DF_VEC_BYTES));
        }
        copy->from += copy->step;
        copy->to += vectors * DF_VEC_BYTES;
    }
}

#define DTYPE f32
#include "gemm/kernel_formulas.h"
#undef DTYPE
#define ONE_FORM
#if DF_PRODUCT_F64
#define DTYPE f64
#include "gemm/kernel_formulas.h"
#undef DTYPE
#endif
#if DF_PRODUCT_I32 || DF_PRODUCT_U32
#define DTYPE i32
#include "gemm/kernel_formulas.h"
#undef DTYPE
#endif
#if DF_PRODUCT_I64 || DF_PRODUCT_U64
#define DTYPE i64
#include "gemm/kernel_formulas.h"
#undef DTYPE
#endif

/* int8 and uint8: pairs of int16 whose products are added in int32. Exact, except that sums wrap
 * around. */
typedef int32_t t_pair;
typedef v_i32 v_pair;
#define load_pair load_i32
#define load_n_pair load_n_i32
#define load_upto_pair load_upto_i32
#define store_pair store_i32
#define store_n_pair store_n_i32
#define store_upto_pair store_upto_i32
#define splat_pair splat_i32
#define fma_pair add_pairs

#define PANEL_ONLY
#if DF_PRODUCT_I8 || DF_PRODUCT_U8
#define DTYPE pair
#include "gemm/kernel_formulas.h"
#undef DTYPE
#endif

/* The same with one VNNI instruction, if this CPU has it; AVX-512 alone does not imply it. */
#if (DF_PRODUCT_I8 || DF_PRODUCT_U8) && defined(__AVX512BW__) && defined(__GNUC__) && \
    !defined(__clang__)
#define HAVE_VNNI 1
#pragma GCC push_options
#pragma GCC target("avx512vnni")
typedef int32_t t_vnni;
typedef v_i32 v_vnni;
#define load_vnni load_i32
#define load_n_vnni load_n_i32
#define load_upto_vnni load_upto_i32
#define store_vnni store_i32
#define store_n_vnni store_n_i32
#define store_upto_vnni store_upto_i32
#define splat_vnni splat_i32
DF_INLINE v_i32 fma_vnni(v_i32 a, v_i32 b, v_i32 c)
{
    return (v_i32)_mm512_dpwssd_epi32((__m512i)c, (__m512i)a, (__m512i)b);
}
#define DTYPE vnni
#include "gemm/kernel_formulas.h"
#undef DTYPE
#pragma GCC pop_options
#endif

/* bfloat16 pairs summed in float32: the second product of a pair is added first. Denormal inputs
 * and results are flushed to 0. */
#if DF_PRODUCT_BF16 && defined(__AVX512BW__) && defined(__GNUC__) && !defined(__clang__)
#define HAVE_BF16 1
#pragma GCC push_options
#pragma GCC target("avx512bf16")
typedef float t_bf16s;
typedef v_f32 v_bf16s;
#define load_bf16s load_f32
#define load_n_bf16s load_n_f32
#define load_upto_bf16s load_upto_f32
#define store_bf16s store_f32
#define store_n_bf16s store_n_f32
#define store_upto_bf16s store_upto_f32
#define splat_bf16s splat_f32
DF_INLINE v_f32 fma_bf16s(v_f32 a, v_f32 b, v_f32 c)
{
    return (v_f32)_mm512_dpbf16_ps((__m512)c, (__m512bh)a, (__m512bh)b);
}
#define DTYPE bf16s
#include "gemm/kernel_formulas.h"
#undef DTYPE
#pragma GCC pop_options
#endif
#undef PANEL_ONLY
#undef ONE_FORM

#define PLAIN(name, dtype, bytes)                                                                \
    OF_PRODUCTS(dtype, {panel_##name, pack_##name, pack_##name, DF_##dtype, bytes, bytes, 1})
/* Sizes count parts; A is packed only if it is transposed. */
#define COMPLEX_OF(name, dtype, bytes, complex)                                                  \
    OF_PRODUCTS(dtype, {panel_##name, DF_SYM(df_pack_a_##complex), DF_SYM(df_pack_b_##complex),  \
                        DF_##dtype, bytes, bytes, 1})
#define PAIRS(panel)                                                                             \
    OF_PRODUCTS(I8, {panel, DF_SYM(df_pack_i8), DF_SYM(df_pack_i8), DF_I32, 4, 1, 2}),           \
    OF_PRODUCTS(U8, {panel, DF_SYM(df_pack_u8), DF_SYM(df_pack_u8), DF_I32, 4, 1, 2})
static const gemm_kernel KERNELS[DF_N_DTYPES] = {
    PLAIN(f32, F32, 4), PLAIN(f64, F64, 8), PLAIN(i32, I32, 4), PLAIN(i64, I64, 8),
    PLAIN(i32, U32, 4), PLAIN(i64, U64, 8), /* wraparound gives the same bits */
    PAIRS(panel_pair),
    OF_PRODUCTS(F16, {panel_f32, DF_SYM(df_pack_f16), DF_SYM(df_pack_f16), DF_F16, 4, 2, 1}),
    OF_PRODUCTS(BF16, {panel_f32, DF_SYM(df_pack_bf16), DF_SYM(df_pack_bf16), DF_BF16, 4, 2, 1}),
    COMPLEX_OF(f32, C64, 4, c64), COMPLEX_OF(f64, C128, 8, c128),
};
#if defined(HAVE_VNNI)
static const gemm_kernel VNNI_KERNELS[DF_N_DTYPES] = {PAIRS(panel_vnni)};
#endif
#if defined(HAVE_BF16)
static const gemm_kernel BF16_PAIRS = {panel_bf16s, DF_SYM(df_pack_bf16_pairs),
                                       DF_SYM(df_pack_bf16_pairs), DF_BF16, 4, 2, 2};
#endif

const gemm_kernel *DF_SYM(df_gemm_kernel)(df_dtype dtype)
{
#if defined(HAVE_VNNI)
    if (VNNI_KERNELS[dtype].panel && __builtin_cpu_supports("avx512vnni"))
        return &VNNI_KERNELS[dtype];
#endif
#if defined(HAVE_BF16)
    if (dtype == DF_BF16 && df_cpu_bfloat16() == DF_BF16_AVX512)
        return &BF16_PAIRS;
#endif
    return &KERNELS[dtype];
}
