/* Checks that an instruction reads only bytes that earlier instructions have written: the arena and
 * the results are uninitialised at the start of a run, and the arena is reused. Called by
 * df_program_new once slots and operands have been checked and workspaces have offsets. */
#include "exec/internal.h"

#include <stdlib.h>

#define NOTHING 0 /* not written yet, or overwritten as a workspace */
#define SEVERAL (-1)

/* Map from memory to the value that it holds; values are numbered from 1 in the order of the writes
 * that produce them. Positions are the sorted begins and ends of all slots and workspaces. A
 * segment tree: node k holds the value of all bytes in its range of positions, or SEVERAL. */
typedef struct {
    int *tree;
    int n; /* leaves, a power of two */
} arena_map;

typedef struct {
    int64_t space; /* 0: the arena; otherwise result + 1 */
    int64_t at;
    int *place; /* output: index of its position */
} bound;

typedef struct {
    int begin, end; /* positions; equal: empty, or not in the arena or a result */
} span;

static int compare(const void *a, const void *b)
{
    const bound *x = a, *y = b;
    if (x->space != y->space) return x->space < y->space ? -1 : 1;
    return x->at == y->at ? 0 : x->at < y->at ? -1 : 1;
}

static void add(bound *bounds, size_t *n, int64_t space, int64_t begin, int64_t bytes, span *s)
{
    if (bytes <= 0) return;
    bounds[(*n)++] = (bound){space, begin, &s->begin};
    bounds[(*n)++] = (bound){space, begin + bytes, &s->end};
}

/* Assigns indices to all positions and returns their number. */
static int number(bound *bounds, size_t n)
{
    int places = 0;
    if (n) qsort(bounds, n, sizeof *bounds, compare);
    for (size_t k = 0; k < n; k++) {
        places += k == 0 || compare(&bounds[k - 1], &bounds[k]) != 0;
        *bounds[k].place = places - 1;
    }
    return places;
}

/* The value held by span `s`, restricted to the range [low, high) of node k. */
static int look(const arena_map *m, int k, int low, int high, span s)
{
    const int middle = low + (high - low) / 2;
    if (m->tree[k] != SEVERAL) return m->tree[k];
    if (s.begin <= low && high <= s.end) return SEVERAL;
    if (s.end <= middle) return look(m, 2 * k, low, middle, s);
    if (s.begin >= middle) return look(m, 2 * k + 1, middle, high, s);
    const int left = look(m, 2 * k, low, middle, s);
    return left == SEVERAL || left != look(m, 2 * k + 1, middle, high, s) ? SEVERAL : left;
}

static void put(arena_map *m, int k, int low, int high, span s, int value)
{
    const int middle = low + (high - low) / 2;
    int *at = m->tree + k;
    if (s.begin >= high || s.end <= low || *at == value) return;
    if (s.begin <= low && high <= s.end) {
        *at = value;
        return;
    }
    if (*at != SEVERAL) at[k] = at[k + 1] = *at;
    put(m, 2 * k, low, middle, s, value);
    put(m, 2 * k + 1, middle, high, s, value);
    *at = at[k] == at[k + 1] ? at[k] : SEVERAL;
}

typedef struct {
    const df_program *p;
    arena_map memory;
    span *slots, *workspaces, *results;
    int *held;    /* by slot: the value it had when it was first written or read */
    int *made_as; /* by value: the slot that it was written through; -1: a written input */
    int *joined;  /* by value: the later value that contains it unchanged, after a join; or 0 */
    int n_values;
} check;

/* Records a write. `slot`: the output; -1: an input that is written. */
static void make(check *c, span s, int slot)
{
    if (s.begin == s.end) return;
    put(&c->memory, 1, 0, c->memory.n, s, ++c->n_values);
    c->made_as[c->n_values] = slot;
    if (slot < 0) return;
    c->p->shared[slot] |= c->held[slot] != NOTHING;
    c->held[slot] = c->n_values;
}

static df_status check_read(check *c, int i, int slot, df_error *err)
{
    const span where = c->slots[slot];
    c->p->last_read[slot] = i;
    if (where.begin == where.end) return DF_OK;
    const int value = look(&c->memory, 1, 0, c->memory.n, where);
    const bool is_new = c->held[slot] == NOTHING;
    while (c->held[slot] != value && c->joined[c->held[slot]])
        c->held[slot] = c->joined[c->held[slot]];
    if (value > 0 && (is_new || c->held[slot] == value)) {
        const int made_as = c->made_as[value];
        if (made_as >= 0 && made_as != slot) c->p->shared[made_as] = true;
        c->held[slot] = value;
        return DF_OK;
    }
    return df_fail(err, DF_INVALID_ARGUMENT, "program: instruction %d, %s, reads slot %d, %s", i,
                   c->p->instructions[i].op->name, slot,
                   !is_new            ? "whose memory has been overwritten since"
                   : value == SEVERAL ? "which is not covered by one earlier write"
                                      : "which has not been written");
}

/* Records which values have become parts of the value that instruction i has just written. */
static void record_parts(check *c, int i)
{
    const df_exec_instruction *s = &c->p->instructions[i];
    const df_slot *slots = c->p->slots;
    if (!s->op->joins) return;
    df_join_position next = df_join_begin(s->op, s->attrs, &slots[s->out[0]]);
    for (int k = 0; k < s->n_in; k++) {
        const int slot = s->in[k], value = c->held[slot], made_as = c->made_as[value];
        if (df_join_next(&next, &slots[slot]) && value > 0 && made_as >= 0 &&
            c->slots[made_as].begin == c->slots[slot].begin &&
            c->slots[made_as].end == c->slots[slot].end)
            c->joined[value] = c->n_values;
    }
}

static df_status check_instruction(check *c, int i, df_error *err)
{
    const df_exec_instruction *s = &c->p->instructions[i];
    df_status status = DF_OK;
    for (int k = 0; k < s->n_in && status == DF_OK; k++)
        if (k >= 32 || !(s->op->shape_only >> k & 1)) status = check_read(c, i, s->in[k], err);
    if (status != DF_OK) return status;
    if (c->workspaces[i].begin != c->workspaces[i].end)
        put(&c->memory, 1, 0, c->memory.n, c->workspaces[i], NOTHING);
    for (int k = 0; k < s->n_in; k++)
        if (df_exec_writes_input(c->p, s, k)) make(c, c->slots[s->in[k]], -1);
    for (int k = 0; k < s->n_out; k++) make(c, c->slots[s->out[k]], s->out[k]);
    record_parts(c, i);
    return DF_OK;
}

static df_status check_results(const check *c, df_error *err)
{
    for (int i = 0; i < c->p->n_results; i++)
        if (c->results[i].begin != c->results[i].end &&
            look(&c->memory, 1, 0, c->memory.n, c->results[i]) <= 0)
            return df_fail(err, DF_INVALID_ARGUMENT, "program: result %d is not covered by one "
                           "write", i);
    return DF_OK;
}

/* Collects the bounds of everything in the arena and in results. */
static size_t collect(const check *c, bound *bounds)
{
    const df_program *p = c->p;
    size_t n = 0;
    for (int i = 0; i < p->n_slots; i++) {
        const df_slot *s = &p->slots[i];
        if (s->kind == DF_SLOT_ARENA || s->kind == DF_SLOT_RESULT)
            add(bounds, &n, s->kind == DF_SLOT_ARENA ? 0 : (int64_t)s->index + 1, s->offset,
                df_slot_bytes(s), &c->slots[i]);
    }
    for (int i = 0; i < p->n_instructions; i++)
        if (p->instructions[i].workspace >= 0)
            add(bounds, &n, 0, p->instructions[i].workspace, p->instructions[i].workspace_bytes,
                &c->workspaces[i]);
    return n;
}

/* Sets the span of each result to the union of the slots in it. */
static void find_results(const check *c)
{
    for (int i = 0; i < c->p->n_slots; i++) {
        const df_slot *s = &c->p->slots[i];
        const span *at = &c->slots[i];
        if (s->kind != DF_SLOT_RESULT || at->begin == at->end) continue;
        span *all = &c->results[s->index];
        if (all->begin == all->end) *all = *at;
        all->begin = at->begin < all->begin ? at->begin : all->begin;
        all->end = at->end > all->end ? at->end : all->end;
    }
}

df_status df_program_check_initialized(const df_program *p, int *failed, df_error *err)
{
    const size_t n_slots = (size_t)p->n_slots + 1, n_all = (size_t)p->n_instructions + n_slots;
    df_status status = DF_OK;
    check c = {.p = p, .slots = calloc(n_all + (size_t)p->n_results, sizeof *c.slots),
               .held = calloc(n_slots, sizeof *c.held),
               .made_as = calloc((size_t)p->n_operands + 1, sizeof *c.made_as),
               .joined = calloc((size_t)p->n_operands + 1, sizeof *c.joined)};
    for (int i = 0; i < p->n_slots; i++) p->last_read[i] = -1;
    bound *bounds = malloc(2 * n_all * sizeof *bounds);
    if (c.slots && c.held && c.made_as && c.joined && bounds) {
        c.workspaces = c.slots + n_slots;
        c.results = c.slots + n_all;
        const int n = number(bounds, collect(&c, bounds));
        for (c.memory.n = 1; c.memory.n < n;) c.memory.n *= 2;
        c.memory.tree = calloc(2 * (size_t)c.memory.n, sizeof *c.memory.tree);
        find_results(&c);
    }
    if (!c.memory.tree) status = df_fail(err, DF_OUT_OF_MEMORY, "program: no memory");
    for (int i = 0; i < p->n_instructions && status == DF_OK; i++) {
        status = check_instruction(&c, i, err);
        if (status != DF_OK) *failed = i;
    }
    if (status == DF_OK) status = check_results(&c, err);
    free(bounds);
    free(c.memory.tree);
    free(c.slots);
    free(c.held);
    free(c.made_as);
    free(c.joined);
    return status;
}
