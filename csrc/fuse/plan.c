/* Prepares clusters: loads, register allocation by liveness, tile size. Linear in the number of
 * steps. */
#include "fuse/plan.h"

#include <stdlib.h>
#include <string.h>

#define CHEAP 0.2         /* ns per element, the record's default */
#define PERIODIC_MAX 8    /* registers that hold a repeated input for a whole block */
#define ROW_MIN 64        /* elements; repeating the value of a shorter row is faster than one call
                           * per row */
#define BYTE_CLASSES 5    /* elements of 1 to 16 bytes */
#define N_CLASSES (2 * BYTE_CLASSES) /* of registers: space and bytes of an element */

/* The content of a slot: input i as read in a space, the result of a step, or the result of a ROW
 * step repeated along its rows; numbered in this order. */
typedef struct {
    int64_t last_use; /* step; the number of steps: an output */
    int32_t slot, reg; /* -1: none */
    bool whole;        /* some step reads more than its first element */
    int32_t column;    /* the first COLUMN step that reads it; -1: none */
} item;

typedef struct {
    df_cluster *c;
    df_cluster_code code;
    item *items;
    df_cluster_register *regs;
    int32_t *next_free; /* per register */
    int32_t free[N_CLASSES];
    int32_t *output_of; /* per step: the first output with its result, or -1 */
    int32_t *load_of;   /* per input and space: the load, or -1 */
    int64_t last_direct; /* the last step that reads an input in place */
} planner;

static int64_t item_of_input(int64_t input, df_space space) { return 2 * input + space; }
static int64_t item_of_step(const planner *p, int64_t step) { return 2 * p->code.n_in + step; }
static int64_t item_expanded(const planner *p, int64_t step)
{
    return 2 * (int64_t)p->code.n_in + p->code.n_steps + step;
}

/* The item that operand i of a step reads. */
static int64_t item_of_operand(const planner *p, const df_cluster_step *s, int i)
{
    const int64_t value = s->in[i];
    const bool per_row = s->one_per_row && s->one == i;
    const df_space space = s->reduces ? DF_SPACE_FULL : per_row ? DF_SPACE_ROW : s->space;
    if (value < p->code.n_in) return item_of_input(value, space);
    const int64_t step = value - p->code.n_in;
    return p->code.steps[step].space == space ? item_of_step(p, step) : item_expanded(p, step);
}

static bool is_expanded(const planner *p, int64_t item)
{
    return item >= item_expanded(p, 0);
}

static bool is_scalar(const planner *p, const df_call *call, int64_t value, df_space space)
{
    const df_tensor *all = space == DF_SPACE_FULL ? &p->code.full : &p->code.row;
    return value < p->code.n_in && call->in[value]->size == 1 && all->size > 1;
}

/* True if a value has one element per row. */
static bool is_one_per_row(const planner *p, const df_call *call, int64_t value)
{
    if (p->code.row_length < ROW_MIN) return false;
    if (value >= p->code.n_in)
        return p->code.steps[value - p->code.n_in].space == DF_SPACE_ROW;
    const df_tensor *x = call->in[value], *row = &p->code.row;
    if (x->ndim > row->ndim) return false;
    for (int i = 1; i <= x->ndim; i++)
        if (x->shape[x->ndim - i] != 1 && row->shape[row->ndim - i] == 1) return false;
    return true;
}

/* Finds steps that can read an operand as one element, or one per row, instead of repeated. */
static void find_scalars(planner *p, const df_call *call)
{
    df_cluster_code *code = &p->code;
    for (int64_t k = 0; k < code->n_steps; k++) {
        df_cluster_step *s = &code->steps[k];
        s->one = -1;
        for (int i = 0; i < 2 && s->n_in == 2 && s->one < 0; i++) {
            const int64_t value = s->in[i];
            const df_tile_fn with_one = s->op->tile_scalar[i][s->dtype];
            const bool one = is_scalar(p, call, value, s->space);
            if (!with_one || s->reduces) continue;
            if (!one && (s->space == DF_SPACE_ROW || !is_one_per_row(p, call, value))) continue;
            s->one = i;
            s->one_per_row = !one;
            s->fn.tile = with_one;
            if (!one && value < code->n_in) code->read_in[value] |= 1 << DF_SPACE_ROW;
        }
    }
}

static void find_last_uses(planner *p)
{
    const df_cluster_code *code = &p->code;
    for (int64_t k = 0; k < code->n_steps; k++)
        for (int i = 0; i < code->steps[k].n_in; i++) {
            const int64_t at = item_of_operand(p, &code->steps[k], i);
            const bool columns = code->steps[k].space == DF_SPACE_COLUMN;
            p->items[at].last_use = columns || p->items[at].last_use == code->n_steps
                                        ? code->n_steps : k;
            if (i != code->steps[k].one || code->steps[k].one_per_row) p->items[at].whole = true;
            if (is_expanded(p, at)) p->items[at - code->n_steps].last_use = k;
        }
    for (int i = 0; i < code->n_out; i++) {
        const int64_t step = code->out[i] - code->n_in;
        p->items[item_of_step(p, step)].last_use = code->n_steps;
        if (p->output_of[step] < 0) p->output_of[step] = i;
    }
}

static int32_t take_register(planner *p, df_space space, int bytes)
{
    const int class = space * BYTE_CLASSES + __builtin_ctz((unsigned)bytes);
    const int32_t at = p->free[class];
    if (at >= 0) {
        p->free[class] = p->next_free[at];
        return at;
    }
    p->regs[p->c->n_registers] = (df_cluster_register){.bytes = bytes, .space = space};
    return p->c->n_registers++;
}

static void give_back(planner *p, item *it)
{
    if (it->reg < 0) return;
    const df_cluster_register *r = &p->regs[it->reg];
    const int class = r->space * BYTE_CLASSES + __builtin_ctz((unsigned)r->bytes);
    p->next_free[it->reg] = p->free[class];
    p->free[class] = it->reg;
    it->reg = -1;
}

static int32_t slot_of_register(const planner *p, int32_t at)
{
    return p->c->n_loads + p->c->n_outputs + at;
}

/* Decides which inputs are read in place, held for a block, or copied before the first step that
 * needs them. All loads are numbered first, because their slots precede those of registers. */
static df_status plan_loads(planner *p, const df_call *call, df_error *err)
{
    df_cluster *c = p->c;
    for (int i = 0; i < p->code.n_in; i++)
        for (int space = DF_SPACE_FULL; space <= DF_SPACE_ROW; space++) {
            if (!(p->code.read_in[i] >> space & 1)) continue;
            item *it = &p->items[item_of_input(i, (df_space)space)];
            df_cluster_load *load = &c->loads[c->n_loads];
            *load = (df_cluster_load){.input = i, .space = (df_space)space,
                                      .last_use = it->last_use};
            const df_tensor *all = space == DF_SPACE_FULL ? &p->code.full : &p->code.row;
            df_status status = df_cluster_set_load(load, call->in[i], all, call->op->name, err);
            p->load_of[item_of_input(i, (df_space)space)] = c->n_loads++;
            if (status != DF_OK) return status;
        }
    int n_kept = 0; /* loads held in registers */
    for (int32_t i = 0; i < c->n_loads; i++) {
        df_cluster_load *load = &c->loads[i];
        item *it = &p->items[item_of_input(load->input, load->space)];
        if (load->operand.mode == DF_DIRECT) {
            p->last_direct = df_max(p->last_direct, load->last_use);
            c->walking[c->n_walking++] = i;
            it->slot = i;
        } else if (load->operand.mode == DF_PERIODIC && !it->whole) {
            load->in_place = true;
            c->periodic[c->n_periodic++] = i;
            it->slot = i;
        } else if (load->operand.mode == DF_PERIODIC && n_kept < PERIODIC_MAX) {
            load->buffer = slot_of_register(p, take_register(p, load->space,
                                                             load->operand.bytes));
            n_kept++;
            c->periodic[c->n_periodic++] = i;
            it->slot = i;
        }
    }
    return DF_OK;
}

static df_cluster_action *add_action(planner *p, df_action_kind kind, df_space space)
{
    df_cluster_action *to = &p->c->actions[p->c->n_actions++];
    *to = (df_cluster_action){.kind = (uint8_t)kind, .space = (uint8_t)space};
    return to;
}

/* The slot of an operand; emits the action that loads or expands it at its first use. */
static int32_t slot_of(planner *p, int64_t at)
{
    item *it = &p->items[at];
    if (it->slot >= 0) return it->slot;
    if (at < 2 * (int64_t)p->code.n_in) {
        const int32_t index = p->load_of[at];
        df_cluster_load *load = &p->c->loads[index];
        it->reg = take_register(p, load->space, load->operand.bytes);
        load->buffer = slot_of_register(p, it->reg);
        df_cluster_action *to = add_action(p, DF_DO_LOAD, load->space);
        to->fn.load = index;
        to->out = it->slot = index;
        return it->slot;
    }
    const item *row = &p->items[at - p->code.n_steps];
    const df_dtype dtype = p->code.steps[at - item_expanded(p, 0)].dtype;
    it->reg = take_register(p, DF_SPACE_FULL, df_dtypes[dtype].bytes);
    it->slot = slot_of_register(p, it->reg);
    df_cluster_action *to = add_action(p, DF_DO_EXPAND, DF_SPACE_FULL);
    to->in[0] = row->slot;
    to->out = it->slot;
    to->bytes = (uint8_t)df_dtypes[dtype].bytes;
    return it->slot;
}

/* Chooses where a step writes: to a register, or directly to its output, with a register to use
 * instead if the output may share memory with an input that is still to be read. */
static int32_t place_result(planner *p, int64_t k)
{
    const df_cluster_step *s = &p->code.steps[k];
    item *it = &p->items[item_of_step(p, k)];
    const int bytes = df_dtypes[s->dtype].bytes;
    const int32_t output = p->output_of[k];
    const bool direct = output >= 0 && p->last_direct <= k;
    if (!direct) it->reg = take_register(p, s->space, bytes);
    it->slot = output < 0 ? slot_of_register(p, it->reg) : p->c->n_loads + output;
    if (output >= 0)
        p->c->outputs[output] = (df_cluster_output){
            .first = true, .checked = !direct, .bytes = bytes, .space = s->space, .step = k,
            .from = direct ? 0 : slot_of_register(p, it->reg)};
    return it->slot;
}

static void give_back_operands(planner *p, int64_t k)
{
    const df_cluster_step *s = &p->code.steps[k];
    for (int i = 0; i < s->n_in; i++) {
        const int64_t at = item_of_operand(p, s, i);
        if (p->items[at].last_use == k) give_back(p, &p->items[at]);
        if (is_expanded(p, at) && p->items[at - p->code.n_steps].last_use == k)
            give_back(p, &p->items[at - p->code.n_steps]);
    }
}

/* The operand of a COLUMN step stays in its slot to the end of the tile. */
static void plan_column(planner *p, int64_t k)
{
    const df_cluster_step *s = &p->code.steps[k];
    df_cluster *c = p->c;
    const int64_t at = item_of_operand(p, s, 0), step = s->in[0] - p->code.n_in;
    c->columns[c->n_columns] = (df_cluster_column){
        .reducer = s->fn.reducer, .slot = slot_of(p, at), .bytes = df_dtypes[s->dtype].bytes,
        .output = step >= 0 ? p->output_of[step] : -1};
    if (p->items[at].column < 0) p->items[at].column = c->n_columns;
    c->columns[c->n_columns].same = p->items[at].column;
    if (p->output_of[k] >= 0)
        c->outputs[p->output_of[k]] = (df_cluster_output){.space = DF_SPACE_COLUMN,
                                                          .column = c->n_columns};
    c->n_columns++;
    c->cost += CHEAP * (double)c->row_length;
}

static void plan_step(planner *p, int64_t k)
{
    const df_cluster_step *s = &p->code.steps[k];
    if (s->space == DF_SPACE_COLUMN) {
        plan_column(p, k);
        return;
    }
    int32_t in[DF_TILE_MAX_IN] = {0};
    for (int i = 0; i < s->n_in; i++) in[i] = slot_of(p, item_of_operand(p, s, i));
    if (s->op->may_alias) give_back_operands(p, k);
    const int32_t out = place_result(p, k);
    give_back_operands(p, k);
    const df_action_kind kind = s->one_per_row ? DF_DO_ROWS : DF_DO_TILE;
    df_cluster_action *to = add_action(p, s->reduces ? DF_DO_REDUCE : kind, s->space);
    if (s->reduces) to->fn.reduce = s->fn.reduce;
    else to->fn.tile = s->fn.tile;
    if (s->one_per_row) to->one = (uint8_t)s->one;
    to->bytes = (uint8_t)df_dtypes[s->dtype].bytes;
    to->attrs = s->attrs;
    to->out = out;
    memcpy(to->in, in, sizeof in);
    item *it = &p->items[item_of_step(p, k)];
    if (it->last_use < 0) give_back(p, it); /* unused result */
    const df_space reads = s->reduces ? DF_SPACE_FULL : s->space;
    const double each = df_tile_cost(s->op, s->dtype);
    p->c->cost += each * (double)df_cluster_elements(p->c, reads, 1);
}

static void plan_outputs_again(planner *p)
{
    df_cluster *c = p->c;
    for (int i = 0; i < c->n_outputs; i++) {
        const int64_t step = p->code.out[i] - p->code.n_in;
        const int32_t first = p->output_of[step];
        if (first == i) continue;
        c->outputs[i] = c->outputs[first];
        c->outputs[i].first = c->outputs[i].checked = false;
        c->outputs[i].from = c->n_loads + first;
    }
}

static bool allocate(planner *p)
{
    df_cluster *c = p->c;
    const size_t n_in = (size_t)p->code.n_in, n_steps = (size_t)p->code.n_steps;
    const size_t n_items = 2 * n_in + 2 * n_steps;
    c->actions = calloc(n_items + 1, sizeof *c->actions);
    c->loads = calloc(2 * n_in + 1, sizeof *c->loads);
    c->outputs = calloc((size_t)p->code.n_out + 1, sizeof *c->outputs);
    c->walking = calloc(2 * n_in + 1, sizeof *c->walking);
    c->columns = calloc(n_steps + 1, sizeof *c->columns);
    c->streams = calloc(2 * n_in + (size_t)p->code.n_out + 1, sizeof *c->streams);
    c->periodic = calloc(2 * n_in + 1, sizeof *c->periodic);
    p->items = malloc(sizeof *p->items * (n_items + 1));
    p->regs = malloc(sizeof *p->regs * (n_items + 1));
    p->next_free = malloc(sizeof *p->next_free * (n_items + 1));
    p->output_of = malloc(sizeof *p->output_of * (n_steps + 1));
    p->load_of = malloc(sizeof *p->load_of * (2 * n_in + 1));
    if (!c->actions || !c->loads || !c->outputs || !c->walking || !c->streams ||
        !c->columns || !c->periodic || !p->items || !p->regs || !p->next_free || !p->output_of ||
        !p->load_of)
        return false;
    for (size_t i = 0; i < n_items; i++) p->items[i] = (item){-1, -1, -1, false, -1};
    for (size_t i = 0; i < n_steps; i++) p->output_of[i] = -1;
    for (int i = 0; i < N_CLASSES; i++) p->free[i] = -1;
    return true;
}

static df_status plan(planner *p, const df_call *call, df_error *err)
{
    df_cluster *c = p->c;
    if (p->code.full.size < 0)
        return df_fail(err, DF_BAD_SHAPE, "%s: shape %s is not known", call->op->name,
                       df_shape_text(p->code.full.ndim, p->code.full.shape).text);
    if (p->code.n_steps > INT32_MAX / 4 || !allocate(p))
        return df_fail(err, DF_OUT_OF_MEMORY, "%s: no memory for %lld steps", call->op->name,
                       (long long)p->code.n_steps);
    c->row_length = p->code.row_length;
    c->n_units = p->code.row.size;
    c->n_outputs = p->code.n_out;
    c->attrs = p->code.attrs;
    p->code.attrs = NULL;
    find_scalars(p, call);
    find_last_uses(p);
    df_status status = plan_loads(p, call, err);
    if (status != DF_OK) return status;
    for (int64_t k = 0; k < p->code.n_steps; k++) plan_step(p, k);
    plan_outputs_again(p);
    df_cluster_choose_tile(c, p->regs);
    df_cluster_plan_prefetch(c);
    status = df_cluster_place_registers(c, p->regs, call->op->name, err);
    c->column = p->code.column;
    if (status == DF_OK && c->n_columns > 0) df_cluster_plan_columns(c);
    return status;
}

df_status df_cluster_new(const df_call *call, df_cluster **out, df_error *err)
{
    planner p = {.last_direct = -1};
    *out = NULL;
    p.c = calloc(1, sizeof *p.c);
    if (!p.c) return df_fail(err, DF_OUT_OF_MEMORY, "%s: no memory", call->op->name);
    df_status status = df_cluster_read(call, &p.code, err);
    if (status == DF_OK) {
        status = plan(&p, call, err);
        df_cluster_code_clear(&p.code);
    }
    free(p.items);
    free(p.regs);
    free(p.next_free);
    free(p.output_of);
    free(p.load_of);
    if (status == DF_OK) *out = p.c;
    else df_cluster_free(p.c);
    return status;
}

void df_cluster_free(df_cluster *c)
{
    if (!c) return;
    df_cluster_free(atomic_load(&c->compiled));
    for (int32_t i = 0; c->loads && i < c->n_loads; i++) free(c->loads[i].operand.extent);
    free(c->actions);
    free(c->loads);
    free(c->outputs);
    free(c->offsets);
    free(c->walking);
    free(c->streams);
    free(c->periodic);
    free(c->columns);
    free(c->attrs);
    free(c->calls);
    free(c);
}
