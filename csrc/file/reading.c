/* Readers of the words, strings, shapes and constants of a program file. entry.c, programs.c and
 * file.c read the sections with them. After the first error all readers do nothing and return
 * zeros, so that a caller checks `status` once. */
#include "file/reading.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void df_reading_fail(df_reading *r, df_status status, const char *format, ...)
{
    char text[800];
    va_list args;
    if (r->status != DF_OK) return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    r->status = df_fail(r->err, status, "%.150s: %s", r->path, text);
}

void *df_reading_alloc(df_reading *r, int64_t n, size_t bytes)
{
    int64_t size;
    block *b = NULL;
    if (r->status == DF_OK && df_mul_size(n + 1, (int64_t)bytes, &size) &&
        df_add_size(size, (int64_t)sizeof *b, &size))
        b = calloc(1, (size_t)size);
    if (!b) {
        df_reading_fail(r, DF_OUT_OF_MEMORY, "no memory for %lld times %zu bytes", (long long)n,
                        bytes);
        return NULL;
    }
    b->next = r->blocks;
    r->blocks = b;
    return b + 1;
}

int64_t df_take(df_reading *r, const char *what, int64_t low, int64_t high)
{
    const long long place = (long long)(r->at - r->words);
    if (r->status != DF_OK) return low;
    if (r->at == r->end) {
        df_reading_fail(r, DF_INVALID_ARGUMENT, "%s is missing: the programs end at word %lld",
                        what, place);
        return low;
    }
    const int64_t value = *r->at++;
    if (value >= low && value <= high) return value;
    df_reading_fail(r, DF_INVALID_ARGUMENT, "%s is %lld, expected %lld to %lld, in word %lld of "
                    "the programs", what, (long long)value, (long long)low, (long long)high, place);
    return low;
}

int df_take_count(df_reading *r, const char *what)
{
    const int64_t left = r->end - r->at - 1;
    return (int)df_take(r, what, 0, df_max(0, df_min(left, INT32_MAX - 1)));
}

double df_take_double(df_reading *r, const char *what)
{
    double value = 0;
    const int64_t word = df_take(r, what, INT64_MIN, INT64_MAX);
    if (r->status == DF_OK) memcpy(&value, &word, sizeof value);
    return value;
}

const char *df_take_string(df_reading *r, const char *what)
{
    const int64_t k = df_take(r, what, 0, r->n_strings - 1);
    return r->status == DF_OK ? r->strings[k] : "";
}

const int64_t *df_take_words(df_reading *r, const char *what, int64_t n)
{
    const int64_t *words = r->at;
    if (r->status != DF_OK) return words;
    if (n < 0 || n > r->end - r->at)
        df_reading_fail(r, DF_INVALID_ARGUMENT, "%s: %lld words, but only %lld follow word %lld "
                        "of the programs", what, (long long)n, (long long)(r->end - r->at),
                        (long long)(r->at - r->words));
    else
        r->at += n;
    return words;
}

int64_t df_reading_bytes(df_reading *r, const char *what, df_dtype dtype, int ndim,
                         const int64_t *shape)
{
    df_tensor t;
    df_error ignored;
    int64_t bytes = 0;
    if (r->status != DF_OK) return 0;
    df_tensor_init(&t);
    if (df_tensor_set(&t, dtype, ndim, shape, "file", &ignored) == DF_OK)
        bytes = t.size < 0 ? -1 : df_tensor_bytes(&t);
    else
        bytes = INT64_MAX;
    df_tensor_clear(&t);
    if (bytes == INT64_MAX)
        df_reading_fail(r, DF_BAD_SHAPE, "%s has shape %s", what, df_shape_text(ndim, shape).text);
    return r->status == DF_OK ? bytes : 0;
}

int64_t df_take_described(df_reading *r, const char *what, df_model_variable *to)
{
    to->name = df_take_string(r, what);
    to->dtype = (df_dtype)df_take(r, "a dtype", 0, DF_N_DTYPES - 1);
    to->ndim = (int)df_take(r, "a rank", 0, DF_MAX_NDIM);
    to->shape = df_take_words(r, "a shape", to->ndim);
    const int64_t bytes = df_reading_bytes(r, to->name, to->dtype, to->ndim, to->shape);
    if (bytes < 0)
        df_reading_fail(r, DF_BAD_SHAPE, "%s has shape %s, expected a known shape", to->name,
                        df_shape_text(to->ndim, to->shape).text);
    return df_max(bytes, 0);
}

void df_reading_check_bools(df_reading *r, const char *what, const void *data, int64_t n)
{
    const uint8_t *bools = data;
    for (int64_t i = 0; i < n && r->status == DF_OK; i++)
        if (bools[i] > 1)
            df_reading_fail(r, DF_INVALID_ARGUMENT, "%s: bool %lld is %d", what, (long long)i,
                            bools[i]);
}

const void *df_take_constant(df_reading *r, const char *what, int64_t bytes)
{
    const int64_t all = r->sections[CONSTANTS].bytes;
    const int64_t at = df_take(r, what, 0, all);
    if (r->status == DF_OK && (bytes < 0 || bytes > all - at))
        df_reading_fail(r, DF_INVALID_ARGUMENT, "%s: bytes %lld to %lld of %lld bytes of constants",
                        what, (long long)at, (long long)(at + bytes), (long long)all);
    return r->status == DF_OK ? r->data + r->sections[CONSTANTS].offset + at : NULL;
}
