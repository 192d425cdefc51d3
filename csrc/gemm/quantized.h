/* Products with a matrix of 8-bit or 4-bit integers that are dequantised in registers. Called by
 * ops/quantization. Works on memory, without tensors or ops. Compiled once per SIMD level. */
#ifndef DF_GEMM_QUANTIZED_H
#define DF_GEMM_QUANTIZED_H

#include "gemm/gemm.h"

#define DF_QUANTIZED_CHANNELS 32 /* channels of a block */
#define DF_QUANTIZED_SUM 128     /* terms of an inner sum, at most */

/* A quantised k x n matrix W. The n columns are channels, in blocks of 32; the last block is padded
 * with channels whose scale is 0. Along k, consecutive integers of a channel are packed into
 * little-endian words of 32 bits: four bytes, or the low halves of four bytes and then the high
 * halves.
 *
 *   values [blocks][words][32]   words; the last one is padded along k
 *   scales [blocks][groups][32]  bfloat16, or float32 if `wide`
 *   zeros  [blocks][groups][32]  bytes; NULL: all are 2^(bits - 1)
 *
 * An element is (u - zero) * scale, which is exact in float32 if the scale is bfloat16: 9 times 8
 * bits. Integers of 4 bits are stored as u, those of 8 bits as u - 128 in two's complement. */
typedef struct {
    const uint32_t *values;
    const void *scales;
    const uint8_t *zeros;
    bool wide;     /* scales are float32 */
    int bits;      /* 4 or 8 */
    int64_t n, k;
    int64_t group; /* elements along k per scale: a multiple of 32 up to DF_QUANTIZED_SUM, or 0:
                    * one scale per channel */
} df_quantized;

/* The lowest bit of element j of a word. */
static inline int df_quantized_bit(int bits, int j)
{
    return bits == 8 ? 8 * j : 8 * (j % 4) + 4 * (j / 4);
}

static inline int64_t df_quantized_blocks(int64_t n)
{
    return df_ceil_div(n, DF_QUANTIZED_CHANNELS);
}

static inline int64_t df_quantized_words(const df_quantized *q)
{
    return df_ceil_div(q->k, 32 / q->bits);
}

static inline int64_t df_quantized_groups(const df_quantized *q)
{
    return q->group ? df_ceil_div(q->k, q->group) : 1;
}

/* y = x W for a dense m x k matrix x, all float32. Bits of a row of y do not depend on the number
 * of threads; they depend on m only through m <= 8 or m > 8. `workspace` is aligned to 64 bytes. */
int64_t DF_SYM(df_quantized_workspace)(const df_quantized *q, int64_t m);
void DF_SYM(df_quantized_product)(const df_quantized *q, int64_t m, const float *x, float *y,
                                  void *workspace);

#endif
