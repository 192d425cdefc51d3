/* Prepares a cluster for compiled code: reads and checks the layout, then plans loads, outputs and
 * registers according to it. Linear in the number of steps. */
#include "fuse/plan.h"

#include <stdlib.h>

typedef struct {
    const int64_t *at, *end;
} reader;

typedef struct {
    df_cluster *c;
    df_cluster_code code;
    df_cluster_register *registers;
    int64_t n_given; /* registers of the layout; registers of loads follow */
} planner;

/* Reads the next number. Returns false if there is none or it is not in [low, high]. */
static bool take(reader *r, int64_t low, int64_t high, int64_t *value)
{
    if (r->at == r->end || *r->at < low || *r->at > high) return false;
    *value = *r->at++;
    return true;
}

static bool broadcasts_to(const df_tensor *x, const df_tensor *to)
{
    if (x->ndim > to->ndim) return false;
    for (int i = 1; i <= x->ndim; i++)
        if (x->shape[x->ndim - i] != 1 && x->shape[x->ndim - i] != to->shape[to->ndim - i])
            return false;
    return true;
}

static bool allocate(planner *p, int64_t n_loads, int64_t n_registers)
{
    df_cluster *c = p->c;
    const size_t n_all = (size_t)(n_loads + n_registers) + 1;
    const size_t n_steps = (size_t)p->code.n_steps + 1;
    c->loads = calloc((size_t)n_loads + 1, sizeof *c->loads);
    c->outputs = calloc((size_t)p->code.n_out + 1, sizeof *c->outputs);
    c->walking = calloc((size_t)n_loads + 1, sizeof *c->walking);
    c->periodic = calloc((size_t)n_loads + 1, sizeof *c->periodic);
    c->columns = calloc(n_steps, sizeof *c->columns);
    c->calls = calloc(n_steps, sizeof *c->calls);
    p->registers = calloc(n_all, sizeof *p->registers);
    return c->loads && c->outputs && c->walking && c->periodic && c->columns && c->calls &&
           p->registers;
}

static bool read_load(planner *p, const df_call *call, reader *r, df_error *err)
{
    df_cluster *c = p->c;
    int64_t input, space, fixed, last;
    if (!take(r, 0, p->code.n_in - 1, &input) || !take(r, DF_SPACE_FULL, DF_SPACE_ROW, &space) ||
        !take(r, 0, 1, &fixed) || !take(r, 0, INT32_MAX, &last))
        return false;
    const df_tensor *x = call->in[input];
    const df_tensor *all = space == DF_SPACE_FULL ? &p->code.full : &p->code.row;
    df_cluster_load *load = &c->loads[c->n_loads++];
    *load = (df_cluster_load){.input = (int32_t)input, .space = (df_space)space, .last_use = last};
    if (!broadcasts_to(x, all)) return false;
    if (df_cluster_set_load(load, x, all, call->op->name, err) != DF_OK) return false;
    load->in_place = fixed && load->operand.mode == DF_PERIODIC;
    return !fixed || x->size == 1 || (space == DF_SPACE_FULL && x->size == c->row_length);
}

/* Loads that are not read in place get registers of their own, after those of the layout. */
static void place_loads(planner *p)
{
    df_cluster *c = p->c;
    for (int32_t i = 0; i < c->n_loads; i++) {
        df_cluster_load *load = &c->loads[i];
        const bool repeats = load->operand.mode == DF_PERIODIC;
        if (repeats) c->periodic[c->n_periodic++] = i;
        else c->walking[c->n_walking++] = i;
        if (load->in_place || load->operand.mode == DF_DIRECT) continue;
        load->buffer = c->n_loads + c->n_outputs + c->n_registers;
        p->registers[c->n_registers++] =
            (df_cluster_register){.bytes = load->operand.bytes, .space = load->space};
    }
}

static bool read_registers(planner *p, reader *r, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t space, bytes;
        if (!take(r, DF_SPACE_FULL, DF_SPACE_ROW, &space) || !take(r, 1, 8, &bytes)) return false;
        p->registers[p->c->n_registers++] =
            (df_cluster_register){.bytes = (int)bytes, .space = (df_space)space};
    }
    p->n_given = n;
    return true;
}

static bool read_outputs(planner *p, reader *r)
{
    df_cluster *c = p->c;
    int64_t n, phase, reg;
    if (!take(r, c->n_outputs, c->n_outputs, &n)) return false;
    for (int i = 0; i < c->n_outputs; i++) {
        const df_cluster_step *s = &p->code.steps[p->code.out[i] - p->code.n_in];
        if (!take(r, 0, INT32_MAX, &phase) || !take(r, -1, p->n_given - 1, &reg)) return false;
        c->outputs[i] = (df_cluster_output){
            .first = true, .checked = reg >= 0, .bytes = df_dtypes[s->dtype].bytes,
            .space = s->space, .step = phase,
            .from = reg < 0 ? 0 : (int32_t)(c->n_loads + c->n_outputs + reg)};
        for (int k = 0; k < i; k++)
            if (p->code.out[k] == p->code.out[i]) {
                c->outputs[i].first = c->outputs[i].checked = false;
                c->outputs[i].from = c->n_loads + k;
                break;
            }
    }
    return true;
}

static bool read_columns(planner *p, reader *r)
{
    df_cluster *c = p->c;
    const int64_t n_slots = c->n_loads + c->n_outputs + p->n_given;
    int64_t n, slot;
    if (!take(r, 0, p->code.n_steps, &n)) return false;
    for (int64_t k = 0; k < p->code.n_steps; k++) {
        const df_cluster_step *s = &p->code.steps[k];
        if (s->space != DF_SPACE_COLUMN) continue;
        if (c->n_columns == n || !take(r, 0, n_slots - 1, &slot)) return false;
        const bool of_output = slot >= c->n_loads && slot < c->n_loads + c->n_outputs;
        df_cluster_column *column = &c->columns[c->n_columns];
        *column = (df_cluster_column){.reducer = s->fn.reducer, .slot = (int32_t)slot,
                                      .bytes = df_dtypes[s->dtype].bytes,
                                      .output = of_output ? (int32_t)slot - c->n_loads : -1,
                                      .same = c->n_columns};
        for (int32_t i = 0; i < c->n_columns && column->same == c->n_columns; i++)
            if (c->columns[i].slot == slot) column->same = i;
        for (int i = 0; i < c->n_outputs; i++)
            if (p->code.out[i] == p->code.n_in + k)
                c->outputs[i] = (df_cluster_output){.space = DF_SPACE_COLUMN,
                                                    .column = c->n_columns};
        c->n_columns++;
    }
    return c->n_columns == n;
}

static bool read_calls(planner *p, reader *r)
{
    int64_t n, step;
    if (!take(r, 0, p->code.n_steps, &n)) return false;
    for (int64_t i = 0; i < n; i++) {
        if (!take(r, 0, p->code.n_steps - 1, &step)) return false;
        const df_cluster_step *s = &p->code.steps[step];
        if (s->space == DF_SPACE_COLUMN) return false;
        p->c->calls[i].attrs = s->attrs;
        if (s->reduces) p->c->calls[i].reduce = s->fn.reduce;
        else p->c->calls[i].tile = s->fn.tile;
    }
    return r->at == r->end;
}

/* Number of registers: the length of the next list but one, without reading the lists. */
static int64_t peek_registers(const reader *r, int64_t n_loads)
{
    const int64_t load_numbers = 4;
    if (n_loads > (r->end - r->at - 1) / load_numbers) return -1;
    return r->at[n_loads * load_numbers];
}

static bool read_layout(planner *p, const df_call *call, df_ints layout, df_error *err)
{
    reader r = {.at = layout.v, .end = layout.v + layout.n};
    int64_t n_loads, n_registers, n;
    if (!take(&r, 0, INT32_MAX / 8, &n_loads)) return false;
    n_registers = peek_registers(&r, n_loads);
    if (n_registers < 0 || n_registers > layout.n || !allocate(p, n_loads, n_registers))
        return false;
    for (int64_t i = 0; i < n_loads; i++)
        if (!read_load(p, call, &r, err)) return false;
    if (!take(&r, 0, layout.n, &n) || !read_registers(p, &r, n)) return false;
    if (!read_outputs(p, &r) || !read_columns(p, &r) || !read_calls(p, &r)) return false;
    place_loads(p);
    return true;
}

static df_status plan(planner *p, const df_cluster *like, const df_call *call, df_ints layout,
                      df_error *err)
{
    df_cluster *c = p->c;
    c->row_length = p->code.row_length;
    c->n_units = p->code.row.size;
    c->n_outputs = p->code.n_out;
    c->cost = like->cost;
    c->column = p->code.column;
    c->attrs = p->code.attrs;
    p->code.attrs = NULL;
    if (!read_layout(p, call, layout, err))
        return df_fail(err, DF_INVALID_ARGUMENT, "%s: malformed layout of compiled code",
                       call->op->name);
    df_cluster_choose_tile(c, p->registers);
    df_status status = df_cluster_place_registers(c, p->registers, call->op->name, err);
    if (status == DF_OK && c->n_columns > 0) df_cluster_plan_columns(c);
    return status;
}

df_status df_cluster_compile(df_cluster *c, const df_call *call, df_ints layout, df_compiled_fn fn,
                             df_error *err)
{
    planner p = {.c = calloc(1, sizeof *p.c)};
    if (!p.c) return df_fail(err, DF_OUT_OF_MEMORY, "%s: no memory", call->op->name);
    p.c->fn = fn;
    df_status status = df_cluster_read(call, &p.code, err);
    if (status == DF_OK) {
        status = plan(&p, c, call, layout, err);
        df_cluster_code_clear(&p.code);
    }
    free(p.registers);
    df_cluster *none = NULL;
    if (status != DF_OK ||
        !atomic_compare_exchange_strong_explicit(&c->compiled, &none, p.c, memory_order_release,
                                                 memory_order_relaxed))
        df_cluster_free(p.c);
    return status;
}
