/* Signatures of tapes: which tapes have equal words. */
#include "tape/signature.h"

#include "check.h"

#include <stdlib.h>
#include <string.h>

enum { SAME, OTHER_IDS, OTHER_OBJECTS, OTHER_SHAPE, OTHER_DTYPE, OTHER_WIRING, NOT_KEPT, NEW_OBJECT,
       N_KINDS };

static void *copy_of(const df_signature *s)
{
    uint64_t *words = malloc((size_t)s->n * sizeof *words);
    CHECK(words != NULL);
    memcpy(words, s->words, (size_t)s->n * sizeof *words);
    return words;
}

/* Encodes n records y = op(x, w): x not stored, w stored, of shape (rows, 3). */
static void write_log(df_signature *s, int kind, int n)
{
    static char objects[4];
    df_tensor t;
    df_error err;
    const uint64_t first = kind == OTHER_IDS ? 1000003 : 1;
    df_tensor_init(&t);
    CHECK(df_tensor_set(&t, kind == OTHER_DTYPE ? DF_F64 : DF_F32, 2,
                        (int64_t[]){kind == OTHER_SHAPE ? 5 : 4, 3}, "test", &err) == DF_OK);
    df_signature_begin(s);
    CHECK(df_signature_value(s, first + (uint64_t)n + 1, &t));
    for (int k = 0; k < n; k++) {
        const bool odd = kind == OTHER_WIRING && k == n / 2;
        df_operand x = {.id = odd ? first + 1 : first + 1 + (uint64_t)k,
                        .stored = t.shape, .ndim = 2,
                        .dtype = (uint8_t)t.dtype, .spec = true};
        df_operand w = {.id = first, .stored = objects + (kind == OTHER_OBJECTS)};
        if (kind == NEW_OBJECT && k == n - 1) w.stored = objects + 3;
        df_operand y = x;
        y.id = first + 2 + (uint64_t)k;
        CHECK(df_signature_word(s, 7));
        CHECK(df_signature_operand(s, &x, NULL, 0));
        if (kind == NOT_KEPT) {
            w = x;
            w.id = first;
            CHECK(df_signature_operand(s, &w, NULL, 0));
        } else {
            CHECK(df_signature_operand(s, &w, &t, first));
        }
        CHECK(df_signature_operand(s, &y, NULL, 0));
    }
    CHECK(s->n_operands == 3 * n);
    CHECK(s->n_saved == (kind == NOT_KEPT ? 0 : kind == NEW_OBJECT ? 2 : 1));
    for (int k = 0; k < 3 * n; k++) {
        const int want = k % 3 != 1 || kind == NOT_KEPT ? -1 : kind == NEW_OBJECT && k == 3 * n - 2;
        CHECK(s->argument_of[k] == want);
    }
    if (s->n_saved) CHECK(s->saved[0] == objects + (kind == OTHER_OBJECTS));
    df_tensor_clear(&t);
}

/* Many signatures in one object: entries belong to the current generation, however the table
 * grows. */
static void test_what_is_the_same(void)
{
    df_signature s = {0};
    for (int n = 2; n <= 2000; n *= 10) {
        write_log(&s, SAME, n);
        uint64_t *words = copy_of(&s);
        const int64_t n_words = s.n;
        const uint64_t hash = df_signature_hash(&s);
        for (int kind = N_KINDS - 1; kind >= SAME; kind--) {
            write_log(&s, kind, n);
            const bool same = s.n == n_words &&
                              memcmp(words, s.words, (size_t)n_words * sizeof *words) == 0;
            CHECK(same == (kind <= OTHER_OBJECTS));
            CHECK((df_signature_hash(&s) == hash) == same);
        }
        free(words);
    }
    df_signature_free(&s);
    CHECK(!s.words && !s.seen && s.n == 0);
}

/* The generation counter wraps around after 2^31 signatures. */
static void test_rounds_wrap(void)
{
    df_signature s = {0};
    write_log(&s, SAME, 50);
    s.generation = INT32_MAX - 1;
    for (int k = 0; k < 4; k++) {
        write_log(&s, SAME, 50);
        CHECK(s.generation > 0 && s.n_values == 52);
    }
    df_signature_free(&s);
}

static void test_dims_count(void)
{
    static const int64_t shapes[][3] = {{2, 3, 4}, {2, 3, 1}, {3, 2, 4}, {2, 12, 0}, {24, 0, 0}};
    static const int ndims[] = {3, 2, 3, 2, 1};
    df_signature s = {0};
    uint64_t hashes[5];
    for (int k = 0; k < 5; k++) {
        df_operand o = {.id = 9, .stored = (void *)(uintptr_t)shapes[k], .ndim = ndims[k],
                        .spec = true};
        df_signature_begin(&s);
        CHECK(df_signature_operand(&s, &o, NULL, 0) && df_signature_operand(&s, &o, NULL, 0));
        CHECK(s.n == 2 + ndims[k]); /* equal dimensions of the previous operand are not repeated */
        hashes[k] = df_signature_hash(&s);
        for (int j = 0; j < k; j++) CHECK(hashes[j] != hashes[k]);
    }
    df_signature_free(&s);
}

int main(void)
{
    test_what_is_the_same();
    test_rounds_wrap();
    test_dims_count();
    return 0;
}
