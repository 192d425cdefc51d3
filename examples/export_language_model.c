/* Writes text with the model of export_language_model.py, without Python:
 *
 *     language_model COUNT TOKEN...
 *
 * Reads the tokens of a prompt, draws up to COUNT more and prints the text of each at once. Runs in
 * the folder with model/weights.safetensors and vocabulary. */
#include "model.h"
#include "sizes.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct {
    char *bytes;
    long starts[VOCABULARY + 1]; /* of the text of each token */
} vocabulary;

static int fail(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    return 1;
}

/* Reads the texts of all tokens: a length of 4 bytes, least significant first, and the bytes. */
static int read_vocabulary(vocabulary *v, FILE *file)
{
    long size = 0, used = 0;
    for (int i = 0; i < VOCABULARY; i++) {
        unsigned char digits[4];
        if (fread(digits, 4, 1, file) != 1) return fail("vocabulary", "the file is truncated");
        const long n = digits[0] | digits[1] << 8 | digits[2] << 16;
        if (digits[3]) return fail("vocabulary", "a token is longer than 16 MB");
        if (used + n >= size) {
            size = 2 * (used + n) + 4096;
            char *more = realloc(v->bytes, (size_t)size);
            if (!more) return fail("vocabulary", "out of memory");
            v->bytes = more;
        }
        if (n && fread(v->bytes + used, (size_t)n, 1, file) != 1)
            return fail("vocabulary", "the file is truncated");
        v->starts[i] = used;
        used += n;
        v->starts[i + 1] = used;
    }
    return 0;
}

static void print(const vocabulary *v, int32_t token)
{
    fwrite(v->bytes + v->starts[token], 1, (size_t)(v->starts[token + 1] - v->starts[token]),
           stdout);
    fflush(stdout);
}

static int is_end(int32_t token)
{
    for (int i = 0; i < ENDS; i++)
        if (ends[i] == token) return 1;
    return 0;
}

static int write_text(model *m, const vocabulary *v, long count, int n, char **texts)
{
    int32_t next = 0;
    for (int32_t position = 0; position + 1 < LENGTH && position < n + count - 1; position++) {
        const int32_t token = position < n ? (int32_t)strtol(texts[position], NULL, 10) : next;
        if (token < 0 || token >= VOCABULARY) return fail(texts[position], "no such token");
        if (model_step(m, &token, &position, &next)) return fail("step", model_error(m));
        if (position < n - 1) continue;
        print(v, next);
        if (is_end(next)) break;
    }
    puts("");
    return 0;
}

int main(int argc, char **argv)
{
    static vocabulary v;
    if (argc < 3) return fail(argv[0], "expected COUNT TOKEN...");
    FILE *file = fopen("vocabulary", "rb");
    if (!file) return fail("vocabulary", "cannot open the file");
    int failed = read_vocabulary(&v, file);
    fclose(file);
    model *m = failed ? NULL : model_new();
    if (!failed && !m) failed = fail("model", "out of memory");
    if (!failed && model_load(m, "model/weights.safetensors"))
        failed = fail("load", model_error(m));
    if (!failed) failed = write_text(m, &v, strtol(argv[1], NULL, 10), argc - 2, argv + 2);
    if (m) model_free(m);
    free(v.bytes);
    return failed;
}
