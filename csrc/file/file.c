/* Program files: header and sections, and the order in which they are read. */
#include "file/reading.h"

#include "op/registry.h"

#include <stdlib.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "program files are little-endian and are read without conversion"
#endif

#define MAGIC "dualflow"
#define ORDER UINT32_C(0x01020304)
#define OTHER_ORDER UINT32_C(0x04030201)

typedef struct {
    char magic[8];
    uint32_t order, version;
    uint64_t bytes, zero;
    struct {
        uint64_t offset, bytes;
    } sections[N_SECTIONS];
} header;

static const char *const names[N_SECTIONS] = {"strings", "programs", "constants", "structure",
                                              "weights"};

static void check_sections(df_reading *r, const header *h, int64_t bytes)
{
    int64_t end = sizeof *h;
    for (int k = 0; k < N_SECTIONS && r->status == DF_OK; k++) {
        const uint64_t offset = h->sections[k].offset, n = h->sections[k].bytes;
        if (offset % DF_ALIGNMENT || offset < (uint64_t)end || offset > (uint64_t)bytes ||
            n > (uint64_t)bytes - offset) {
            df_reading_fail(r, DF_INVALID_ARGUMENT, "the section of %s begins at byte %llu and has "
                            "%llu bytes, expected a range between bytes %lld and %lld",
                            names[k], (unsigned long long)offset, (unsigned long long)n,
                            (long long)end, (long long)bytes);
            return;
        }
        r->sections[k].offset = (int64_t)offset;
        r->sections[k].bytes = (int64_t)n;
        end = (int64_t)(offset + n);
    }
    if (r->status == DF_OK && r->sections[WORDS].bytes % 8)
        df_reading_fail(r, DF_INVALID_ARGUMENT, "the section of programs has %lld bytes, expected "
                        "a multiple of 8", (long long)r->sections[WORDS].bytes);
}

static void check_header(df_reading *r, const header *h, size_t got, int64_t bytes)
{
    if (got < sizeof h->magic || memcmp(h->magic, MAGIC, sizeof h->magic))
        df_reading_fail(r, DF_INVALID_ARGUMENT, "is not a program file: it does not begin with "
                        "\"" MAGIC "\"");
    else if (got < sizeof *h)
        df_reading_fail(r, DF_INVALID_ARGUMENT, "is cut short: %lld bytes, and the header has %zu",
                        (long long)bytes, sizeof *h);
    else if (h->order == OTHER_ORDER)
        df_reading_fail(r, DF_INVALID_ARGUMENT, "is big-endian, expected little-endian: it was "
                        "written for another machine");
    else if (h->order != ORDER)
        df_reading_fail(r, DF_INVALID_ARGUMENT, "has byte order mark %08x, expected %08x", h->order,
                        ORDER);
    else if (h->version != DF_FILE_VERSION)
        df_reading_fail(r, DF_INVALID_ARGUMENT, "has version %u of the file format, this build "
                        "reads version %d", h->version, DF_FILE_VERSION);
    else if (h->bytes != (uint64_t)bytes)
        df_reading_fail(r, DF_INVALID_ARGUMENT, "is %s: %lld bytes, expected %llu",
                        (uint64_t)bytes < h->bytes ? "cut short" : "too long", (long long)bytes,
                        (unsigned long long)h->bytes);
    else
        check_sections(r, h, bytes);
}

/* Reads everything but the weights, which are read directly to their buffers. */
static void read_sections(df_reading *r)
{
    header h = {.bytes = 0};
    if (!(r->handle = fopen(r->path, "rb"))) {
        df_reading_fail(r, DF_INVALID_ARGUMENT, "cannot be read");
        return;
    }
    const size_t got = fread(&h, 1, sizeof h, r->handle);
    if (fseek(r->handle, 0, SEEK_END)) {
        df_reading_fail(r, DF_INVALID_ARGUMENT, "cannot be read");
        return;
    }
    const int64_t bytes = ftell(r->handle);
    check_header(r, &h, got, bytes);
    if (r->status != DF_OK) return;
    const int64_t n = r->sections[WEIGHTS].offset;
    char *block = df_reading_alloc(r, n + DF_ALIGNMENT, 1);
    if (!block) return;
    r->data = block + (-(uintptr_t)block & (DF_ALIGNMENT - 1)); /* so that constants are aligned */
    if (fseek(r->handle, 0, SEEK_SET) || fread(r->data, 1, (size_t)n, r->handle) != (size_t)n)
        df_reading_fail(r, DF_INVALID_ARGUMENT, "cannot be read");
}

/* Strings, each followed by a zero byte. */
static void read_strings(df_reading *r)
{
    if (r->status != DF_OK) return;
    const char *at = r->data + r->sections[STRINGS].offset, *end = at + r->sections[STRINGS].bytes;
    int64_t n = 0;
    for (const char *c = at; c < end; c++) n += *c == '\0';
    if ((at < end && end[-1]) || n > INT32_MAX - 1) {
        df_reading_fail(r, DF_INVALID_ARGUMENT, "the last of %lld strings is not terminated",
                        (long long)n + 1);
        return;
    }
    if (!(r->strings = df_reading_alloc(r, n, sizeof *r->strings))) return;
    for (; at < end; at += strlen(at) + 1) r->strings[r->n_strings++] = at;
}

static void read_ops(df_reading *r)
{
    r->n_ops = (int)df_take(r, "the number of ops", 0, df_registry_size());
    r->ops = df_reading_alloc(r, r->n_ops, sizeof *r->ops);
    for (int k = 0; k < r->n_ops && r->status == DF_OK; k++) {
        const char *name = df_take_string(r, "the name of an op");
        const int64_t version = df_take(r, "the version of an op", 0, INT32_MAX);
        int64_t i = 0;
        while (i < df_registry_size() && strcmp(df_registry_op(i)->name, name)) i++;
        if (r->status != DF_OK) return;
        if (i == df_registry_size())
            df_reading_fail(r, DF_UNIMPLEMENTED, "uses op %.80s, which this build does not have",
                            name);
        else if (df_registry_op(i)->version != version)
            df_reading_fail(r, DF_UNIMPLEMENTED, "uses version %lld of op %s, this build has "
                            "version %d", (long long)version, name, df_registry_op(i)->version);
        else if (df_registry_op(i)->host)
            df_reading_fail(r, DF_INVALID_ARGUMENT, "uses op %s, which calls functions of the "
                            "process that saved it", name);
        else
            r->ops[k] = i;
    }
}

static void read_variables(df_reading *r)
{
    const int n = df_take_count(r, "the number of variables");
    df_model_variable *variables = df_reading_alloc(r, n, sizeof *variables);
    int64_t left = r->sections[WEIGHTS].bytes;
    for (int k = 0; k < n && r->status == DF_OK; k++) {
        const int64_t bytes = df_take_described(r, "a variable", &variables[k]);
        if (bytes > left)
            df_reading_fail(r, DF_BAD_SHAPE, "%s and the variables before it have more bytes than "
                            "the weights", variables[k].name);
        left -= bytes;
    }
    r->tables.n_variables = n;
    r->tables.variables = variables;
}

static void read_words(df_reading *r)
{
    const char *level = "";
    if (r->status != DF_OK) return;
    r->words = r->at = (const int64_t *)(const void *)(r->data + r->sections[WORDS].offset);
    r->end = r->at + r->sections[WORDS].bytes / 8;
    df_model_entry *entry = df_reading_alloc(r, 1, sizeof *entry);
    level = df_take_string(r, "the SIMD level");
    r->tables.level = strcmp(level, df_registry_isa()) ? "another" : df_registry_isa();
    read_ops(r);
    read_variables(r);
    df_read_programs(r);
    if (r->status == DF_OK) df_read_entry(r, entry);
    if (r->status == DF_OK && r->at != r->end)
        df_reading_fail(r, DF_INVALID_ARGUMENT, "%lld unused words follow the entry",
                        (long long)(r->end - r->at));
    r->tables.n_entries = 1;
    r->tables.entries = entry;
}

static void make_model(df_reading *r)
{
    df_model *m;
    if (r->status != DF_OK) return;
    r->file.model = m = df_model_new(&r->tables);
    if (!m) {
        df_reading_fail(r, DF_OUT_OF_MEMORY, "no memory");
        return;
    }
    const df_status status = df_model_unfit(m);
    if (status != DF_OK) {
        df_reading_fail(r, status, "%s", df_model_error(m));
        return;
    }
    df_check_entry(r, r->tables.entries);
    if (r->status != DF_OK) return;
    const df_status loaded = df_model_load_part(m, r->handle, r->path, r->sections[WEIGHTS].offset,
                                                r->sections[WEIGHTS].bytes);
    if (loaded != DF_OK) r->status = df_fail(r->err, loaded, "%s", df_model_error(m));
    for (int k = 0; k < r->tables.n_variables; k++) {
        const df_model_variable *v = &r->tables.variables[k];
        if (v->dtype == DF_BOOL)
            df_reading_check_bools(r, v->name, df_model_value_of(m, k)->data,
                                   df_model_variable_bytes(v));
    }
}

df_status df_file_open(const char *path, df_file **out, df_error *err)
{
    *out = NULL;
    df_reading *r = calloc(1, sizeof *r);
    if (!r) return df_fail(err, DF_OUT_OF_MEMORY, "%.150s: no memory", path);
    r->path = path;
    r->err = err;
    if (df_registry_size() == 0) r->status = df_registry_init(err);
    if (r->status == DF_OK) read_sections(r);
    read_strings(r);
    read_words(r);
    make_model(r);
    if (r->handle) fclose(r->handle);
    r->handle = NULL;
    const df_status status = r->status;
    r->path = NULL; /* owned by the caller */
    r->err = NULL;
    if (status != DF_OK) {
        df_file_close(&r->file);
        return status;
    }
    r->file.tables = &r->tables;
    r->file.structure = r->data + r->sections[STRUCTURE].offset;
    r->file.structure_bytes = r->sections[STRUCTURE].bytes;
    *out = &r->file;
    return DF_OK;
}

void df_file_close(df_file *file)
{
    if (!file) return;
    df_reading *r = (df_reading *)(void *)file; /* its first member */
    df_model_free(file->model);
    while (r->blocks) {
        block *next = r->blocks->next;
        free(r->blocks);
        r->blocks = next;
    }
    free(r);
}
