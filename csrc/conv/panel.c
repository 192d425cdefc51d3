/* The arithmetic of convolutions, see panel.h. */
#include "simd/vmath.h"
#include "conv/panel.h"
#include "gemm/half.h"

/* Heights of the kernels with up to three vectors, and with four. */
#if DF_CONV_COLS == 4
#define TALL 8
#define LOW 6
#else
#define TALL 4
#define LOW 4
#endif
#define HEIGHT TALL
#define REST 2 /* height of the kernels for the last rows: one is left of 7 x 7 pixels */

#define FETCH_STEPS 16 /* between prefetches */
#define LINE_BYTES 64  /* of a cache line */

#define UNROLL _Pragma("GCC unroll 8")

/* Lines to prefetch, a few every FETCH_STEPS steps of a block. */
typedef struct {
    const char *next;
    int64_t lines;
} prefetch;

static prefetch prefetch_of(const df_conv_panel *p, int64_t height)
{
    if (p->fetch_bytes == 0) return (prefetch){0};
    int64_t times = 0;
    for (int64_t i = 0; i < p->n_segments; i++)
        times += df_ceil_div(p->segments[i].length, FETCH_STEPS);
    times *= df_ceil_div(p->n_rows, height) * LINE_BYTES;
    return (prefetch){p->fetch, df_ceil_div(p->fetch_bytes, df_max(times, 1))};
}

/* Into L2: the panel in progress fills L1. */
DF_INLINE void prefetch_some(prefetch *fetch)
{
    const char *next = fetch->next;
    for (int64_t n = fetch->lines; n > 0; n--, next += LINE_BYTES) __builtin_prefetch(next, 0, 2);
    fetch->next = next;
}

#define DTYPE f32
#define FINISHES
#include "conv/finish.h"
#include "conv/panel_formulas.h"
#undef FINISHES
#undef DTYPE
#if DF_BUILT_F64
#define DTYPE f64
#include "conv/panel_formulas.h"
#undef DTYPE
#endif

void DF_SYM(df_conv_panel_run)(df_dtype dtype, const df_conv_panel *panel)
{
    (dtype == DF_F64 ? DF_HAS(F64, conv_panel_f64) : conv_panel_f32)(panel);
}

void DF_SYM(df_conv_pack)(df_dtype dtype, void *to, int64_t width, const void *from, int64_t rows,
                          int64_t row_step, int64_t cols, int64_t col_step)
{
    if (df_is_reduced_float(dtype))
        (dtype == DF_BF16 ? DF_SYM(df_pack_bf16) : DF_SYM(df_pack_f16))(to, width, from, cols,
                                                                       col_step, rows, row_step);
    else
        (dtype == DF_F64 ? DF_HAS(F64, conv_pack_f64) : conv_pack_f32)(
            to, width, from, rows, row_step, cols, col_step);
}

static void pack_half_runs(df_dtype half, float *to, int64_t width, const uint16_t *a,
                           const df_conv_segment *runs, int64_t n_runs,
                           const df_conv_segment *segments, int64_t n_segments, int64_t step)
{
    for (int64_t s = 0; s < n_segments; s++)
        for (int64_t k = 0; k < segments[s].length; k++, to += width)
            for (int64_t r = 0, at = 0; r < n_runs; at += runs[r++].length)
                df_piece(half, a, runs[r].offset + segments[s].offset + k * step, runs[r].length,
                         to + at);
}

void DF_SYM(df_conv_pack_runs)(df_dtype dtype, void *to, int64_t width, const void *a,
                               const df_conv_segment *runs, int64_t n_runs,
                               const df_conv_segment *segments, int64_t n_segments, int64_t step)
{
    if (df_is_reduced_float(dtype))
        pack_half_runs(dtype, to, width, a, runs, n_runs, segments, n_segments, step);
    else (dtype == DF_F64 ? DF_HAS(F64, pack_runs_f64) : pack_runs_f32)(
        to, width, a, runs, n_runs, segments, n_segments, step);
}

void DF_SYM(df_conv_scatter)(df_dtype dtype, void *to, const int64_t *rows, int64_t n_rows,
                             const df_conv_segment *runs, int64_t n_runs, const void *from,
                             int64_t from_row)
{
    (dtype == DF_F64 ? DF_HAS(F64, scatter_f64) : scatter_f32)(to, rows, n_rows, runs,
                                                                    n_runs, from, from_row);
}
