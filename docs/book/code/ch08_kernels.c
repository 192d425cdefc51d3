/* The code of docs/book/ch08_kernels.md, from which docs/ext/book.py writes this file. */
#include <stdint.h>
#include <string.h>

enum { LANES = 8 };

typedef float V __attribute__((vector_size(4 * LANES)));
typedef int32_t M __attribute__((vector_size(4 * LANES)));     /* a mask: 0 or -1 in each lane */

static inline V splat(float x) { return (V){} + x; }

/* The lanes of a where the mask is -1, otherwise the lanes of b. */
static inline V choose(M mask, V a, V b) { return (V)(((M)a & mask) | ((M)b & ~mask)); }

static inline V power_of_2(V n) { return (V)((__builtin_convertvector(n, M) + 127) << 23); }

static inline V exp_of(V x)
{
    const V magic = splat(0x1.8p23f);
    V n = (x * 1.44269504f + magic) - magic;
    V r = (x - n * 0.693145752f) - n * 1.42860677e-6f;
    V y = splat(1 / 5040.f);                            /* Taylor: the error is below 1e-8 */
    const float terms[] = {1 / 720.f, 1 / 120.f, 1 / 24.f, 1 / 6.f, 0.5f, 1, 1};
    for (int k = 0; k < 7; k++) y = y * r + terms[k];
    V half = (n * 0.5f + magic) - magic;
    y = y * power_of_2(half) * power_of_2(n - half);
    y = choose(x > 88.72283f, splat(__builtin_inff()), y);
    y = choose(x < -87.33654f, splat(0), y);            /* results below the normal numbers */
    return choose(x == x, y, x);                        /* NaN */
}

/* Loads and stores of up to LANES elements; missing lanes are 0. */
static inline V load(const float *x, int64_t n)
{
    V v = {0};
    memcpy(&v, x, sizeof(float) * (n < LANES ? n : LANES));
    return v;
}

static inline void store(float *y, int64_t n, V v)
{
    memcpy(y, &v, sizeof(float) * (n < LANES ? n : LANES));
}

void exp_kernel(int64_t n, float *y, const float *x)
{
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) store(y + i, LANES, exp_of(load(x + i, LANES)));
    if (i < n) store(y + i, n - i, exp_of(load(x + i, n - i)));
}

/* Returns 1 if the processor has the instructions of a level. */
int has_avx2(void)
{
#ifdef __x86_64__
    return __builtin_cpu_supports("avx2") != 0;
#else
    return 0;
#endif
}

/* y = relu(2 x + 1) - x: four loops over each tile; t is memory for one tile. */
void chain(int64_t n, int64_t tile, float *y, const float *x, float *t)
{
    for (int64_t at = 0; at < n; at += tile) {
        const int64_t m = n - at < tile ? n - at : tile;
        for (int64_t i = 0; i < m; i++) t[i] = x[at + i] * 2;
        for (int64_t i = 0; i < m; i++) t[i] = t[i] + 1;
        for (int64_t i = 0; i < m; i++) t[i] = t[i] < 0 ? 0 : t[i];
        for (int64_t i = 0; i < m; i++) y[at + i] = t[i] - x[at + i];
    }
}

/* The sum of n elements: one accumulator per lane, then the lanes in a fixed order. */
static float sum_of(int64_t n, const float *x)
{
    V sums = {0};
    for (int64_t i = 0; i < n; i += LANES) sums += load(x + i, n - i);
    float total = 0;
    for (int k = 0; k < LANES; k++) total += sums[k];
    return total;
}

/* out[k] = the sum of elements borders[k] to borders[k + 1] - 1, for first <= k < last. */
void sum_parts(const float *x, const int64_t *borders, int64_t first, int64_t last, float *out)
{
    for (int64_t k = first; k < last; k++)
        out[k] = sum_of(borders[k + 1] - borders[k], x + borders[k]);
}
