/* df_conv and its gradients against an explicit im2col, at one SIMD level, on 1 and 2 threads.
 *
 * Entries are small integers, so every sum is exact and results must be equal. Each array is a
 * separate block that ends with its last element, so that the address sanitizer detects accesses
 * beyond it. Exit status 77: this CPU cannot run the level. */
#include "conv/conv.h"
#include "conv/winograd.h"

#include "check.h"
#include "base/cpu.h"
#include "base/thread.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint32_t seed = 1;

static int64_t small_random(int64_t below)
{
    seed = seed * 1664525u + 1013904223u;
    return (int64_t)(seed >> 8) % below;
}

static double get(df_dtype dtype, const void *p, int64_t i)
{
    return dtype == DF_F64 ? ((const double *)p)[i] : (double)((const float *)p)[i];
}

static void set(df_dtype dtype, void *p, int64_t i, double value)
{
    if (dtype == DF_F64) ((double *)p)[i] = value;
    else ((float *)p)[i] = (float)value;
}

static void *numbers(df_dtype dtype, int64_t n)
{
    void *p = malloc((size_t)(n * df_dtypes[dtype].bytes) + (n == 0));
    CHECK(p != NULL);
    for (int64_t i = 0; i < n; i++) set(dtype, p, i, (double)(small_random(9) - 4));
    return p;
}

static int64_t volume(const int64_t *v) { return v[0] * v[1] * v[2]; }
static int64_t n_patches(const df_conv *c) { return c->n * volume(c->out); }
static int64_t patch_size(const df_conv *c) { return volume(c->kernel) * c->c_in / c->groups; }

/* The element of x in patch `row` of a group at `col`; -1 for padding. */
static int64_t patch_element(const df_conv *c, int64_t group, int64_t row, int64_t col)
{
    const int64_t channels = c->c_in / c->groups;
    int64_t pixel = row, tap = col / channels, at[3];
    for (int d = 2; d >= 0; d--) {
        at[d] = pixel % c->out[d] * c->stride[d] + tap % c->kernel[d] * c->dilation[d] - c->pad[d];
        pixel /= c->out[d];
        tap /= c->kernel[d];
        if (at[d] < 0 || at[d] >= c->in[d]) return -1;
    }
    return (((pixel * c->in[0] + at[0]) * c->in[1] + at[1]) * c->in[2] + at[2]) * c->c_in +
           group * channels + col % channels;
}

/* Computes all three results by patches: y = patches w, dpatches = dy w^T added to its source
 * elements, dw = patches^T dy. */
static void by_patches(const df_conv *c, const void *x, const void *w, const void *dy, double *y,
                       double *dx, double *dw)
{
    const int64_t outputs = c->c_out / c->groups;
    for (int64_t row = 0; row < n_patches(c); row++)
        for (int64_t m = 0; m < c->c_out; m++)
            for (int64_t col = 0; col < patch_size(c); col++) {
                const int64_t at = patch_element(c, m / outputs, row, col);
                const double weight = get(c->dtype, w, col * c->c_out + m);
                const double g = get(c->dtype, dy, row * c->c_out + m);
                if (at < 0) continue;
                y[row * c->c_out + m] += get(c->dtype, x, at) * weight;
                dx[at] += g * weight;
                dw[col * c->c_out + m] += get(c->dtype, x, at) * g;
            }
}

/* The value added by the epilogue, which depends on the position; detects wrong positions and
 * repeated calls. */
static double mark(int64_t row, int64_t col) { return (double)(1 + row % 7 + 3 * (col % 5)); }

static void add_marks(const void *context, int64_t row, int64_t rows, int64_t col0, int64_t cols,
                      void *c, int64_t ldc)
{
    const df_dtype dtype = ((const df_conv *)context)->dtype;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++)
            set(dtype, c, i * ldc + j, get(dtype, c, i * ldc + j) + mark(row + i, col0 + j));
}

static void *workspace(int64_t bytes)
{
    CHECK(bytes >= 0);
    void *p = aligned_alloc(64, (size_t)df_max(64, df_ceil_div(bytes, 64) * 64));
    CHECK(p != NULL);
    memset(p, 0x7f, (size_t)df_max(64, df_ceil_div(bytes, 64) * 64)); /* arbitrary content */
    return p;
}

typedef struct {
    int64_t x, w, y;
} sizes;

static void compare(df_dtype dtype, const void *got, const double *want, int64_t n)
{
    for (int64_t i = 0; i < n; i++) CHECK(get(dtype, got, i) == want[i]);
}

static void run(const df_conv *c, sizes n, const void *x, const void *w, const void *dy,
                double *const *want)
{
    void *y = numbers(c->dtype, n.y), *dx = numbers(c->dtype, n.x), *dw = numbers(c->dtype, n.w);
    void *space = workspace(DF_SYM(df_conv_forward_workspace)(c));
    DF_SYM(df_conv_forward)(c, x, w, y, (df_product_epilogue){0}, space);
    compare(c->dtype, y, want[0], n.y);
    for (int64_t i = 0; i < n.y; i++) want[0][i] += mark(i / c->c_out, i % c->c_out);
    DF_SYM(df_conv_forward)(c, x, w, y, (df_product_epilogue){add_marks, c, NULL}, space);
    compare(c->dtype, y, want[0], n.y);
    for (int64_t i = 0; i < n.y; i++) want[0][i] -= mark(i / c->c_out, i % c->c_out);
    free(space);
    if (DF_SYM(df_conv_packs)(c)) {
        df_conv packing = *c;
        void *packed = workspace(DF_SYM(df_conv_packed_size)(c) * df_dtypes[c->dtype].bytes);
        packing.packed = true;
        DF_SYM(df_conv_pack_filters)(c, w, packed);
        space = workspace(DF_SYM(df_conv_forward_workspace)(&packing));
        DF_SYM(df_conv_forward)(&packing, x, packed, y, (df_product_epilogue){0}, space);
        compare(c->dtype, y, want[0], n.y);
        free(space);
        free(packed);
    }
    space = workspace(DF_SYM(df_conv_input_workspace)(c));
    DF_SYM(df_conv_input)(c, w, dy, dx, space);
    compare(c->dtype, dx, want[1], n.x);
    free(space);
    space = workspace(DF_SYM(df_conv_filter_workspace)(c));
    DF_SYM(df_conv_filter)(c, x, dy, dw, space);
    compare(c->dtype, dw, want[2], n.w);
    free(space);
    free(y);
    free(dx);
    free(dw);
}

static void check(const df_conv *c)
{
    const sizes n = {c->n * volume(c->in) * c->c_in, patch_size(c) * c->c_out,
                     n_patches(c) * c->c_out};
    void *x = numbers(c->dtype, n.x), *w = numbers(c->dtype, n.w), *dy = numbers(c->dtype, n.y);
    double *want[3] = {calloc((size_t)n.y + 1, 8), calloc((size_t)n.x + 1, 8),
                       calloc((size_t)n.w + 1, 8)};
    df_error err;
    CHECK(want[0] && want[1] && want[2]);
    by_patches(c, x, w, dy, want[0], want[1], want[2]);
    for (int threads = 1; threads <= 2; threads++) {
        CHECK(df_set_num_threads(threads, &err) == DF_OK);
        run(c, n, x, w, dy, want);
    }
    for (int i = 0; i < 3; i++) free(want[i]);
    free(x);
    free(w);
    free(dy);
}

/* Random sizes of dimensions from `first` on, with windows that fit the image. */
static df_conv random_conv(int first, int64_t largest)
{
    static const int64_t CHANNELS[] = {1, 2, 3, 5, 8, 15, 16, 17, 33, 50, 66};
    df_conv c = {.dtype = small_random(2) ? DF_F32 : DF_F64, .n = 1 + small_random(3),
                 .exact = true};
    c.groups = small_random(3) ? 1 : 2;
    c.c_in = c.groups * CHANNELS[small_random(11)];
    c.c_out = c.groups * CHANNELS[small_random(11)];
    if (small_random(4) == 0) { /* depthwise */
        c.groups = c.c_in = 1 + CHANNELS[small_random(11)];
        c.c_out = c.c_in * (1 + small_random(3));
    }
    for (int d = 0; d < 3; d++) {
        c.in[d] = c.kernel[d] = c.out[d] = c.stride[d] = c.dilation[d] = 1;
        if (d < first) continue;
        c.kernel[d] = 1 + small_random(4);
        c.dilation[d] = c.kernel[d] == 1 ? 1 : 1 + small_random(2);
        c.pad[d] = small_random(4);
        const int64_t window = (c.kernel[d] - 1) * c.dilation[d] + 1, after = small_random(4);
        c.in[d] = df_max(window - c.pad[d] - after, 1) + small_random(largest);
        c.stride[d] = 1 + small_random(3);
        c.out[d] = (c.in[d] + c.pad[d] + after - window) / c.stride[d] + 1;
        if (c.out[d] == 1) c.stride[d] = 1;
    }
    return c;
}

/* Several tiles, panels, passes, slices and pieces of a line. */
static void check_large(void)
{
    static const df_conv LARGE[] = {
        {DF_F32, 1, 70, 20, 1, {1, 1, 700}, {1, 1, 20}, {1, 1, 700}, {1, 1, 1}, {1, 1, 1},
         {0, 0, 9}, true, false, false},
        {DF_F32, 1, 1, 5, 1, {1, 1, 5000}, {1, 1, 3}, {1, 1, 2500}, {1, 1, 2}, {1, 1, 1},
         {0, 0, 1}, true, false, false},
        {DF_F64, 3, 40, 150, 1, {1, 9, 9}, {1, 1, 1}, {1, 9, 9}, {1, 1, 1}, {1, 1, 1},
         {0, 0, 0}, true, false, false},
        {DF_F32, 2, 1200, 3, 1, {1, 3, 3}, {1, 1, 1}, {1, 2, 2}, {1, 2, 2}, {1, 1, 1},
         {0, 0, 0}, true, false, false},
        {DF_F32, 1, 5000, 35, 1, {1, 1, 2}, {1, 1, 2}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1},
         {0, 0, 0}, true, false, false},
        {DF_F32, 2, 2, 3, 1, {1, 700, 1}, {1, 2, 1}, {1, 699, 1}, {1, 1, 1}, {1, 1, 1},
         {0, 0, 0}, true, false, false},
        {DF_F32, 20, 3, 9, 1, {1, 8, 8}, {1, 3, 3}, {1, 8, 8}, {1, 1, 1}, {1, 1, 1},
         {0, 1, 1}, true, false, false},
        {DF_F32, 2, 35, 35, 35, {1, 3, 700}, {1, 3, 5}, {1, 3, 700}, {1, 1, 1}, {1, 1, 1},
         {0, 1, 2}, true, false, false},
        {DF_F32, 9, 64, 64, 64, {1, 9, 9}, {1, 3, 3}, {1, 4, 4}, {1, 2, 2}, {1, 1, 1},
         {0, 0, 0}, true, false, false},
        {DF_F64, 1, 3, 3, 3, {1, 1, 2000}, {1, 1, 300}, {1, 1, 18}, {1, 1, 90}, {1, 1, 2},
         {0, 0, 100}, true, false, false},
        {DF_F32, 1, 3, 16, 1, {1, 120, 120}, {1, 7, 7}, {1, 60, 60}, {1, 2, 2}, {1, 1, 1},
         {0, 3, 3}, true, false, false}};
    for (size_t i = 0; i < sizeof LARGE / sizeof *LARGE; i++) check(&LARGE[i]);
}

/* --- Winograd's method, which rounds, for sizes that it is selected for and others --- */

/* Within 2e-5 of the largest result, and bit-identical on 3 threads and one. */
static void compare_close(const float *got, const float *first, const double *want, int64_t n)
{
    double largest = 1;
    for (int64_t i = 0; i < n; i++)
        if (fabs(want[i]) > largest) largest = fabs(want[i]);
    for (int64_t i = 0; i < n; i++) CHECK(fabs((double)got[i] - want[i]) <= 2e-5 * largest);
    CHECK(memcmp(got, first, (size_t)n * sizeof(float)) == 0);
}

static void check_winograd(const df_conv *c)
{
    const sizes n = {c->n * volume(c->in) * c->c_in, patch_size(c) * c->c_out,
                     n_patches(c) * c->c_out};
    float *x = numbers(DF_F32, n.x), *w = numbers(DF_F32, n.w), *dy = numbers(DF_F32, n.y);
    double *want[3] = {calloc((size_t)n.y, 8), calloc((size_t)n.x, 8), calloc((size_t)n.w, 8)};
    float *y[2], *dx[2], *dw[2];
    df_error err;
    CHECK(want[0] && want[1] && want[2]);
    by_patches(c, x, w, dy, want[0], want[1], want[2]);
    void *space[3] = {workspace(DF_SYM(df_winograd_forward_workspace)(c)),
                      workspace(DF_SYM(df_winograd_input_workspace)(c)),
                      workspace(DF_SYM(df_winograd_filter_workspace)(c))};
    for (int i = 0; i < 2; i++) {
        y[i] = numbers(DF_F32, n.y);
        dx[i] = numbers(DF_F32, n.x);
        dw[i] = numbers(DF_F32, n.w);
        CHECK(df_set_num_threads(1 + 2 * i, &err) == DF_OK);
        DF_SYM(df_winograd_forward)(c, x, w, y[i], space[0]);
        DF_SYM(df_winograd_input)(c, w, dy, dx[i], space[1]);
        DF_SYM(df_winograd_filter)(c, x, dy, dw[i], space[2]);
        compare_close(y[i], y[0], want[0], n.y);
        compare_close(dx[i], dx[0], want[1], n.x);
        compare_close(dw[i], dw[0], want[2], n.w);
    }
    void *all[] = {x, w, dy, want[0], want[1], want[2], space[0], space[1], space[2],
                   y[0], y[1], dx[0], dx[1], dw[0], dw[1]};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

static void check_random_winograd(void)
{
    for (int i = 0; i < 24; i++) {
        df_conv c = random_conv(3, 1);
        c.dtype = DF_F32;
        c.groups = 1;
        c.kernel[1] = c.kernel[2] = i % 2 ? 3 : 5;
        for (int d = 1; d < 3; d++) {
            c.pad[d] = small_random(5);
            const int64_t after = small_random(4);
            c.in[d] = df_max(1, c.kernel[d] - c.pad[d] - after) + small_random(i < 20 ? 9 : 30);
            c.out[d] = c.in[d] + c.pad[d] + after - c.kernel[d] + 1;
        }
        check_winograd(&c);
    }
}

static bool can_run(void)
{
#if defined(__AVX512F__)
    return df_cpu_has(DF_ISA_AVX512);
#elif defined(__AVX2__)
    return df_cpu_has(DF_ISA_AVX2);
#else
    return true;
#endif
}

int main(void)
{
    if (!can_run()) return 77;
    for (int i = 0; i < 120; i++) {
        const df_conv c = random_conv(i % 3, i % 3 == 0 ? 3 : i % 3 == 1 ? 6 : 40);
        check(&c);
    }
    check_large();
    check_random_winograd();
    return 0;
}
