/* df_attention against plain loops in double, at one SIMD level, on 1 and 2 threads.
 *
 * Each matrix is a separate block that ends with its last element, so that the address sanitizer
 * detects accesses beyond it. Exit status 77: this CPU cannot run the level. */
#include "attention/attention.h"

#include "check.h"
#include "base/cpu.h"
#include "base/half.h"
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
    switch (dtype) {
    case DF_F64: return ((const double *)p)[i];
    case DF_F32: return ((const float *)p)[i];
    case DF_BOOL: return ((const bool *)p)[i];
    default: return df_half_to_f32(((const uint16_t *)p)[i], dtype);
    }
}

static void set(df_dtype dtype, void *p, int64_t i, double x)
{
    switch (dtype) {
    case DF_F64: ((double *)p)[i] = x; break;
    case DF_F32: ((float *)p)[i] = (float)x; break;
    case DF_BOOL: ((bool *)p)[i] = x > -1; break;
    default: ((uint16_t *)p)[i] = df_f64_to_half(x, dtype);
    }
}

/* n numbers from -2 to 2. */
static void *numbers(df_dtype dtype, int64_t n)
{
    void *p = malloc((size_t)(n * df_dtypes[dtype].bytes) + (n == 0));
    CHECK(p != NULL);
    for (int64_t i = 0; i < n; i++) set(dtype, p, i, (double)small_random(4001) / 1000 - 2);
    return p;
}

static double *zeros(int64_t n) { return calloc((size_t)n + 1, sizeof(double)); }

/* Offset of row `row` of head h of batch b, in matrices of `rows` rows. */
static int64_t at(const df_attention *a, int64_t n_heads, int64_t rows, int64_t width, int64_t b,
                  int64_t h, int64_t row)
{
    return (a->heads_inner ? (b * rows + row) * n_heads + h : (b * n_heads + h) * rows + row) *
           width;
}

typedef struct {
    double *out, *dq, *dk, *dv;
} plain;

/* Adds the contributions of query i of head h of batch b to all results. */
static void attend_plainly(const df_attention *a, plain *to, int64_t b, int64_t h, int64_t i)
{
    const df_dtype t = a->dtype;
    const int64_t kv = h / (a->heads / a->kv_heads), *steps = a->mask.steps;
    const int64_t q = at(a, a->heads, a->queries, a->d, b, h, i);
    const int64_t y = at(a, a->heads, a->queries, a->e, b, h, i);
    double *p = zeros(a->keys), *dp = zeros(a->keys), top = -INFINITY, sum = 0, mean = 0;
    for (int64_t j = 0; j < a->keys; j++) {
        const int64_t k = at(a, a->kv_heads, a->keys, a->d, b, kv, j);
        const int64_t v = at(a, a->kv_heads, a->keys, a->e, b, kv, j);
        for (int64_t c = 0; c < a->d; c++) p[j] += get(t, a->q, q + c) * get(t, a->k, k + c);
        for (int64_t c = 0; c < a->e; c++) dp[j] += get(t, a->g, y + c) * get(t, a->v, v + c);
        p[j] *= a->scale;
        if (a->mask.data) {
            const double m = get(a->mask.dtype, a->mask.data, b * steps[0] + h * steps[1] +
                                                                  i * steps[2] + j * steps[3]);
            p[j] = a->mask.dtype != DF_BOOL ? p[j] + m : m > 0 ? p[j] : -INFINITY;
        }
        if (a->causal && j > i) p[j] = -INFINITY;
        top = fmax(top, p[j]);
    }
    for (int64_t j = 0; j < a->keys; j++) sum += p[j] = top > -INFINITY ? exp(p[j] - top) : 0;
    for (int64_t j = 0; j < a->keys; j++) mean += (p[j] /= sum > 0 ? sum : 1) * dp[j];
    for (int64_t j = 0; j < a->keys; j++) {
        const int64_t k = at(a, a->kv_heads, a->keys, a->d, b, kv, j);
        const int64_t v = at(a, a->kv_heads, a->keys, a->e, b, kv, j);
        const double ds = p[j] * (dp[j] - mean) * a->scale;
        for (int64_t c = 0; c < a->e; c++) {
            to->out[y + c] += p[j] * get(t, a->v, v + c);
            to->dv[v + c] += p[j] * get(t, a->g, y + c);
        }
        for (int64_t c = 0; c < a->d; c++) {
            to->dq[q + c] += ds * get(t, a->k, k + c);
            to->dk[k + c] += ds * get(t, a->q, q + c);
        }
    }
    free(p);
    free(dp);
}

static void compare(df_dtype dtype, const void *got, const double *want, int64_t n)
{
    const double unit = dtype == DF_F64 ? 1e-14 : dtype == DF_F32 ? 4e-6 : 1e-2;
    double most = 1;
    for (int64_t i = 0; i < n; i++) most = fmax(most, fabs(want[i]));
    for (int64_t i = 0; i < n; i++) CHECK(fabs(get(dtype, got, i) - want[i]) <= unit * most);
}

/* Checks that results are bit-identical on 1 and 2 threads, and close to the plain loops. */
static void check(df_attention *a)
{
    const int64_t n_q = a->batch * a->heads * a->queries, n_k = a->batch * a->kv_heads * a->keys;
    const int64_t sizes[] = {n_q * a->e, n_q * a->d, n_k * a->d, n_k * a->e};
    plain want = {zeros(sizes[0]), zeros(sizes[1]), zeros(sizes[2]), zeros(sizes[3])};
    void *found[2][4];
    df_error err;
    a->q = numbers(a->dtype, sizes[1]);
    a->k = numbers(a->dtype, sizes[2]);
    a->v = numbers(a->dtype, sizes[3]);
    a->g = numbers(a->dtype, sizes[0]);
    a->rest = df_is_reduced_float(a->dtype) ? numbers(a->dtype, sizes[0]) : NULL;
    a->lse = numbers(DF_SYM(df_attention_sums)(a->dtype), n_q);
    const int64_t bytes = DF_SYM(df_attention_workspace)(a);
    void *workspace = aligned_alloc(64, (size_t)(bytes + 64) / 64 * 64);
    for (int run = 0; run < 2; run++) {
        CHECK(df_set_num_threads(run + 1, &err) == DF_OK);
        for (int i = 0; i < 4; i++) found[run][i] = numbers(a->dtype, sizes[i]);
        a->out = found[run][0], a->dq = found[run][1], a->dk = found[run][2], a->dv = found[run][3];
        CHECK(DF_SYM(df_attention_forward)(a) && DF_SYM(df_attention_backward)(a, workspace));
    }
    for (int64_t b = 0; b < a->batch; b++)
        for (int64_t h = 0; h < a->heads; h++)
            for (int64_t i = 0; i < a->queries; i++) attend_plainly(a, &want, b, h, i);
    double *const expected[] = {want.out, want.dq, want.dk, want.dv};
    for (int i = 0; i < 4; i++) {
        compare(a->dtype, found[0][i], expected[i], sizes[i]);
        CHECK(!memcmp(found[0][i], found[1][i], (size_t)(sizes[i] * df_dtypes[a->dtype].bytes)));
        free(found[0][i]);
        free(found[1][i]);
        free(expected[i]);
    }
    void *const operands[] = {(void *)a->q, (void *)a->k, (void *)a->v, (void *)a->g, a->rest, a->lse};
    for (int i = 0; i < 6; i++) free(operands[i]);
    free(workspace);
}

static void check_random(int64_t longest)
{
    static const df_dtype DTYPES[] = {DF_F32, DF_F64, DF_BF16, DF_F16};
    static const df_dtype MASKS[] = {DF_BOOL, DF_F32, DF_F64, DF_BF16};
    df_attention a = {.dtype = DTYPES[small_random(4)], .heads_inner = small_random(2),
                      .batch = 1 + small_random(2), .kv_heads = 1 + small_random(2),
                      .queries = small_random(longest), .keys = small_random(longest),
                      .d = small_random(40), .e = small_random(40), .scale = 0.3,
                      .causal = small_random(2)};
    a.heads = a.kv_heads * (1 + small_random(3));
    int64_t n = 1;
    const int64_t full[] = {a.batch, a.heads, a.queries, a.keys};
    for (int d = 3; d >= 0; d--) {
        if (small_random(2)) continue;
        a.mask.steps[d] = n;
        n *= full[d];
    }
    a.mask.dtype = MASKS[small_random(4)];
    void *mask = small_random(3) ? numbers(a.mask.dtype, n) : NULL;
    a.mask.data = mask;
    check(&a);
    free(mask);
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
    for (int i = 0; i < 60; i++) check_random(i % 10 == 0 ? 400 : 60);
    return 0;
}
