/* Packers of int8 and uint8: two elements along k are stored side by side as int16. */
#include "simd/lanes_bytes.h"
#include "gemm/kernel.h"

#define STRIP 64      /* elements along k per transposed strip of lines */
#define MOST_LINES 64 /* in a panel */

typedef struct {
    const uint8_t *source;
    int64_t n, step, depth, depth_step;
} bytes;

/* Widens n elements, and adds a zero if n is odd. The last vector overlaps the one before it. */
static void widen_line(int16_t low, int16_t *to, const uint8_t *from, int64_t n)
{
    if (n < WIDE_LANES) {
        store_i16(to, widen_bytes_n(low, from, n));
        return;
    }
    for (int64_t at = 0; at + WIDE_LANES <= n; at += WIDE_LANES)
        store_i16(to + at, widen_bytes(low, from + at));
    store_i16(to + n - WIDE_LANES, widen_bytes(low, from + n - WIDE_LANES));
    if (n % 2) to[n] = 0;
}

/* The lines of the source run along k: strips of them are widened, and the pairs transposed as
 * 4-byte elements. Uses the float32 packer, which moves bits and is present in every build. */
static void pack_lines(int16_t low, int32_t *packed, int64_t width, const bytes *b)
{
    int16_t strip[MOST_LINES * STRIP] __attribute__((aligned(DF_ALIGNMENT)));
    const gemm_kernel *f32 = DF_SYM(df_gemm_kernel)(DF_F32);
    for (int64_t p = 0; p < b->depth; p += STRIP) {
        const int64_t some = df_min(STRIP, b->depth - p);
        for (int64_t i = 0; i < b->n; i++)
            widen_line(low, strip + i * STRIP, b->source + i * b->step + p, some);
        f32->pack(packed + p / 2 * width, width, strip, b->n, STRIP / 2, (some + 1) / 2, 1);
    }
}

static void pack_pairs(df_dtype dtype, void *packed, int64_t width, const bytes *b)
{
    const int16_t low = byte_mask(dtype);
    static const uint8_t zeros[MOST_LINES];
    int32_t *to = packed;
    if (b->step != 1) {
        pack_lines(low, packed, width, b);
        return;
    }
    for (int64_t p = 0; p < b->depth; p += 2, to += width) {
        const uint8_t *even = b->source + p * b->depth_step;
        const uint8_t *odd = p + 1 < b->depth ? even + b->depth_step : zeros;
        int64_t i = 0;
        for (; i + PAIR_LANES <= b->n; i += PAIR_LANES)
            store_i32(to + i, pair_bytes(low, even + i, odd + i));
        for (; i < b->n; i++)
            to[i] = pair_of(byte_at(low, even, i), byte_at(low, odd, i));
        for (; i < width; i++) to[i] = 0;
    }
}

void DF_SYM(df_pack_i8)(void *packed, int64_t width, const void *source, int64_t n, int64_t step,
                        int64_t depth, int64_t depth_step)
{
    const bytes b = {source, n, step, depth, depth_step};
    pack_pairs(DF_I8, packed, width, &b);
}

void DF_SYM(df_pack_u8)(void *packed, int64_t width, const void *source, int64_t n, int64_t step,
                        int64_t depth, int64_t depth_step)
{
    const bytes b = {source, n, step, depth, depth_step};
    pack_pairs(DF_U8, packed, width, &b);
}
