/* The code of docs/book/ch09_matmul.md, from which docs/ext/book.py writes this file. */
#include <stdint.h>
#include <string.h>

enum { LANES = 8 };

typedef float V __attribute__((vector_size(4 * LANES)));

/* 24 * LANES * n operations. The result keeps the compiler from removing the loop. */
float peak(int64_t n)
{
    V sums[12], x = (V){} + 0.5f, total = {0};
    for (int k = 0; k < 12; k++) sums[k] = x * (float)k;
    for (int64_t i = 0; i < n; i++)
        for (int k = 0; k < 12; k++) sums[k] = sums[k] * x + x;
    for (int k = 0; k < 12; k++) total += sums[k];
    return total[0];
}

void three_loops(int64_t m, int64_t k, int64_t n, const float *a, const float *b, float *c)
{
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            float sum = 0;
            for (int64_t p = 0; p < k; p++) sum += a[i * k + p] * b[p * n + j];
            c[i * n + j] = sum;
        }
}

void rows_of_b(int64_t m, int64_t k, int64_t n, const float *a, const float *b, float *restrict c)
{
    memset(c, 0, m * n * sizeof(float));
    for (int64_t i = 0; i < m; i++)
        for (int64_t p = 0; p < k; p++)
            for (int64_t j = 0; j < n; j++) c[i * n + j] += a[i * k + p] * b[p * n + j];
}

enum { ROWS = 6, COLS = 2 * LANES };

/* A vector at the address of any float. */
typedef float U __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

/* Adds the product of ROWS rows of A and COLS columns of B to a block of C. The distances of rows
 * and columns are arguments, so that operands may be packed or not. */
static inline void multiply_block(int64_t depth, const float *a, int64_t a_row, int64_t a_col,
                                  const float *b, int64_t b_row, float *c, int64_t c_row)
{
    V sums[ROWS][2] = {{{0}}};
    for (int i = 0; i < ROWS; i++) {
        __builtin_prefetch(c + i * c_row);
        __builtin_prefetch(c + i * c_row + COLS - 1);
    }
#pragma GCC unroll 4
    for (int64_t p = 0; p < depth; p++, a += a_col, b += b_row) {
        const V left = *(const U *)b, right = *(const U *)(b + LANES);
#pragma GCC unroll 6
        for (int i = 0; i < ROWS; i++) {
            sums[i][0] += a[i * a_row] * left;
            sums[i][1] += a[i * a_row] * right;
        }
    }
#pragma GCC unroll 6
    for (int i = 0; i < ROWS; i++) {
        *(U *)(c + i * c_row) += sums[i][0];
        *(U *)(c + i * c_row + LANES) += sums[i][1];
    }
}

/* From here on, m is a multiple of ROWS and n a multiple of COLS. */
void in_registers(int64_t m, int64_t k, int64_t n, const float *a, const float *b, float *c)
{
    memset(c, 0, m * n * sizeof(float));
    for (int64_t i = 0; i < m; i += ROWS)
        for (int64_t j = 0; j < n; j += COLS)
            multiply_block(k, a + i * k, k, 1, b + j, n, c + i * n + j, n);
}

enum { DEPTH = 256, BLOCK_ROWS = 96 };

static void pack_b(int64_t depth, int64_t n, const float *b, int64_t row, float *to)
{
    for (int64_t j = 0; j < n; j += COLS)
        for (int64_t p = 0; p < depth; p++, to += COLS)
            memcpy(to, b + p * row + j, COLS * sizeof(float));
}

static void pack_a(int64_t m, int64_t depth, const float *a, int64_t row, float *to)
{
    for (int64_t i = 0; i < m; i += ROWS)
        for (int64_t p = 0; p < depth; p++, to += ROWS)
            for (int64_t r = 0; r < ROWS; r++) to[r] = a[(i + r) * row + p];
}

/* Adds packed A times packed B to a block of C with m rows. */
static void multiply_panels(int64_t m, int64_t depth, int64_t n, const float *a, const float *b,
                            float *c)
{
    for (int64_t j = 0; j < n; j += COLS)
        for (int64_t i = 0; i < m; i += ROWS)
            multiply_block(depth, a + i * depth, 1, ROWS, b + j * depth, COLS, c + i * n + j, n);
}

/* Workspace: (BLOCK_ROWS + n) * DEPTH + 16 floats; the panels start at a cache line. */
void packed(int64_t m, int64_t k, int64_t n, const float *a, const float *b, float *c,
            float *workspace)
{
    float *a_packed = (float *)(((uintptr_t)workspace + 63) / 64 * 64);
    float *b_packed = a_packed + BLOCK_ROWS * DEPTH;
    memset(c, 0, m * n * sizeof(float));
    for (int64_t p = 0; p < k; p += DEPTH) {
        const int64_t depth = k - p < DEPTH ? k - p : DEPTH;
        pack_b(depth, n, b + p * n, n, b_packed);
        for (int64_t i = 0; i < m; i += BLOCK_ROWS) {
            const int64_t rows = m - i < BLOCK_ROWS ? m - i : BLOCK_ROWS;
            pack_a(rows, depth, a + i * k + p, k, a_packed);
            multiply_panels(rows, depth, n, a_packed, b_packed, c + i * n);
        }
    }
}

/* Copies the windows of images (count, height, width, channels), without padding, to rows. */
void im2col(int64_t count, int64_t height, int64_t width, int64_t channels, int64_t kh, int64_t kw,
            const float *x, float *rows)
{
    const int64_t length = kw * channels;
    for (int64_t i = 0; i < count; i++)
        for (int64_t y = 0; y + kh <= height; y++)
            for (int64_t column = 0; column + kw <= width; column++)
                for (int64_t dy = 0; dy < kh; dy++, rows += length)
                    memcpy(rows, x + ((i * height + y + dy) * width + column) * channels,
                           length * sizeof(float));
}
