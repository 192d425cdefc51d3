/* Weight files: saved, loaded, and damaged in many ways. */
#include "check.h"

#include "model/model.h"
#include "op/registry.h"

#include <stdlib.h>
#include <string.h>

/* A model without entries needs no ops. */
df_status df_registry_init(df_error *err)
{
    (void)err;
    return DF_OK;
}
const char *df_registry_isa(void) { return "baseline"; }
int64_t df_registry_size(void) { return 0; }
const df_op *df_registry_op(int64_t index)
{
    (void)index;
    return NULL;
}

static const int64_t matrix[] = {2, 3}, none[] = {0};
static const df_model_variable variables[] = {
    {"w", DF_F32, 2, matrix}, {"b \"\\ \xc3\xa9", DF_I64, 0, none}, {"empty", DF_BOOL, 1, none}};
static const df_model_tables tables = {3, 0, variables, NULL, "baseline", NULL};
static const char *path;

static void write_file(const void *data, size_t n)
{
    FILE *file = fopen(path, "wb");
    CHECK(file && fwrite(data, 1, n, file) == n);
    fclose(file);
}

static size_t read_file(unsigned char *data, size_t capacity)
{
    FILE *file = fopen(path, "rb");
    CHECK(file);
    const size_t n = fread(data, 1, capacity, file);
    fclose(file);
    return n;
}

/* Loads a file with a header and some bytes. */
static int load(df_model *m, const char *header, size_t n_data)
{
    static unsigned char file[4096];
    const size_t n = strlen(header);
    memset(file, 0, sizeof file);
    file[0] = (unsigned char)n;
    file[1] = (unsigned char)(n >> 8);
    memcpy(file + 8, header, n);
    write_file(file, 8 + n + n_data);
    return df_model_load(m, path);
}

static void set_all(df_model *m, float x)
{
    const float w[6] = {x, 2, 3, 4, 5, 6};
    const int64_t b = 7;
    CHECK(!df_model_set(m, "w", w, sizeof w));
    CHECK(!df_model_set(m, variables[1].name, &b, sizeof b));
    CHECK(!df_model_set(m, "empty", NULL, 0));
}

static float first(df_model *m)
{
    float w[6] = {0};
    CHECK(!df_model_get(m, "w", w, sizeof w));
    return w[0];
}

static void test_values(void)
{
    df_model *m = df_model_new(&tables);
    float w[6];
    CHECK(m);
    CHECK(df_model_get(m, "w", w, sizeof w) && strstr(df_model_error(m), "no value"));
    CHECK(df_model_save(m, path) && strstr(df_model_error(m), "no value"));
    CHECK(df_model_set(m, "w", w, 4) && strstr(df_model_error(m), "24 bytes, got 4"));
    CHECK(df_model_set(m, "v", w, 4) && strstr(df_model_error(m), "no variable v"));
    CHECK(df_model_load(m, "/nowhere/at/all") && strstr(df_model_error(m), "cannot be read"));
    set_all(m, 1);
    CHECK(df_model_save(m, "/nowhere/at/all") && strstr(df_model_error(m), "cannot be written"));
    CHECK(!df_model_save(m, path));
    set_all(m, 9);
    CHECK(!df_model_load(m, path) && first(m) == 1);
    df_model_free(m);
    CHECK(strcmp(df_model_error(NULL), "no memory") == 0 && df_model_load(NULL, path));
}

static void test_headers(void)
{
    static const char rest[] = ",\"empty\":{\"dtype\":\"BOOL\",\"shape\":[0],\"data_offsets\":[0,0]},"
                               "\"b \\\"\\\\ \\u00e9\":{\"dtype\":\"I64\",\"shape\":[],"
                               "\"data_offsets\":[24,32]}}";
    static const struct {
        const char *w, *want; /* NULL: valid */
    } cases[] = {
        {"{\"w\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]}", NULL},
        {" { \"__metadata__\" : {\"a\":[1,{\"b\":null}]} , \"w\":{\"shape\":[2,3],\"more\":-1.5e3,"
         "\"data_offsets\":[8,32],\"dtype\":\"F32\"}", NULL},
        {"{\"w\":{\"dtype\":\"F64\",\"shape\":[2,3],\"data_offsets\":[0,24]}", "is F64 (2, 3)"},
        {"{\"w\":{\"dtype\":\"F32\",\"shape\":[3,2],\"data_offsets\":[0,24]}", "is F32 (3, 2)"},
        {"{\"w\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,20]}", "bytes 0 to 20"},
        {"{\"w\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[16,40]}", "bytes 16 to 40"},
        {"{\"w\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[24,0]}", "truncated"},
        {"{\"w\":{\"dtype\":\"F32\",\"shape\":[2,99999999999999999999],\"data_offsets\":[0,24]}",
         "truncated"},
        {"{\"v\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]}", "w is missing"},
        {"{\"w\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", "truncated"},
        {"{\"w\\ud800\":{}", "truncated"}, {"{\"w", "truncated"}, {"[", "truncated"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char header[1024];
        df_model *m = df_model_new(&tables);
        set_all(m, 9);
        snprintf(header, sizeof header, "%s%s", cases[i].w, rest);
        const int failed = load(m, header, 32);
        if (!cases[i].want) CHECK(!failed && first(m) == 0);
        else CHECK(failed && strstr(df_model_error(m), cases[i].want) && first(m) == 9);
        df_model_free(m);
    }
}

/* Every truncation of a file, and every changed byte: the file is loaded or rejected without a
 * crash. */
static void test_damage(void)
{
    unsigned char file[1024], damaged[1024];
    df_model *m = df_model_new(&tables);
    set_all(m, 1);
    CHECK(!df_model_save(m, path));
    const size_t n = read_file(file, sizeof file);
    for (size_t length = 0; length < n; length++) {
        write_file(file, length);
        CHECK(df_model_load(m, path) && df_model_error(m)[0]);
    }
    for (size_t at = 0; at < n; at++)
        for (int change = 1; change < 256; change *= 2) {
            memcpy(damaged, file, n);
            damaged[at] ^= (unsigned char)change;
            write_file(damaged, n);
            CHECK(!df_model_load(m, path) || df_model_error(m)[0]);
        }
    df_model_free(m);
}

int main(void)
{
    char name[] = "/tmp/df_weights_XXXXXX";
    const int handle = mkstemp(name);
    CHECK(handle >= 0);
    path = name;
    test_values();
    test_headers();
    test_damage();
    remove(name);
    return 0;
}
