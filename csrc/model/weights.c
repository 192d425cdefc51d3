/* Weights in the safetensors format: the length of the header, the header in JSON, the bytes of all
 * tensors. Files are not trusted: every length is checked against the rest of the file. */
#include "model/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "files hold the lowest byte of a number first, and are read as they are"
#endif

#define MAX_HEADER_BYTES ((int64_t)100 << 20) /* limit of the format */
#define MAX_DEPTH 64

static const char *const codes[DF_N_DTYPES] = {
    [DF_BOOL] = "BOOL", [DF_U8] = "U8", [DF_U16] = "U16", [DF_U32] = "U32", [DF_U64] = "U64",
    [DF_I8] = "I8", [DF_I16] = "I16", [DF_I32] = "I32", [DF_I64] = "I64", [DF_F16] = "F16",
    [DF_BF16] = "BF16", [DF_F32] = "F32", [DF_F64] = "F64", [DF_C64] = "C64",
    [DF_C128] = "F64" /* the format has no complex128: pairs are the last dimension */};

/* Writes the shape of a variable in a file; returns the number of dimensions. */
static int stored_shape(const df_model_variable *v, int64_t *shape)
{
    for (int d = 0; d < v->ndim; d++) shape[d] = v->shape[d];
    if (v->dtype != DF_C128) return v->ndim;
    shape[v->ndim] = 2;
    return v->ndim + 1;
}

/* --- JSON -------------------------------------------------------------------------------------*/

typedef struct {
    char *at, *end; /* rest of the header; strings are decoded in place */
} reader;

static void skip_space(reader *r)
{
    while (r->at < r->end && strchr(" \t\r\n", *r->at) && *r->at) r->at++;
}

/* Consumes `c` if it is next. */
static bool take(reader *r, char c)
{
    skip_space(r);
    if (r->at == r->end || *r->at != c) return false;
    r->at++;
    return true;
}

static bool take_hex(reader *r, unsigned *code)
{
    *code = 0;
    if (r->end - r->at < 4) return false;
    for (int i = 0; i < 4; i++) {
        const char c = *r->at++;
        const int digit = c >= '0' && c <= '9'   ? c - '0'
                          : c >= 'a' && c <= 'f' ? c - 'a' + 10
                          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                 : -1;
        if (digit < 0) return false;
        *code = *code * 16 + (unsigned)digit;
    }
    return true;
}

/* Writes a character as UTF-8, which is never longer than its escape. */
static char *put_utf8(char *to, unsigned c)
{
    if (c < 0x80) {
        *to++ = (char)c;
    } else if (c < 0x800) {
        *to++ = (char)(0xc0 | c >> 6);
        *to++ = (char)(0x80 | (c & 63));
    } else if (c < 0x10000) {
        *to++ = (char)(0xe0 | c >> 12);
        *to++ = (char)(0x80 | (c >> 6 & 63));
        *to++ = (char)(0x80 | (c & 63));
    } else {
        *to++ = (char)(0xf0 | c >> 18);
        *to++ = (char)(0x80 | (c >> 12 & 63));
        *to++ = (char)(0x80 | (c >> 6 & 63));
        *to++ = (char)(0x80 | (c & 63));
    }
    return to;
}

static bool take_escape(reader *r, char **to)
{
    static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    unsigned c, low;
    if (r->at == r->end) return false;
    const char kind = *r->at++;
    const char *known = kind ? strchr(letters, kind) : NULL;
    if (known) {
        *(*to)++ = meant[known - letters];
        return true;
    }
    if (kind != 'u' || !take_hex(r, &c)) return false;
    if (c >= 0xd800 && c < 0xdc00) { /* the first half of a surrogate pair */
        if (r->end - r->at < 6 || *r->at++ != '\\' || *r->at++ != 'u' || !take_hex(r, &low) ||
            low < 0xdc00 || low > 0xdfff)
            return false;
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
    }
    *to = put_utf8(*to, c);
    return c != 0;
}

/* Reads a string and terminates it in place, at the position of its closing quote or before. */
static bool take_string(reader *r, const char **text)
{
    if (!take(r, '"')) return false;
    char *to = r->at;
    *text = to;
    while (r->at < r->end && *r->at != '"') {
        if (*r->at == '\0') return false;
        if (*r->at != '\\') *to++ = *r->at++;
        else if (r->at++, !take_escape(r, &to)) return false;
    }
    if (r->at == r->end) return false;
    r->at++;
    *to = '\0';
    return true;
}

/* Reads a non-negative integer. */
static bool take_count(reader *r, int64_t *n)
{
    skip_space(r);
    if (r->at == r->end || *r->at < '0' || *r->at > '9') return false;
    for (*n = 0; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++)
        if (!df_mul_size(*n, 10, n) || !df_add_size(*n, *r->at - '0', n)) return false;
    return true;
}

/* Reads a list of at most `most` integers. */
static bool take_counts(reader *r, int most, int64_t *list, int *n)
{
    *n = 0;
    if (!take(r, '[')) return false;
    if (take(r, ']')) return true;
    do {
        if (*n == most || !take_count(r, &list[(*n)++])) return false;
    } while (take(r, ','));
    return take(r, ']');
}

/* Skips any value. */
static bool skip_value(reader *r)
{
    const char *text;
    int depth = 0;
    do {
        skip_space(r);
        if (r->at == r->end) return false;
        const char c = *r->at;
        if (c == '"') {
            if (!take_string(r, &text)) return false;
            continue;
        }
        r->at++;
        if (c == '{' || c == '[') depth++;
        if (c == '}' || c == ']') depth--;
        if (depth < 0 || depth > MAX_DEPTH) return false;
        if (depth == 0 && c != '}' && c != ']') /* a number or a literal */
            while (r->at < r->end && !strchr(",}] \t\r\n", *r->at)) r->at++;
    } while (depth);
    return true;
}

/* --- loading ----------------------------------------------------------------------------------*/

/* Description of a tensor in the header. */
typedef struct {
    const char *dtype;
    int64_t shape[DF_MAX_NDIM], offsets[2];
    int ndim;
} entry;

typedef struct {
    FILE *file;
    const char *path;
    int64_t at, bytes; /* the range of the file to read */
    char *header;
    int64_t header_bytes, data_bytes;
    int64_t *starts; /* by variable: offset of its data; -1: not found */
    const df_model_variable **sorted; /* variables by name */
} loading;

enum { DTYPE, SHAPE, OFFSETS, N_FIELDS };
static const char *const fields[N_FIELDS] = {"dtype", "shape", "data_offsets"};

static bool take_field(reader *r, const char *key, entry *e, int *n_offsets)
{
    int field = 0;
    while (field < N_FIELDS && strcmp(key, fields[field])) field++;
    if (field == DTYPE) return take_string(r, &e->dtype);
    if (field == SHAPE) return take_counts(r, DF_MAX_NDIM, e->shape, &e->ndim);
    if (field == OFFSETS) return take_counts(r, 2, e->offsets, n_offsets);
    return skip_value(r);
}

static bool take_entry(reader *r, entry *e)
{
    int n_offsets = 0;
    const char *key;
    *e = (entry){.ndim = -1};
    if (!take(r, '{')) return false;
    if (take(r, '}')) return false;
    do {
        if (!take_string(r, &key) || !take(r, ':') || !take_field(r, key, e, &n_offsets))
            return false;
    } while (take(r, ','));
    return take(r, '}') && e->dtype && e->ndim >= 0 && n_offsets == 2 &&
           e->offsets[0] <= e->offsets[1];
}

static int by_name(const void *a, const void *b)
{
    const df_model_variable *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

/* Checks a tensor of the file against the variable of that name, if there is one. */
static df_status match(const df_model *m, loading *l, const char *name, const entry *e,
                       df_error *err)
{
    const df_model_variable wanted = {.name = name}, *key = &wanted, *const *found;
    const df_model_variable *v;
    found = bsearch(&key, l->sorted, (size_t)m->tables->n_variables, sizeof *l->sorted, by_name);
    if (!found) return DF_OK;
    v = *found;
    const int64_t i = v - m->tables->variables;
    int64_t shape[DF_MAX_NDIM + 1];
    const int ndim = stored_shape(v, shape);
    if (strcmp(codes[v->dtype], e->dtype) || ndim != e->ndim ||
        !df_same_dims(ndim, shape, e->shape))
        return df_fail(err, DF_BAD_SHAPE, "%s: %s is %s %s, expected %s %s", l->path, name,
                       e->dtype, df_shape_text(e->ndim, e->shape).text, codes[v->dtype],
                       df_shape_text(ndim, shape).text);
    if (e->offsets[1] - e->offsets[0] != m->values[i].bytes || e->offsets[1] > l->data_bytes)
        return df_fail(err, DF_INVALID_ARGUMENT, "%s: %s is at bytes %lld to %lld of %lld, "
                       "expected %lld bytes", l->path, name, (long long)e->offsets[0],
                       (long long)e->offsets[1], (long long)l->data_bytes,
                       (long long)m->values[i].bytes);
    l->starts[i] = e->offsets[0];
    return DF_OK;
}

static df_status damaged(const loading *l, df_error *err)
{
    return df_fail(err, DF_INVALID_ARGUMENT, "%s: not a safetensors file, or truncated", l->path);
}

static df_status read_header(const df_model *m, loading *l, df_error *err)
{
    reader r = {l->header, l->header + l->header_bytes};
    const char *name;
    entry e;
    if (!take(&r, '{')) return damaged(l, err);
    if (!take(&r, '}')) {
        do {
            if (!take_string(&r, &name) || !take(&r, ':')) return damaged(l, err);
            if (strcmp(name, "__metadata__") ? !take_entry(&r, &e) : !skip_value(&r))
                return damaged(l, err);
            df_status status = strcmp(name, "__metadata__") ? match(m, l, name, &e, err) : DF_OK;
            if (status != DF_OK) return status;
        } while (take(&r, ','));
        if (!take(&r, '}')) return damaged(l, err);
    }
    for (int i = 0; i < m->tables->n_variables; i++)
        if (l->starts[i] < 0)
            return df_fail(err, DF_INVALID_ARGUMENT, "%s: variable %s is missing", l->path,
                           m->tables->variables[i].name);
    return DF_OK;
}

/* Reads the header and sets the number of bytes that follow it. */
static df_status open_file(loading *l, df_error *err)
{
    unsigned char length[8];
    uint64_t bytes = 0;
    if (l->bytes < 8 || fseek(l->file, (long)l->at, SEEK_SET) || fread(length, 1, 8, l->file) != 8)
        return damaged(l, err);
    for (int i = 0; i < 8; i++) bytes |= (uint64_t)length[i] << 8 * i;
    if (bytes > (uint64_t)MAX_HEADER_BYTES || bytes > (uint64_t)l->bytes - 8)
        return damaged(l, err);
    l->header_bytes = (int64_t)bytes;
    l->data_bytes = l->bytes - 8 - l->header_bytes;
    l->header = malloc((size_t)bytes + 1);
    if (!l->header) return df_fail(err, DF_OUT_OF_MEMORY, "%s: no memory", l->path);
    if (fread(l->header, 1, (size_t)bytes, l->file) != (size_t)bytes) return damaged(l, err);
    return DF_OK;
}

static df_status read_values(df_model *m, const loading *l, df_error *err)
{
    for (int i = 0; i < m->tables->n_variables; i++) {
        df_model_value *v = &m->values[i];
        if (fseek(l->file, (long)(l->at + 8 + l->header_bytes + l->starts[i]), SEEK_SET) ||
            fread(v->data, 1, (size_t)v->bytes, l->file) != (size_t)v->bytes)
            return damaged(l, err);
        v->is_set = true;
        v->version++;
    }
    return DF_OK;
}

static df_status sort_variables(const df_model *m, loading *l, df_error *err)
{
    const size_t n = (size_t)m->tables->n_variables;
    l->starts = malloc((n + 1) * sizeof *l->starts);
    l->sorted = malloc((n + 1) * sizeof *l->sorted);
    if (!l->starts || !l->sorted) return df_fail(err, DF_OUT_OF_MEMORY, "%s: no memory", l->path);
    for (size_t i = 0; i < n; i++) {
        l->starts[i] = -1;
        l->sorted[i] = &m->tables->variables[i];
    }
    qsort(l->sorted, n, sizeof *l->sorted, by_name);
    return DF_OK;
}

int df_model_load_part(df_model *m, FILE *file, const char *path, int64_t at, int64_t bytes)
{
    loading l = {.path = path, .file = file, .at = at, .bytes = bytes};
    df_status status = sort_variables(m, &l, &m->error);
    if (status == DF_OK) status = open_file(&l, &m->error);
    if (status == DF_OK) status = read_header(m, &l, &m->error);
    if (status == DF_OK) status = read_values(m, &l, &m->error);
    free(l.header);
    free(l.starts);
    free(l.sorted);
    return (int)status;
}

int df_model_load(df_model *m, const char *path)
{
    if (!m) return DF_OUT_OF_MEMORY;
    if (m->unfit) return (int)m->unfit;
    FILE *file = fopen(path, "rb");
    if (!file)
        return (int)df_fail(&m->error, DF_INVALID_ARGUMENT, "%s cannot be read", path);
    const int64_t bytes = fseek(file, 0, SEEK_END) ? 0 : (int64_t)ftell(file);
    const int status = df_model_load_part(m, file, path, 0, bytes);
    fclose(file);
    return status;
}

/* --- saving -----------------------------------------------------------------------------------*/

/* A growing string; `data` is NULL after an allocation failed. */
typedef struct {
    char *data;
    size_t n, capacity;
} text;

static void append(text *t, const char *more, size_t n)
{
    if (!t->data) return;
    if (t->n + n > t->capacity) {
        t->capacity = 2 * (t->n + n);
        char *larger = realloc(t->data, t->capacity);
        if (!larger) free(t->data);
        t->data = larger;
        if (!larger) return;
    }
    memcpy(t->data + t->n, more, n);
    t->n += n;
}

static void append_text(text *t, const char *more) { append(t, more, strlen(more)); }

static void append_string(text *t, const char *s)
{
    char code[8];
    append_text(t, "\"");
    for (; *s; s++) {
        const bool plain = (unsigned char)*s >= 0x20 && *s != '"' && *s != '\\';
        if (!plain) snprintf(code, sizeof code, "\\u%04x", (unsigned char)*s);
        if (plain) append(t, s, 1);
        else append_text(t, code);
    }
    append_text(t, "\"");
}

static void append_entry(text *t, const df_model_variable *v, int64_t start, int64_t end)
{
    char number[64];
    int64_t shape[DF_MAX_NDIM + 1];
    const int ndim = stored_shape(v, shape);
    append_string(t, v->name);
    append_text(t, ":{\"dtype\":\"");
    append_text(t, codes[v->dtype]);
    append_text(t, "\",\"shape\":[");
    for (int d = 0; d < ndim; d++) {
        snprintf(number, sizeof number, "%s%lld", d ? "," : "", (long long)shape[d]);
        append_text(t, number);
    }
    snprintf(number, sizeof number, "],\"data_offsets\":[%lld,%lld]}", (long long)start,
             (long long)end);
    append_text(t, number);
}

static text header_of(const df_model *m)
{
    text t = {.data = malloc(256), .capacity = 256};
    int64_t at = 0;
    append_text(&t, "{");
    for (int i = 0; i < m->tables->n_variables; i++) {
        if (i) append_text(&t, ",");
        append_entry(&t, &m->tables->variables[i], at, at + m->values[i].bytes);
        at += m->values[i].bytes;
    }
    append_text(&t, "}");
    while (t.data && t.n % 8) append_text(&t, " "); /* aligns the data that follow */
    return t;
}

static bool write_all(const df_model *m, const text *header, FILE *file)
{
    unsigned char length[8];
    for (int i = 0; i < 8; i++) length[i] = (unsigned char)((uint64_t)header->n >> 8 * i);
    bool good = fwrite(length, 1, 8, file) == 8;
    good = good && fwrite(header->data, 1, header->n, file) == header->n;
    for (int i = 0; i < m->tables->n_variables && good; i++) {
        const df_model_value *v = &m->values[i];
        good = fwrite(v->data, 1, (size_t)v->bytes, file) == (size_t)v->bytes;
    }
    return good;
}

static df_status write_file(df_model *m, const char *path, const char *beside, const text *header)
{
    FILE *file = fopen(beside, "wb");
    if (!file) return df_fail(&m->error, DF_INVALID_ARGUMENT, "%s cannot be written", path);
    bool good = write_all(m, header, file);
    good = fclose(file) == 0 && good;
    if (good && rename(beside, path) == 0) return DF_OK;
    remove(beside);
    return df_fail(&m->error, DF_INVALID_ARGUMENT, "%s cannot be written", path);
}

int df_model_save(df_model *m, const char *path)
{
    static const char suffix[] = ".part";
    if (!m) return DF_OUT_OF_MEMORY;
    if (m->unfit) return (int)m->unfit;
    for (int i = 0; i < m->tables->n_variables; i++)
        if (!m->values[i].is_set)
            return (int)df_fail(&m->error, DF_INVALID_ARGUMENT, "%s has no value",
                                m->tables->variables[i].name);
    text header = header_of(m);
    char *beside = malloc(strlen(path) + sizeof suffix);
    df_status status = DF_OUT_OF_MEMORY;
    if (header.data && beside) {
        memcpy(beside, path, strlen(path));
        memcpy(beside + strlen(path), suffix, sizeof suffix);
        status = write_file(m, path, beside, &header);
    } else {
        df_fail(&m->error, status, "no memory");
    }
    free(header.data);
    free(beside);
    return (int)status;
}
