/* Products with quantised matrices, see quantized.h. The lanes of a vector are channels.
 *
 * Few rows: the time is that of reading the matrix, so a vector of elements takes about three
 * instructions: a mask or a shift, a conversion to float, a multiply-add. Elements are not shifted
 * to the lowest bits, so they are multiples of a power of two, whose inverse is in a copy of x.
 * Zero points are subtracted once per group: its sum starts with -zero * (sum of x).
 *
 * More rows: the float32 product, whose panels of W are dequantised when they are packed. */
#include "simd/lanes_half.h"
#include "base/thread.h"
#include "gemm/quantized.h"

#define UNROLL _Pragma("GCC unroll 8")
#define BLOCK DF_QUANTIZED_CHANNELS
#define FLOATS (DF_VEC_BYTES / 4)
#define VECTORS (BLOCK / FLOATS) /* of a block */
#define FEW_ROWS 8
/* Vectors of a result at a time, each with two sums in registers. */
#define AT_ONCE (DF_VEC_BYTES == 32 ? 4 : 2)
#define AHEAD 3072      /* bytes between the prefetch of the matrix and its use */
#define CHUNK_BYTES 16384  /* of the matrix per chunk of work */
#define NS_PER_BYTE 0.06

static inline v_f32 scales_at(const df_quantized *q, int64_t i)
{
    return q->wide ? load_f32((const float *)q->scales + i)
                   : widen_bf16((const uint16_t *)q->scales + i);
}

DF_INLINE v_f32 zero_points(const df_quantized *q, int64_t at)
{
    return __builtin_convertvector(load_bytes_f32(q->zeros + at), v_f32);
}

/* x prepared for few rows. */
typedef struct {
    const df_quantized *q;
    int64_t rows, words, groups;
    int64_t sums;        /* inner sums of a result */
    int64_t sum_words;   /* words of an inner sum */
    const float *scaled; /* [rows][words * 32 / bits] elements of x, times a power of two */
    const float *totals; /* [rows][sums]: sums of x */
    float *y;
} few_rows;

DF_NOINLINE void describe(const df_quantized *q, int64_t rows, few_rows *f)
{
    const int64_t per_sum = q->group ? q->group : DF_QUANTIZED_SUM; /* of terms */
    *f = (few_rows){.q = q, .rows = rows, .words = df_quantized_words(q),
                    .groups = df_quantized_groups(q), .sums = df_ceil_div(q->k, per_sum),
                    .sum_words = per_sum * q->bits / 32};
}

/* The bit at which element j of a word is converted: 4 bits at their position in half a word,
 * 8 bits at the top, with the sign. */
DF_INLINE int converted_bit(int bits, int j)
{
    return bits == 4 ? df_quantized_bit(4, j) % 16 : 24;
}

/* 2 to the power of -converted_bit, for consecutive elements */
static const float FACTORS_4[8] = {1, 0x1p-8f, 1, 0x1p-8f, 0x1p-4f, 0x1p-12f, 0x1p-4f, 0x1p-12f};
static const float FACTORS_8[8] = {0x1p-24f, 0x1p-24f, 0x1p-24f, 0x1p-24f,
                                   0x1p-24f, 0x1p-24f, 0x1p-24f, 0x1p-24f};

static void scale_row(const few_rows *f, const float *x, float *scaled, float *totals)
{
    const int64_t k = f->q->k, per_word = 32 / f->q->bits, per_sum = f->sum_words * per_word;
    const float *factors = f->q->bits == 4 ? FACTORS_4 : FACTORS_8;
    memset(scaled + k, 0, (size_t)(f->words * per_word - k) * sizeof *scaled);
    for (int64_t p = 0; p < k;) {
        double total = 0;
        for (const int64_t end = df_min(p + per_sum, k); p < end; p++) {
            scaled[p] = x[p] * factors[p % 8];
            total += (double)x[p];
        }
        *totals++ = (float)total;
    }
}

/* The result of a row for AT_ONCE vectors of channels from vector `at` of a block on. */
DF_INLINE void few_vectors(const int bits, const few_rows *f, int64_t row, int64_t block, int at)
{
    const int per_word = 32 / bits, halves = bits == 4 ? 2 : 1;
    const df_quantized *q = f->q;
    const uint32_t *w = q->values + block * f->words * BLOCK + at * FLOATS;
    const float *x = f->scaled + row * f->words * per_word, *totals = f->totals + row * f->sums;
    v_f32 result[AT_ONCE], sum[2][AT_ONCE];
    UNROLL for (int v = 0; v < AT_ONCE; v++) result[v] = (v_f32){0};

    for (int64_t s = 0; s < f->sums; s++) {
        const int64_t group = (block * f->groups + (q->group ? s : 0)) * BLOCK + at * FLOATS;
        const v_f32 total = splat_f32(totals[s]);
        UNROLL for (int v = 0; v < AT_ONCE; v++) {
            sum[0][v] = bits == 8 ? (v_f32){0} : -8 * total;
            if (q->zeros)
                sum[0][v] = total * ((bits == 8 ? 128.0f : 0.0f)
                                     - zero_points(q, group + v * FLOATS));
            sum[1][v] = (v_f32){0};
        }
        int64_t words = df_min(f->sum_words, f->words - s * f->sum_words);
        for (; words > 0; words--, w += BLOCK, x += per_word) {
            v_u32 word[AT_ONCE];
            UNROLL for (int v = 0; v < AT_ONCE; v++) {
                word[v] = load_u32(w + v * FLOATS);
                __builtin_prefetch((const char *)(w + v * FLOATS) + AHEAD);
            }
            UNROLL for (int half = 0; half < halves; half++) { /* of 4 bits: elements 0, 1, 4, 5 */
                UNROLL for (int i = 0; i < 4; i++) {
                    const int j = bits == 4 ? i % 2 + i / 2 * 4 : i;
                    const v_u32 mask =
                        splat_u32(((UINT32_C(1) << bits) - 1) << converted_bit(bits, j));
                    const v_f32 factor = splat_f32(x[2 * half + j]);
                    UNROLL for (int v = 0; v < AT_ONCE; v++) {
                        const v_u32 shifted = bits == 4 ? word[v] : word[v] << (24 - 8 * j);
                        const v_f32 element = __builtin_convertvector(
                            (v_i32)(bits == 8 && j == 0 ? shifted : shifted & mask), v_f32);
                        sum[i % 2][v] = fma_f32(element, factor, sum[i % 2][v]);
                    }
                }
                if (bits == 4)
                    UNROLL for (int v = 0; v < AT_ONCE; v++) word[v] >>= 16;
            }
        }
        UNROLL for (int v = 0; v < AT_ONCE; v++)
            result[v] = fma_f32(sum[0][v] + sum[1][v], scales_at(q, group + v * FLOATS),
                                result[v]);
    }
    const int64_t channel = block * BLOCK + at * FLOATS;
    const int64_t n = df_min(q->n - channel, AT_ONCE * FLOATS);
    if (n > 0)
        memcpy(f->y + row * q->n + channel, result, (size_t)n * sizeof(float));
}

/* All rows of a block, which stays in the cache. */
static void few_task(void *context, int64_t begin, int64_t end)
{
    const few_rows *f = context;
    for (int64_t block = begin; block < end; block++)
        for (int64_t row = 0; row < f->rows; row++)
            for (int at = 0; at < VECTORS; at += AT_ONCE)
                if (f->q->bits == 4)
                    few_vectors(4, f, row, block, at);
                else
                    few_vectors(8, f, row, block, at);
}

static void run_few(const df_quantized *q, int64_t m, const float *x, float *y, float *workspace)
{
    few_rows f;
    describe(q, m, &f);
    const int64_t depth = f.words * (32 / q->bits), bytes = f.words * 4 * BLOCK;
    float *totals = workspace + m * depth;
    for (int64_t i = 0; i < m; i++)
        scale_row(&f, x + i * q->k, workspace + i * depth, totals + i * f.sums);
    f.scaled = workspace;
    f.totals = totals;
    f.y = y;
    df_parallel_for(df_quantized_blocks(q->n), df_max(1, CHUNK_BYTES / bytes),
                    (double)bytes * NS_PER_BYTE, few_task, &f);
}

/* --- more rows -------------------------------------------------------------------------------- */

/* Columns [col, col + cols) of W from row k0 on, see df_gemm_fill; `col` is a multiple of FLOATS.
 * Writes whole vectors: channels of the padding are 0. */
static void fill(const void *context, float *packed, int64_t width, int64_t col, int64_t cols,
                 int64_t k0, int64_t depth)
{
    const df_quantized *q = context;
    const int per_word = 32 / q->bits;
    const v_u32 mask = splat_u32((UINT32_C(1) << q->bits) - 1);
    const v_u32 flip = splat_u32(q->bits == 8 ? 0x80808080 : 0); /* two's complement to unsigned */
    const int64_t words = df_quantized_words(q), groups = df_quantized_groups(q);
    for (int64_t c = 0; c < cols; c += FLOATS) {
        const int64_t block = (col + c) / BLOCK, at = (col + c) % BLOCK;
        const uint32_t *w = q->values + block * words * BLOCK + at;
        v_f32 scale = {0}, zero = splat_f32((float)(1 << (q->bits - 1)));
        float *to = packed + c;
        int64_t change = k0; /* where another group begins */
        for (int64_t p = k0; p < k0 + depth;) {
            if (p == change) {
                const int64_t g = q->group ? p / q->group : 0;
                const int64_t group = (block * groups + g) * BLOCK + at;
                scale = scales_at(q, group);
                if (q->zeros)
                    zero = zero_points(q, group);
                change = q->group ? (g + 1) * q->group : -1;
            }
            const v_u32 word = load_u32(w + p / per_word * BLOCK) ^ flip;
            const int64_t end = df_min((p / per_word + 1) * per_word, k0 + depth);
            for (; p < end; p++, to += width) {
                const v_u32 u =
                    word >> (uint32_t)df_quantized_bit(q->bits, (int)(p % per_word)) & mask;
                store_f32(to, (__builtin_convertvector((v_i32)u, v_f32) - zero) * scale);
            }
        }
    }
}

static df_gemm product_of(const df_quantized *q, int64_t m, const float *x, float *y)
{
    return (df_gemm){.dtype = DF_F32, .transpose_b = true, .fill_b = fill, .m = m, .n = q->n,
                     .k = q->k, .a = x, .b = q, .c = y, .lda = q->k, .ldb = q->k, .ldc = q->n};
}

/* Whether the product is that of few rows; df_gemm does not fill a B of one column. */
static bool is_narrow(const df_quantized *q, int64_t m) { return m <= FEW_ROWS || q->n == 1; }

int64_t DF_SYM(df_quantized_workspace)(const df_quantized *q, int64_t m)
{
    if (m == 0 || q->n == 0 || q->k == 0)
        return 0;
    if (!is_narrow(q, m)) {
        const df_gemm g = product_of(q, m, NULL, NULL);
        return DF_SYM(df_gemm_workspace)(&g);
    }
    few_rows f;
    describe(q, m, &f);
    return m * (f.words * (32 / q->bits) + f.sums) * (int64_t)sizeof(float);
}

void DF_SYM(df_quantized_product)(const df_quantized *q, int64_t m, const float *x, float *y,
                                  void *workspace)
{
    if (m == 0 || q->n == 0)
        return;
    if (q->k == 0) {
        memset(y, 0, (size_t)(m * q->n) * sizeof *y);
    } else if (is_narrow(q, m)) {
        run_few(q, m, x, y, workspace);
    } else {
        const df_gemm g = product_of(q, m, x, y);
        DF_SYM(df_gemm)(&g, workspace);
    }
}
