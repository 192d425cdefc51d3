/* Blocks of complex matrices: triangular solves, Cholesky factors, and panels of LU factors. */
#include "factor/complex_blocks.h"
#include "simd/complex_lanes.h"

#define UNROLL _Pragma("GCC unroll 4")
#define PART_SIZE(x) ((x) < 0 ? -(x) : (x))

#define Z DF_CAT(z, DTYPE)
#define CN(name) DF_CAT(name, DF_COMPLEX_NAME)
#if DF_BUILT_C64
#define DTYPE f32
#define DF_COMPLEX_NAME c64
#include "factor/complex_blocks_formulas.h"
#undef DF_COMPLEX_NAME
#undef DTYPE
#endif
#if DF_BUILT_C128
#define DTYPE f64
#define DF_COMPLEX_NAME c128
#include "factor/complex_blocks_formulas.h"
#undef DF_COMPLEX_NAME
#undef DTYPE
#endif
#undef CN
#undef Z

typedef struct {
    void (*solve_strips)(const df_block_solve *s, int64_t begin, int64_t end);
    int64_t (*cholesky_block)(void *at, int64_t ld, int64_t n, void *columns);
    void (*lu_panel)(const df_panel *p);
} complex_blocks;

static const complex_blocks COMPLEX_BLOCKS[DF_N_DTYPES] = {
    DF_OF_ALL(C64, {solve_strips_c64, cholesky_block_c64, lu_panel_c64}),
    DF_OF_ALL(C128, {solve_strips_c128, cholesky_block_c128, lu_panel_c128}),
};

void DF_SYM(df_solve_complex_strips)(const df_block_solve *s, int64_t begin, int64_t end)
{
    COMPLEX_BLOCKS[s->dtype].solve_strips(s, begin, end);
}

int64_t DF_SYM(df_cholesky_complex_block)(df_dtype dtype, void *at, int64_t ld, int64_t n,
                                          void *columns)
{
    return COMPLEX_BLOCKS[dtype].cholesky_block(at, ld, n, columns);
}

void DF_SYM(df_lu_complex_panel)(const df_panel *p) { COMPLEX_BLOCKS[p->dtype].lu_panel(p); }
