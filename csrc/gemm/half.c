/* Copies and packers of float16 and bfloat16: elements are widened to float32, or bfloat16 pairs
 * are stored side by side. See half.h and kernel.h. */
#include "simd/lanes_half.h"
#include "gemm/kernel.h"

#define LINE 32      /* elements of a cache line */
#define AHEAD 1024   /* elements: the next piece of a kernel, often in L3 or memory */
#define STRIP 64     /* elements along k per transposed strip of lines */
#define MOST_LINES 64 /* in a panel */

void DF_SYM(df_copy_wide)(df_dtype stored, int64_t n, void *to, const void *from)
{
    if (!df_is_reduced_float(stored)) {
        memcpy(to, from, (size_t)(n * df_dtypes[stored].bytes));
        return;
    }
    const uint16_t *x = from;
    float *y = to;
    for (; n >= LINE; n -= LINE, x += LINE, y += LINE) {
        __builtin_prefetch(x + AHEAD);
        df_widen(stored, LINE, y, x);
    }
    df_widen(stored, n, y, x);
}

void DF_SYM(df_copy_narrow)(df_dtype stored, int64_t n, void *to, const void *from)
{
    if (df_is_reduced_float(stored)) df_narrow(stored, n, to, from);
    else memcpy(to, from, (size_t)(n * df_dtypes[stored].bytes));
}

typedef struct {
    const uint16_t *source;
    int64_t n, step, depth, depth_step;
} halves;

/* The lines of the source run along k: strips of them are widened and packed as float32. */
static void pack_wide_lines(df_dtype half, float *packed, int64_t width, const halves *h)
{
    float strip[MOST_LINES * STRIP] __attribute__((aligned(DF_ALIGNMENT)));
    const gemm_kernel *f32 = DF_SYM(df_gemm_kernel)(DF_F32);
    for (int64_t p = 0; p < h->depth; p += STRIP) {
        const int64_t some = df_min(STRIP, h->depth - p);
        for (int64_t i = 0; i < h->n; i++)
            DF_SYM(df_copy_wide)(half, some, strip + i * STRIP, h->source + i * h->step + p);
        f32->pack(packed + p * width, width, strip, h->n, STRIP, some, 1);
    }
}

DF_INLINE void pack_wide(df_dtype half, float *packed, int64_t width, const halves *h)
{
    if (h->step != 1) {
        pack_wide_lines(half, packed, width, h);
        return;
    }
    for (int64_t p = 0; p < h->depth; p++) {
        float *to = packed + p * width;
        df_widen(half, h->n, to, h->source + p * h->depth_step);
        for (int64_t i = h->n; i < width; i++) to[i] = 0;
    }
}

void DF_SYM(df_pack_f16)(void *packed, int64_t width, const void *source, int64_t n, int64_t step,
                         int64_t depth, int64_t depth_step)
{
    const halves h = {source, n, step, depth, depth_step};
    pack_wide(DF_F16, packed, width, &h);
}

void DF_SYM(df_pack_bf16)(void *packed, int64_t width, const void *source, int64_t n, int64_t step,
                          int64_t depth, int64_t depth_step)
{
    const halves h = {source, n, step, depth, depth_step};
    pack_wide(DF_BF16, packed, width, &h);
}

/* The lines of the source hold pairs along k, which are transposed as 4-byte elements. Uses the
 * float32 packer, which moves bits and is present in every build. */
static void pack_pairs_of_lines(int32_t *packed, int64_t width, const halves *h)
{
    uint16_t strip[MOST_LINES * STRIP] __attribute__((aligned(DF_ALIGNMENT)));
    const gemm_kernel *f32 = DF_SYM(df_gemm_kernel)(DF_F32);
    for (int64_t p = 0; p < h->depth; p += STRIP) {
        const int64_t some = df_min(STRIP, h->depth - p);
        for (int64_t i = 0; i < h->n; i++) {
            memcpy(strip + i * STRIP, h->source + i * h->step + p, (size_t)some * 2);
            if (some % 2) strip[i * STRIP + some] = 0;
        }
        f32->pack(packed + p / 2 * width, width, strip, h->n, STRIP / 2, (some + 1) / 2, 1);
    }
}

static void interleave(uint16_t *to, const uint16_t *even, const uint16_t *odd, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        to[2 * i] = even[i];
        to[2 * i + 1] = odd[i];
    }
}

void DF_SYM(df_pack_bf16_pairs)(void *packed, int64_t width, const void *source, int64_t n,
                                int64_t step, int64_t depth, int64_t depth_step)
{
    const halves h = {source, n, step, depth, depth_step};
    if (step != 1) {
        pack_pairs_of_lines(packed, width, &h);
        return;
    }
    static const uint16_t zeros[MOST_LINES];
    for (int64_t p = 0; p < depth; p += 2) {
        const uint16_t *even = h.source + p * depth_step;
        uint16_t *to = (uint16_t *)packed + p * width;
        interleave(to, even, p + 1 < depth ? even + depth_step : zeros, n);
        memset(to + 2 * n, 0, (size_t)(width - n) * 4);
    }
}
