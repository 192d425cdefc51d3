/* The entry of a file: the sources of the arguments of its program, and the returned values. Checks
 * everything that df_model_run relies on and df_program_new cannot check. */
#include "file/reading.h"

#include <string.h>

enum { KEY_BYTES = 2 * sizeof(int64_t) };

static const df_model_variable *read_values(df_reading *r, const char *what, int *n)
{
    *n = df_take_count(r, what);
    df_model_variable *values = df_reading_alloc(r, *n, sizeof *values);
    for (int k = 0; k < *n && r->status == DF_OK; k++) df_take_described(r, what, &values[k]);
    return values;
}

static const df_model_program *take_program(df_reading *r)
{
    const int64_t k = df_take(r, "the program of the entry", 0, r->n_programs - 1);
    if (r->status != DF_OK) return NULL;
    if (r->owned[k] || r->programs[k].returned)
        df_reading_fail(r, DF_INVALID_ARGUMENT, "program %lld is a body, or runs twice",
                        (long long)k);
    r->owned[k] = true;
    return &r->programs[k];
}

static const df_model_source *read_sources(df_reading *r, int n)
{
    df_model_source *sources = df_reading_alloc(r, n, sizeof *sources);
    for (int k = 0; k < n && r->status == DF_OK; k++) {
        df_model_source *s = &sources[k];
        s->origin = (df_model_origin)df_take(r, "the origin of an argument", DF_FROM_CALL,
                                             DF_FROM_CONSTANT);
        s->index = (int)df_take(r, "the source of an argument", 0, INT32_MAX);
        if (s->origin != DF_FROM_CONSTANT) continue;
        s->bytes = df_take(r, "the bytes of an argument", 0, INT64_MAX);
        s->data = df_take_constant(r, "an argument", s->bytes);
    }
    return sources;
}

static const df_model_return *read_returns(df_reading *r, int n)
{
    df_model_return *returns = df_reading_alloc(r, n, sizeof *returns);
    for (int k = 0; k < n && r->status == DF_OK; k++) {
        df_model_return *x = &returns[k];
        x->kind = (df_slot_kind)df_take(r, "the kind of a result", DF_SLOT_CONSTANT,
                                        DF_SLOT_DYNAMIC);
        x->index = (int)df_take(r, "the number of a result", 0, INT32_MAX);
        x->bytes = df_take(r, "the bytes of a result", 0, INT64_MAX);
        if (x->kind == DF_SLOT_CONSTANT) x->data = df_take_constant(r, "a result", x->bytes);
    }
    return returns;
}

/* The cached part has no inputs and no names; it follows the entry that uses it. */
static void read_cached(df_reading *r, df_model_entry *e)
{
    if (!df_take(r, "whether values are cached", 0, 1)) return;
    df_model_entry *cached = df_reading_alloc(r, 1, sizeof *cached);
    const df_model_program *p = take_program(r);
    if (!cached || !p) return;
    *cached = (df_model_entry){.name = "the cached part", .program = p};
    cached->sources = read_sources(r, p->n_args);
    cached->n_out = df_take_count(r, "the number of cached values");
    cached->returns = read_returns(r, cached->n_out);
    e->cached = cached;
}

void df_read_entry(df_reading *r, df_model_entry *e)
{
    e->name = df_take_string(r, "the name of the entry");
    e->program = take_program(r);
    if (!e->program) return;
    r->file.inputs = read_values(r, "an input", &r->file.n_in);
    e->n_in = r->file.n_in;
    e->sources = read_sources(r, e->program->n_args);
    r->file.outputs = read_values(r, "an output", &r->file.n_out);
    e->n_out = r->file.n_out;
    e->returns = read_returns(r, e->n_out);
    read_cached(r, e);
    for (int k = 0; k < r->n_programs && r->status == DF_OK; k++)
        if (!r->owned[k]) df_reading_fail(r, DF_INVALID_ARGUMENT, "program %d is never run", k);
}

/* --- checks -----------------------------------------------------------------------------------*/

/* The number of sources of an origin. */
static int count_sources(const df_reading *r, const df_model_entry *e, df_model_origin origin)
{
    switch (origin) {
    case DF_FROM_CALL: return e->n_in;
    case DF_FROM_VARIABLE:
    case DF_FROM_WRITTEN:
    case DF_FROM_KEY: return r->tables.n_variables;
    case DF_FROM_CACHED: return e->cached ? e->cached->n_out : 0;
    default: return INT32_MAX;
    }
}

/* Bytes of argument k, whose source exists. */
static int64_t source_bytes(const df_reading *r, const df_model_entry *e, int k)
{
    const df_model_source *s = &e->sources[k];
    switch (s->origin) {
    case DF_FROM_CALL: return df_model_variable_bytes(&r->file.inputs[s->index]);
    case DF_FROM_VARIABLE:
    case DF_FROM_WRITTEN: return df_model_variable_bytes(&r->tables.variables[s->index]);
    case DF_FROM_KEY: return KEY_BYTES;
    case DF_FROM_CACHED: return e->cached->returns[s->index].bytes;
    default: return s->bytes;
    }
}

static bool is_state(const df_model_variable *v)
{
    return v->dtype == DF_I64 && v->ndim == 1 && v->shape[0] == 2;
}

static void check_source(df_reading *r, const df_model_entry *e, const df_program *p, int k)
{
    const df_model_source *s = &e->sources[k];
    if (s->index >= count_sources(r, e, s->origin))
        df_reading_fail(r, DF_INVALID_ARGUMENT, "argument %d of the program has source %d of "
                        "%d", k, s->index, count_sources(r, e, s->origin));
    else if (s->origin == DF_FROM_KEY && !is_state(&r->tables.variables[s->index]))
        df_reading_fail(r, DF_BAD_SHAPE, "argument %d of the program is a key of %s, which is "
                        "not int64 (2,)", k, r->tables.variables[s->index].name);
    else if (df_program_writes(p, k) && s->origin != DF_FROM_WRITTEN)
        df_reading_fail(r, DF_INVALID_ARGUMENT, "argument %d of the program is written, but is "
                        "not a variable to be written", k);
    else if (df_program_reach(p, k) < 0 || df_program_reach(p, k) > source_bytes(r, e, k))
        df_reading_fail(r, DF_BAD_SHAPE, "argument %d of the program has %lld bytes, expected "
                        "%lld", k, (long long)source_bytes(r, e, k),
                        (long long)df_program_reach(p, k));
}

/* Checks that no variable is two arguments, as a written argument must not alias another. */
static void check_apart(df_reading *r, const df_model_entry *e)
{
    const int n = r->tables.n_variables;
    uint8_t *uses = df_reading_alloc(r, n, 1);
    for (int k = 0; k < e->program->n_args && r->status == DF_OK; k++) {
        const df_model_source *s = &e->sources[k];
        if (s->origin != DF_FROM_VARIABLE && s->origin != DF_FROM_WRITTEN) continue;
        if (uses[s->index])
            df_reading_fail(r, DF_INVALID_ARGUMENT, "variable %s is passed as two arguments",
                            r->tables.variables[s->index].name);
        uses[s->index] = 1;
    }
}

static int64_t slot_bytes(const df_slot *s)
{
    int64_t n = df_dtypes[s->dtype].bytes; /* was checked for overflow */
    for (int d = 0; d < s->ndim; d++) n *= s->shape[d];
    return n;
}

static bool is_returned(const df_reading *r, const df_model_entry *e, const df_model_return *x)
{
    const df_model_program *p = e->program;
    if (x->kind == DF_SLOT_CONSTANT) return x->data != NULL;
    if (x->kind == DF_SLOT_ARG)
        return x->index < p->n_args && x->bytes <= source_bytes(r, e, x->index);
    if (x->kind == DF_SLOT_RESULT) return x->index < p->n_results;
    if (x->index >= p->n_slots) return false;
    const df_slot *s = &p->slots[x->index];
    for (int d = 0; d < s->ndim; d++)
        if (s->shape[d] < 0) return false; /* the caller provides memory before the run */
    return s->kind == DF_SLOT_DYNAMIC && s->last_use == p->n_instructions &&
           slot_bytes(s) == x->bytes;
}

/* Checks that all results of the program are returned, with sizes that its slots fit and fill. */
static void check_returns(df_reading *r, const df_model_entry *e)
{
    const df_model_program *p = e->program;
    int64_t *bytes = df_reading_alloc(r, p->n_results, sizeof *bytes);
    int64_t *made = df_reading_alloc(r, p->n_results, sizeof *made);
    for (int k = 0; k < p->n_results && made; k++) bytes[k] = -1;
    for (int k = 0; k < e->n_out && r->status == DF_OK; k++) {
        const df_model_return *x = &e->returns[k];
        if (!is_returned(r, e, x))
            df_reading_fail(r, DF_INVALID_ARGUMENT, "output %d has kind %d and index %d, which "
                            "cannot be returned", k, x->index, (int)x->kind);
        else if (x->kind == DF_SLOT_RESULT && bytes[x->index] >= 0 && bytes[x->index] != x->bytes)
            df_reading_fail(r, DF_INVALID_ARGUMENT, "result %d has two sizes", x->index);
        else if (x->kind == DF_SLOT_RESULT)
            bytes[x->index] = x->bytes;
    }
    for (int k = 0; k < p->n_results && r->status == DF_OK; k++)
        if (bytes[k] < 0)
            df_reading_fail(r, DF_INVALID_ARGUMENT, "result %d of the program is not returned", k);
    for (int k = 0; k < p->n_slots && r->status == DF_OK; k++) {
        const df_slot *s = &p->slots[k];
        if (s->kind == DF_SLOT_RESULT && s->offset + slot_bytes(s) > bytes[s->index])
            df_reading_fail(r, DF_BAD_SHAPE, "slot %d reaches beyond the %lld bytes of result %d",
                            k, (long long)bytes[s->index], s->index);
        else if (s->kind == DF_SLOT_RESULT)
            made[s->index] = df_max(made[s->index], s->offset + slot_bytes(s));
    }
    for (int k = 0; k < p->n_results && r->status == DF_OK; k++)
        if (made[k] < bytes[k])
            df_reading_fail(r, DF_BAD_SHAPE, "result %d has %lld bytes, but the program writes "
                            "%lld", k, (long long)bytes[k], (long long)made[k]);
}

static void check_program(df_reading *r, const df_model_entry *e, const df_program *p)
{
    for (int k = 0; k < e->program->n_args && r->status == DF_OK; k++) check_source(r, e, p, k);
    check_apart(r, e);
    check_returns(r, e);
}

/* Checks that cached values are computed from variables that the program reads, and that each
 * result is returned. */
static void check_cached(df_reading *r, const df_model_entry *e, const df_model_entry *cached)
{
    uint8_t *reads = df_reading_alloc(r, r->tables.n_variables, 1);
    int n_results = 0;
    for (int k = 0; k < e->program->n_args && reads; k++)
        if (e->sources[k].origin == DF_FROM_VARIABLE) reads[e->sources[k].index] = 1;
    for (int k = 0; k < cached->program->n_args && r->status == DF_OK; k++)
        if (cached->sources[k].origin != DF_FROM_VARIABLE || !reads[cached->sources[k].index])
            df_reading_fail(r, DF_INVALID_ARGUMENT, "cached values depend on something else "
                            "than variables that the program reads");
    for (int k = 0; k < cached->n_out; k++) n_results += cached->returns[k].kind == DF_SLOT_RESULT;
    if (n_results != cached->program->n_results)
        df_reading_fail(r, DF_INVALID_ARGUMENT, "%d of %d cached results are returned", n_results,
                        cached->program->n_results);
}

void df_check_entry(df_reading *r, const df_model_entry *e)
{
    check_program(r, e, df_model_program_of(r->file.model, 0, false));
    for (int k = 0; k < e->n_out && r->status == DF_OK; k++)
        if (e->returns[k].bytes != df_model_variable_bytes(&r->file.outputs[k]))
            df_reading_fail(r, DF_BAD_SHAPE, "output %s has %lld bytes, the program returns %lld",
                            r->file.outputs[k].name,
                            (long long)df_model_variable_bytes(&r->file.outputs[k]),
                            (long long)e->returns[k].bytes);
    for (int k = 0; k < e->n_out && r->status == DF_OK; k++)
        if (e->returns[k].kind == DF_SLOT_CONSTANT && r->file.outputs[k].dtype == DF_BOOL)
            df_reading_check_bools(r, r->file.outputs[k].name, e->returns[k].data,
                                   e->returns[k].bytes);
    if (!e->cached || r->status != DF_OK) return;
    check_program(r, e->cached, df_model_program_of(r->file.model, 0, true));
    check_cached(r, e, e->cached);
}
