/* Models: builds the programs of entries from tables and runs them; values of variables. */
#include "model/state.h"

#include "op/registry.h"

#include <stdlib.h>
#include <string.h>

/* --- building ---------------------------------------------------------------------------------*/

static int count_programs(const df_model_program *t)
{
    int n = 1;
    for (int i = 0; i < t->n_instructions; i++)
        for (int b = 0; b < t->instructions[i].n_bodies; b++)
            n += count_programs(t->instructions[i].bodies[b]);
    return n;
}

static df_status build(df_model *m, const df_model_program *t, df_program **out, df_error *err);

/* Converts the instructions of a table and builds their bodies. */
static df_status convert(df_model *m, const df_model_program *t, df_instruction *to,
                         df_program **bodies, df_error *err)
{
    const bool is_planned = !strcmp(m->tables->level, df_registry_isa());
    df_status status = DF_OK;
    for (int i = 0; i < t->n_instructions; i++) {
        const df_model_instruction *in = &t->instructions[i];
        to[i] = (df_instruction){
            .op = df_registry_op(in->op), .n_in = in->n_in, .n_out = in->n_out,
            .n_attrs = in->n_attrs, .n_bodies = in->n_bodies, .in = in->slots,
            .out = in->slots + in->n_in, .attrs = in->attrs, .bodies = bodies,
            .workspace = is_planned || in->dynamic ? in->workspace : DF_WORKSPACE_APPENDED,
            .dynamic = in->dynamic, .poll = in->poll, .wave = in->wave, .cost = in->cost};
        for (int b = 0; b < in->n_bodies && status == DF_OK; b++)
            status = build(m, in->bodies[b], bodies++, err);
    }
    return status;
}

/* Switches clusters to compiled code if there is some for the current SIMD level. */
static df_status compile(const df_model *m, const df_model_program *t, df_program *p, df_error *err)
{
    const df_model_clusters *level = m->tables->clusters;
    df_status status = DF_OK;
    while (level && level->level && strcmp(level->level, df_registry_isa())) level++;
    for (int i = 0; level && level->level && i < t->n_instructions && status == DF_OK; i++) {
        const df_model_instruction *in = &t->instructions[i];
        if (in->cluster)
            status = df_program_compile(p, i, (df_ints){in->layout, in->n_layout},
                                        level->functions[in->cluster - 1], err);
    }
    return status;
}

static df_status build(df_model *m, const df_model_program *t, df_program **out, df_error *err)
{
    int failed = -1, n_bodies = 0;
    for (int i = 0; i < t->n_instructions; i++) n_bodies += t->instructions[i].n_bodies;
    df_instruction *instructions = calloc((size_t)t->n_instructions + 1, sizeof *instructions);
    df_program **bodies = calloc((size_t)n_bodies + 1, sizeof *bodies);
    df_status status = instructions && bodies ? convert(m, t, instructions, bodies, err)
                                              : df_fail(err, DF_OUT_OF_MEMORY, "no memory");
    if (status == DF_OK) {
        const df_program_parts parts = {
            .n_slots = t->n_slots, .n_instructions = t->n_instructions, .n_args = t->n_args,
            .n_results = t->n_results, .slots = t->slots, .instructions = instructions,
            .arena_bytes = t->arena_bytes, .returned = t->returned};
        status = df_program_new(&parts, out, &failed, err);
    }
    if (status == DF_OK) {
        m->programs[m->n_programs++] = *out;
        status = compile(m, t, *out, err);
    }
    free(instructions);
    free(bodies);
    return status;
}

static df_status prepare_cached(df_model *m, const df_model_entry *e, df_model_ready *r,
                                df_error *err)
{
    const size_t n_args = (size_t)e->program->n_args + 1, n_out = (size_t)e->n_out + 1;
    r->cached_args = calloc(n_args, sizeof *r->cached_args);
    r->cached_values = calloc(n_out, sizeof *r->cached_values);
    r->versions = calloc(n_args, sizeof *r->versions);
    if (!r->cached_args || !r->cached_values || !r->versions)
        return df_fail(err, DF_OUT_OF_MEMORY, "no memory");
    for (int i = 0; i < e->n_out; i++)
        if (!(r->cached_values[i] = df_buffer_new(e->returns[i].bytes)))
            return df_fail(err, DF_OUT_OF_MEMORY, "no memory for %lld bytes",
                           (long long)e->returns[i].bytes);
    return build(m, e->program, &r->cached, err);
}

static df_status make_entry(df_model *m, const df_model_entry *e, df_model_ready *r, df_error *err)
{
    r->args = calloc((size_t)e->program->n_args + 1, sizeof *r->args);
    const size_t n_cached = e->cached ? (size_t)e->cached->n_out : 0;
    r->results = calloc((size_t)e->program->n_results + n_cached + 1,
                        sizeof *r->results);
    if (!r->args || !r->results) return df_fail(err, DF_OUT_OF_MEMORY, "no memory");
    df_status status = build(m, e->program, &r->program, err);
    if (status == DF_OK && e->cached) status = prepare_cached(m, e->cached, r, err);
    return status;
}

static df_status make_value(const df_model_variable *v, df_model_value *value, df_error *err)
{
    value->bytes = df_model_variable_bytes(v);
    value->buffer = df_buffer_new(value->bytes);
    if (!value->buffer)
        return df_fail(err, DF_OUT_OF_MEMORY, "%s: no memory for %lld bytes", v->name,
                       (long long)value->bytes);
    value->data = value->buffer->data;
    return DF_OK;
}

static df_status make_all(df_model *m, df_error *err)
{
    const df_model_tables *t = m->tables;
    size_t n = 1;
    for (int i = 0; i < t->n_entries; i++) {
        n += (size_t)count_programs(t->entries[i].program);
        if (t->entries[i].cached) n += (size_t)count_programs(t->entries[i].cached->program);
    }
    m->programs = calloc(n, sizeof *m->programs);
    m->values = calloc((size_t)t->n_variables + 1, sizeof *m->values);
    m->ready = calloc((size_t)t->n_entries + 1, sizeof *m->ready);
    if (!m->programs || !m->values || !m->ready)
        return df_fail(err, DF_OUT_OF_MEMORY, "no memory");
    df_status status = df_registry_size() ? DF_OK : df_registry_init(err); /* once per process */
    for (int i = 0; i < t->n_variables && status == DF_OK; i++)
        status = make_value(&t->variables[i], &m->values[i], err);
    for (int i = 0; i < t->n_entries && status == DF_OK; i++)
        status = make_entry(m, &t->entries[i], &m->ready[i], err);
    return status;
}

df_model *df_model_new(const df_model_tables *tables)
{
    df_model *m = calloc(1, sizeof *m);
    if (!m) return NULL;
    m->tables = tables;
    m->unfit = make_all(m, &m->error);
    return m;
}

static void free_entry(const df_model_entry *e, df_model_ready *r)
{
    for (int i = 0; r->cached_values && i < e->cached->n_out; i++)
        df_buffer_release(r->cached_values[i]);
    free(r->args);
    free(r->results);
    free(r->cached_args);
    free(r->cached_values);
    free(r->versions);
}

void df_model_free(df_model *m)
{
    if (!m) return;
    for (int i = 0; m->ready && i < m->tables->n_entries; i++)
        free_entry(&m->tables->entries[i], &m->ready[i]);
    while (m->n_programs) df_program_free(m->programs[--m->n_programs]);
    for (int i = 0; m->values && i < m->tables->n_variables; i++)
        df_buffer_release(m->values[i].buffer);
    free(m->programs);
    free(m->values);
    free(m->ready);
    free(m);
}

const char *df_model_error(const df_model *m) { return m ? m->error.text : "no memory"; }

df_status df_model_unfit(const df_model *m) { return m->unfit; }

const df_program *df_model_program_of(const df_model *m, int entry, bool cached)
{
    return cached ? m->ready[entry].cached : m->ready[entry].program;
}

df_buffer *df_model_value_of(const df_model *m, int variable) { return m->values[variable].buffer; }

/* --- running ----------------------------------------------------------------------------------*/

/* Returns the next key of a generator and advances its state. */
static void draw(df_model_value *state, int64_t key[2])
{
    int64_t *counted = state->data;
    memcpy(key, counted, 2 * sizeof *key);
    counted[1] = (int64_t)((uint64_t)counted[1] + 1);
    state->version++;
}

#define MAX_KEYS 64 /* keys of one program on the stack; more are allocated */

static df_status check_set(const df_model *m, const df_model_entry *e, df_error *err)
{
    for (int i = 0; i < e->program->n_args; i++) {
        const df_model_source *s = &e->sources[i];
        if (s->origin != DF_FROM_VARIABLE && s->origin != DF_FROM_WRITTEN &&
            s->origin != DF_FROM_KEY)
            continue;
        if (!m->values[s->index].is_set)
            return df_fail(err, DF_INVALID_ARGUMENT, "%s: variable %s has no value; load or set it",
                           e->name, m->tables->variables[s->index].name);
    }
    return DF_OK;
}

static df_status check_call(const df_model *m, const df_model_entry *e, const void *const *in,
                            void *const *out, df_error *err)
{
    for (int i = 0; i < e->n_in; i++)
        if (!in[i]) return df_fail(err, DF_INVALID_ARGUMENT, "%s: input %d is NULL", e->name, i);
    for (int i = 0; i < e->n_out; i++)
        if (!out[i]) return df_fail(err, DF_INVALID_ARGUMENT, "%s: output %d is NULL", e->name, i);
    return check_set(m, e, err);
}

static df_status run(df_model *m, df_program *p, void **args, void **results, df_frame **frame,
                     df_error *err)
{
    int failed = -1;
    const df_run one = {.args = args, .results = results, .stop = &m->stop};
    *frame = df_program_enter(p);
    if (!*frame) return df_fail(err, DF_OUT_OF_MEMORY, "no memory");
    return df_program_run(p, *frame, &one, &failed, err);
}

/* Recomputes the cached values if a variable has changed. */
static df_status update_cached(df_model *m, const df_model_entry *e, df_model_ready *r,
                               df_error *err)
{
    const df_model_entry *k = e->cached;
    void **results = r->results + e->program->n_results;
    df_frame *frame;
    bool fresh = r->cached_valid;
    for (int i = 0; i < k->program->n_args; i++) {
        const df_model_value *v = &m->values[k->sources[i].index];
        fresh = fresh && r->versions[i] == v->version;
        r->versions[i] = v->version;
        r->cached_args[i] = v->data;
    }
    if (fresh) return DF_OK;
    for (int i = 0; i < k->n_out; i++)
        if (k->returns[i].kind == DF_SLOT_RESULT)
            results[k->returns[i].index] = r->cached_values[i]->data;
    df_status status = run(m, r->cached, r->cached_args, results, &frame, err);
    for (int i = 0; i < k->n_out && status == DF_OK; i++) {
        const df_model_return *x = &k->returns[i];
        const void *from = x->kind == DF_SLOT_ARG      ? r->cached_args[x->index]
                           : x->kind == DF_SLOT_DYNAMIC ? df_frame_tensor(frame, x->index)->data
                                                        : x->data;
        if (x->kind != DF_SLOT_RESULT && x->bytes)
            memcpy(r->cached_values[i]->data, from, (size_t)x->bytes);
    }
    if (frame) df_program_leave(r->cached, frame);
    r->cached_valid = status == DF_OK;
    return status;
}

static void point(df_model *m, const df_model_entry *e, df_model_ready *r, const void *const *in,
                  int64_t (*keys)[2])
{
    for (int i = 0; i < e->program->n_args; i++) {
        const df_model_source *s = &e->sources[i];
        const void *at = NULL;
        switch (s->origin) {
        case DF_FROM_CALL: at = in[s->index]; break;
        case DF_FROM_WRITTEN: m->values[s->index].version++; /* fallthrough */
        case DF_FROM_VARIABLE: at = m->values[s->index].data; break;
        case DF_FROM_KEY: draw(&m->values[s->index], *keys), at = *keys++; break;
        case DF_FROM_CACHED: at = r->cached_values[s->index]->data; break;
        case DF_FROM_CONSTANT: at = s->data; break;
        }
        r->args[i] = (void *)(intptr_t)at; /* only WRITTEN variables are written */
    }
}

/* Points each result to the first output that returns it. */
static void point_results(const df_model_entry *e, df_model_ready *r, void *const *out)
{
    for (int i = e->n_out - 1; i >= 0; i--)
        if (e->returns[i].kind == DF_SLOT_RESULT) r->results[e->returns[i].index] = out[i];
}

/* Copies the outputs that the program did not write in place. */
static void copy_outputs(const df_model_entry *e, const df_model_ready *r, df_frame *frame,
                         void *const *out)
{
    for (int i = 0; i < e->n_out; i++) {
        const df_model_return *x = &e->returns[i];
        const void *from = x->data;
        if (x->kind == DF_SLOT_RESULT) from = r->results[x->index];
        else if (x->kind == DF_SLOT_ARG) from = r->args[x->index];
        else if (x->kind == DF_SLOT_DYNAMIC) from = df_frame_tensor(frame, x->index)->data;
        if (from != out[i] && x->bytes) memcpy(out[i], from, (size_t)x->bytes);
    }
}

static df_status run_entry(df_model *m, const df_model_entry *e, df_model_ready *r,
                           const void *const *in, void *const *out, df_error *err)
{
    int64_t few[MAX_KEYS][2], (*keys)[2] = few;
    int n_keys = 0;
    df_frame *frame = NULL;
    df_status status = e->cached ? update_cached(m, e, r, err) : DF_OK;
    if (status != DF_OK) return status;
    for (int i = 0; i < e->program->n_args; i++) n_keys += e->sources[i].origin == DF_FROM_KEY;
    if (n_keys > MAX_KEYS && !(keys = malloc((size_t)n_keys * sizeof *keys)))
        return df_fail(err, DF_OUT_OF_MEMORY, "no memory");
    point(m, e, r, in, keys);
    point_results(e, r, out);
    status = run(m, r->program, r->args, r->results, &frame, err);
    if (status == DF_OK) copy_outputs(e, r, frame, out);
    if (frame) df_program_leave(r->program, frame);
    if (keys != few) free(keys);
    return status;
}

int df_model_run(df_model *m, int entry, const void *const *in, void *const *out)
{
    if (!m) return DF_OUT_OF_MEMORY;
    if (m->unfit) return (int)m->unfit;
    const df_model_entry *e = &m->tables->entries[entry];
    df_status status = check_call(m, e, in, out, &m->error);
    if (status == DF_OK) status = run_entry(m, e, &m->ready[entry], in, out, &m->error);
    if (status == DF_CANCELLED) atomic_store(&m->stop, false);
    return (int)status;
}

void df_model_stop(df_model *m)
{
    if (m) atomic_store(&m->stop, true);
}

/* --- variables --------------------------------------------------------------------------------*/

/* Finds a variable of the given name and size; sets the error and returns NULL otherwise. */
static df_model_value *find(df_model *m, const char *name, size_t bytes)
{
    const df_model_tables *t = m->tables;
    for (int i = 0; i < t->n_variables; i++) {
        if (strcmp(t->variables[i].name, name)) continue;
        if ((size_t)m->values[i].bytes == bytes) return &m->values[i];
        df_fail(&m->error, DF_BAD_SHAPE, "%s has %lld bytes, got %zu", name,
                (long long)m->values[i].bytes, bytes);
        return NULL;
    }
    df_fail(&m->error, DF_INVALID_ARGUMENT, "there is no variable %s", name);
    return NULL;
}

int df_model_set(df_model *m, const char *name, const void *value, size_t bytes)
{
    if (!m) return DF_OUT_OF_MEMORY;
    if (m->unfit) return (int)m->unfit;
    df_model_value *v = find(m, name, bytes);
    if (!v) return (int)m->error.status;
    if (bytes) memcpy(v->data, value, bytes);
    v->is_set = true;
    v->version++;
    return DF_OK;
}

int df_model_get(df_model *m, const char *name, void *value, size_t bytes)
{
    if (!m) return DF_OUT_OF_MEMORY;
    if (m->unfit) return (int)m->unfit;
    const df_model_value *v = find(m, name, bytes);
    if (!v) return (int)m->error.status;
    if (!v->is_set)
        return (int)df_fail(&m->error, DF_INVALID_ARGUMENT, "%s has no value", name);
    if (bytes) memcpy(value, v->data, bytes);
    return DF_OK;
}
