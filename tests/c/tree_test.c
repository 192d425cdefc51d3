/* Arrays combined along a tree: every division among ranks, dtypes, sizes, misuse. */
#include "base/thread.h"
#include "op/tree.h"

#include "check.h"

#include <string.h>

#define MOST 9        /* leaves */
#define ROOM 16500    /* elements: more than a block */

/* --- an op that does not commute, so that the order matters --- */

#define TILE(name, type)                                                                          \
    static void name(int64_t n, void *out, const void *const *in, const df_attr *attrs)          \
    {                                                                                             \
        (void)attrs;                                                                              \
        const type *a = in[0], *b = in[1];                                                        \
        for (int64_t i = 0; i < n; i++) ((type *)out)[i] = (type)(a[i] * (type)3 + b[i]);         \
    }

TILE(mix_f32, float)
TILE(mix_f64, double)
TILE(mix_u8, uint8_t)
TILE(mix_i16, uint16_t)
TILE(mix_i64, uint64_t)

static const df_op mix = {.name = "mix", .kind = DF_ELEMENTWISE, .n_in = 2, .n_out = 1,
                          .tile = {[DF_F32] = mix_f32, [DF_F64] = mix_f64, [DF_U8] = mix_u8,
                                   [DF_I16] = mix_i16, [DF_I64] = mix_i64}};
static const df_dtype dtypes[] = {DF_F32, DF_F64, DF_U8, DF_I16, DF_I64};

/* --- the tree by definition --- */

static int middle(int a, int b)
{
    int size = 1;
    while (size * 2 < b - a) size *= 2;
    return a + size;
}

static char leaves[MOST][ROOM * 8], scratch[MOST * 2][ROOM * 8];

/* Computes the node [a, b) in scratch[depth]. */
static void compute(df_dtype dtype, int a, int b, int depth, int64_t n)
{
    const int m = middle(a, b);
    if (b - a == 1) {
        memcpy(scratch[depth], leaves[a], (size_t)(n * df_dtypes[dtype].bytes));
        return;
    }
    compute(dtype, a, m, depth + 1, n);
    memcpy(scratch[depth], scratch[depth + 1], (size_t)(n * df_dtypes[dtype].bytes));
    compute(dtype, m, b, depth + 1, n);
    mix.tile[dtype](n, scratch[depth], (const void *[]){scratch[depth], scratch[depth + 1]}, NULL);
}

/* A division of the tree: all ways to provide the node [a, b) are one array, or all ways to provide
 * its two children. cut_all enumerates them. */
typedef struct {
    df_span open[2 * MOST]; /* nodes still to be divided, last first */
    int n_open;
    df_span cut[MOST];
    int n_cut;
} cutting;

static void check_cut(df_dtype dtype, int64_t n, const cutting *c, int64_t shift);
static int n_cuts;

static void cut_all(df_dtype dtype, int64_t n, cutting c, int64_t shift)
{
    if (!c.n_open) {
        n_cuts++;
        check_cut(dtype, n, &c, shift);
        return;
    }
    const df_span s = c.open[--c.n_open];
    cutting whole = c;
    whole.cut[whole.n_cut++] = s;
    cut_all(dtype, n, whole, shift);
    if (s.end - s.first == 1) return;
    const int m = middle((int)s.first, (int)s.end);
    c.open[c.n_open++] = (df_span){m, s.end};
    c.open[c.n_open++] = (df_span){s.first, m};
    cut_all(dtype, n, c, shift);
}

/* The arrays start `shift` bytes into their memory and are contiguous. */
static void check_cut(df_dtype dtype, int64_t n, const cutting *c, int64_t shift)
{
    static char pieces[MOST * ROOM * 8 + 64], out[ROOM * 8 + 64];
    const size_t bytes = (size_t)(n * df_dtypes[dtype].bytes);
    const void *in[MOST];
    df_error err;
    for (int k = 0; k < c->n_cut; k++) {
        compute(dtype, (int)c->cut[k].first, (int)c->cut[k].end, 0, n);
        in[k] = memcpy(pieces + shift + (size_t)k * bytes, scratch[0], bytes);
    }
    memset(out, 0x5a, sizeof out);
    CHECK(df_tree_combine(&mix, dtype, n, c->n_cut, in, c->cut, out + shift, &err) == DF_OK);
    compute(dtype, 0, (int)c->cut[c->n_cut - 1].end, 0, n);
    CHECK(!memcmp(out + shift, scratch[0], bytes));
    for (size_t i = 0; i < (size_t)shift; i++) CHECK(out[i] == 0x5a);
    for (size_t i = 0; i < 8; i++) CHECK(out[(size_t)shift + bytes + i] == 0x5a);
}

static void fill(df_dtype dtype)
{
    uint64_t state = 7;
    for (int k = 0; k < MOST; k++)
        for (int64_t i = 0; i < ROOM; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            const double x = (double)(int64_t)(state >> 11) / (double)(1 << (state % 31));
            const int64_t z = (int64_t)(state >> 9);
            char *at = leaves[k] + i * df_dtypes[dtype].bytes;
            if (dtype == DF_F32) *(float *)at = (float)x;
            else if (dtype == DF_F64) *(double *)at = x;
            else memcpy(at, &z, (size_t)df_dtypes[dtype].bytes);
        }
}

static void test_every_cut(void)
{
    const int want[] = {0, 1, 2, 3, 5, 6, 11, 16, 26, 27}; /* 1, plus the product of the counts of
                                                            * the children */
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
        fill(dtypes[d]);
        for (int count = 1; count <= MOST; count++) {
            n_cuts = 0;
            cut_all(dtypes[d], 33, (cutting){.open = {{0, count}}, .n_open = 1},
                    df_dtypes[dtypes[d]].bytes);
            CHECK(n_cuts == want[count]);
        }
    }
}

static void test_sizes(void)
{
    const int64_t sizes[] = {0, 1, 2, 3, 511, 512, 513, 1023, 1025, 16383, 16385, ROOM - 1};
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
        fill(dtypes[d]);
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            const cutting three = {.cut = {{0, 1}, {1, 2}, {2, 3}}, .n_cut = 3};
            const cutting whole = {.cut = {{0, 3}}, .n_cut = 1};
            for (int shift = 0; shift < 3; shift++) {
                check_cut(dtypes[d], sizes[k], &three, shift * df_dtypes[dtypes[d]].bytes);
                check_cut(dtypes[d], sizes[k], &whole, shift * df_dtypes[dtypes[d]].bytes);
            }
        }
    }
}

static void test_siblings(void)
{
    for (int n = 1; n <= MOST; n++)
        for (int a = 0; a < n; a++)
            for (int b = a + 1; b < n; b++)
                for (int c = b + 1; c <= n; c++) {
                    bool are = false; /* a node [a, c) of the tree has these children */
                    for (int first = 0, end = n; end - first > 1;) {
                        const int m = middle(first, end);
                        if (first == a && end == c && m == b) are = true;
                        if (c <= m) end = m;
                        else if (a >= m) first = m;
                        else break;
                    }
                    CHECK(df_are_siblings((df_span){a, b}, (df_span){b, c}, n) == are);
                }
    CHECK(!df_are_siblings((df_span){0, 1}, (df_span){2, 3}, 3));
}

static void refuse(const df_op *op, df_dtype dtype, int count, const df_span *spans,
                   df_status status, const char *text)
{
    float x[4] = {1}, out[4] = {9, 9, 9, 9};
    const void *in[] = {x, x, x, x};
    df_error err;
    CHECK(df_tree_combine(op, dtype, 4, count, in, spans, out, &err) == status);
    CHECK(strstr(err.text, text) && out[0] == 9);
}

static void test_misuse(void)
{
    const df_op general = {.name = "general", .kind = DF_GENERAL, .n_in = 2};
    const df_op one = {.name = "one", .kind = DF_ELEMENTWISE, .n_in = 1, .tile = {[DF_F32] = mix_f32}};
    const df_span pair[] = {{0, 1}, {1, 2}};
    const struct {
        int count;
        df_span spans[4];
    } bad[] = {{0, {{0, 1}}},
               {-1, {{0, 1}}},
               {1, {{1, 2}}},
               {1, {{0, 0}}},
               {1, {{1, 0}}},
               {1, {{-1, 1}}},
               {2, {{0, 1}, {2, 3}}},
               {2, {{0, 1}, {0, 1}}},
               {2, {{1, 2}, {0, 1}}},
               {2, {{0, 2}, {1, 3}}},
               {2, {{0, 3}, {3, 4}}},
               {2, {{0, 1}, {1, 3}}},
               {3, {{0, 1}, {1, 2}, {3, 4}}},
               {4, {{0, 1}, {1, 2}, {2, 3}, {3, 3}}},
               {1, {{0, (int64_t)INT32_MAX + 1}}},
               {2, {{0, INT64_MAX / 2 + 1}, {INT64_MAX / 2 + 1, INT64_MAX}}}};
    refuse(&general, DF_F32, 2, pair, DF_BAD_DTYPE, "general: no kernel");
    refuse(&one, DF_F32, 2, pair, DF_BAD_DTYPE, "one: no kernel");
    refuse(&mix, DF_BOOL, 2, pair, DF_BAD_DTYPE, "mix: no kernel combines arrays of bool");
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        refuse(&mix, DF_F32, bad[k].count, bad[k].spans, DF_INVALID_ARGUMENT,
               "not the nodes of one tree");
}

int main(void)
{
    df_error err;
    CHECK(df_set_num_threads(4, &err) == DF_OK);
    test_siblings();
    test_every_cut();
    test_sizes();
    test_misuse();
    df_memory_trim();
    return 0;
}
