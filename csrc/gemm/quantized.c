/* Products with quantised matrices, see quantized.h. The lanes of a vector are channels.
 *
 * Few rows: the time is that of reading the matrix, so a vector of elements takes about three
 * instructions: a mask or a shift, a conversion to float, a multiply-add. Elements are not shifted
 * to the lowest bits, so they are multiples of a power of two, whose inverse is in a copy of x. Zero
 * points are subtracted once per group: its sum starts with -zero * (sum of x).
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
#define MOST 4          /* vectors of results at a time, each with two sums: 8 registers */
#define AHEAD 3072      /* bytes between the prefetch of the matrix and its use */
#define CHUNK_BYTES 16384  /* of the matrix per chunk of work */
#define NS_PER_BYTE 0.06

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

static void describe(const df_quantized *q, int64_t rows, few_rows *f)
{
    const int64_t per_sum = q->group ? q->group : DF_QUANTIZED_SUM; /* of terms */
    *f = (few_rows){.q = q, .rows = rows, .words = df_quantized_words(q),
                    .groups = df_quantized_groups(q), .sums = df_ceil_div(q->k, per_sum),
                    .sum_words = per_sum * q->bits / 32};
}

/* The bit at which element j of a word is converted: 4 bits at their position in half a word; 8 bits
 * at the top, where the sign of the word is theirs. */
DF_INLINE int converted_bit(int bits, int j)
{
    return bits == 4 ? df_quantized_bit(4, j) % 16 : 24;
}

static void scale_row(const few_rows *f, const float *x, float *scaled, float *totals)
{
    const df_quantized *q = f->q;
    const int per_word = 32 / q->bits;
    const int64_t per_sum = f->sum_words * per_word;
    memset(totals, 0, (size_t)f->sums * sizeof *totals);
    memset(scaled + q->k, 0, (size_t)(f->words * per_word - q->k) * sizeof *scaled);
    for (int64_t s = 0; s < f->sums; s++) {
        double total = 0;
        for (int64_t p = s * per_sum; p < df_min((s + 1) * per_sum, q->k); p++) {
            scaled[p] = x[p] * (1.0f / (float)(1 << converted_bit(q->bits, (int)(p % per_word))));
            total += (double)x[p];
        }
        totals[s] = (float)total;
    }
}

/* Results of `rows` rows and `vectors` vectors of channels from vector `at` of a block on. */
DF_INLINE void few_block(const int bits, const int rows, const int vectors, const few_rows *f,
                         int64_t row, int64_t block, int at)
{
    const int per_word = 32 / bits;
    const df_quantized *q = f->q;
    const uint32_t *w = q->values + block * f->words * BLOCK + at * FLOATS;
    const int64_t depth = f->words * per_word;
    const float *x = f->scaled + row * depth, *totals = f->totals + row * f->sums;
    v_f32 result[MOST], sum[2][MOST];
    float found[MOST * FLOATS];
    UNROLL for (int i = 0; i < rows * vectors; i++) result[i] = (v_f32){0};

    for (int64_t s = 0; s < f->sums; s++) {
        const int64_t group = (block * f->groups + (q->group ? s : 0)) * BLOCK + at * FLOATS;
        UNROLL for (int v = 0; v < vectors; v++) {
            const float base = bits == 8 ? 128 : 0; /* of the stored integers */
            v_f32 zero = splat_f32(base - (float)(1 << (bits - 1)));
            if (q->zeros)
                zero = base - __builtin_convertvector(
                    load_bytes_f32(q->zeros + group + v * FLOATS), v_f32);
            UNROLL for (int r = 0; r < rows; r++) {
                sum[0][r * vectors + v] = zero * splat_f32(totals[r * f->sums + s]);
                sum[1][r * vectors + v] = (v_f32){0};
            }
        }
        int64_t words = df_min(f->sum_words, f->words - s * f->sum_words);
        for (; words > 0; words--, w += BLOCK, x += per_word) {
            v_u32 word[MOST];
            UNROLL for (int v = 0; v < vectors; v++) {
                word[v] = load_u32(w + v * FLOATS);
                __builtin_prefetch((const char *)(w + v * FLOATS) + AHEAD);
            }
            UNROLL for (int i = 0; i < per_word; i++) { /* first those of the low half of a word */
                const int j = bits == 4 ? i % 2 + i / 4 * 2 + i / 2 % 2 * 4 : i;
                const v_u32 mask =
                    splat_u32(((UINT32_C(1) << bits) - 1) << converted_bit(bits, j));
                if (bits == 4 && i == 4)
                    UNROLL for (int v = 0; v < vectors; v++) word[v] >>= 16;
                UNROLL for (int v = 0; v < vectors; v++) {
                    const v_u32 shifted = bits == 4 ? word[v] : word[v] << (24 - 8 * j);
                    const v_f32 element = __builtin_convertvector(
                        (v_i32)(bits == 8 && j == 0 ? shifted : shifted & mask), v_f32);
                    UNROLL for (int r = 0; r < rows; r++) {
                        v_f32 *to = &sum[i % 2][r * vectors + v];
                        *to = fma_f32(element, splat_f32(x[r * depth + j]), *to);
                    }
                }
            }
        }
        UNROLL for (int v = 0; v < vectors; v++) {
            const v_f32 scale = widen_bf16(q->scales + group + v * FLOATS);
            UNROLL for (int i = v; i < rows * vectors; i += vectors)
                result[i] = fma_f32(sum[0][i] + sum[1][i], scale, result[i]);
        }
    }
    const int64_t channel = block * BLOCK + at * FLOATS;
    const int64_t n = df_min(q->n - channel, vectors * FLOATS);
    if (n <= 0)
        return;
    UNROLL for (int i = 0; i < rows * vectors; i++) store_f32(found + i * FLOATS, result[i]);
    for (int r = 0; r < rows; r++)
        memcpy(f->y + (row + r) * q->n + channel, found + r * vectors * FLOATS,
               (size_t)n * sizeof(float));
}

#define PER_ROW (VECTORS < MOST ? VECTORS : MOST) /* vectors at a time for one row */
#define FEW_BLOCK(bits, rows, vectors)                                                           \
    DF_NOINLINE void few_block_##bits##_##rows(const few_rows *f, int64_t row, int64_t block)    \
    {                                                                                            \
        for (int at = 0; at < VECTORS; at += (vectors))                                          \
            few_block(bits, rows, vectors, f, row, block, at);                                   \
    }
FEW_BLOCK(4, 1, PER_ROW)
FEW_BLOCK(4, 4, 1)
FEW_BLOCK(8, 1, PER_ROW)
FEW_BLOCK(8, 4, 1)

/* All rows of a block, which stays in the cache. */
static void few_task(void *context, int64_t begin, int64_t end)
{
    const few_rows *f = context;
    const bool is_4 = f->q->bits == 4;
    for (int64_t block = begin; block < end; block++) {
        int64_t row = 0;
        for (; row + 4 <= f->rows; row += 4)
            (is_4 ? few_block_4_4 : few_block_8_4)(f, row, block);
        for (; row < f->rows; row++) (is_4 ? few_block_4_1 : few_block_8_1)(f, row, block);
    }
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

/* The bits in which a stored word differs from unsigned integers. */
static uint32_t sign_bits(const df_quantized *q) { return q->bits == 8 ? 0x80808080 : 0; }

/* Columns [col, col + cols) of W from row k0 on, see df_gemm_fill; `col` is a multiple of FLOATS.
 * Writes whole vectors: channels of the padding are 0. */
static void fill(const void *context, float *packed, int64_t width, int64_t col, int64_t cols,
                 int64_t k0, int64_t depth)
{
    const df_quantized *q = context;
    const int per_word = 32 / q->bits;
    const v_u32 mask = splat_u32((UINT32_C(1) << q->bits) - 1);
    const v_u32 flip = splat_u32(sign_bits(q));
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
                scale = widen_bf16(q->scales + group);
                if (q->zeros)
                    zero = __builtin_convertvector(load_bytes_f32(q->zeros + group), v_f32);
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

void DF_SYM(df_dequantize_channel)(const df_quantized *q, int64_t channel, float *y)
{
    const int64_t block = channel / BLOCK, at = channel % BLOCK, per_word = 32 / q->bits;
    const uint32_t *w = q->values + block * df_quantized_words(q) * BLOCK + at;
    const int64_t groups = df_quantized_groups(q), per_group = q->group ? q->group : q->k;
    const uint32_t mask = (UINT32_C(1) << q->bits) - 1;
    for (int64_t p = 0; p < q->k;) {
        const int64_t group = (block * groups + p / per_group) * BLOCK + at;
        const float scale = df_bf16_to_f32(q->scales[group]);
        const int zero = q->zeros ? q->zeros[group] : 1 << (q->bits - 1);
        for (const int64_t end = df_min((p / per_group + 1) * per_group, q->k); p < end; p++) {
            const uint32_t word = w[p / per_word * BLOCK] ^ sign_bits(q);
            const int bit = df_quantized_bit(q->bits, (int)(p % per_word));
            y[p] = (float)((int)(word >> bit & mask) - zero) * scale;
        }
    }
}
