/* Checks that the operands of a program are aligned and that no instruction writes over memory that
 * it or its wave still reads. Considers positions only; program.c checks shapes and dtypes. */
#include "exec/internal.h"

#include <stdlib.h>

typedef enum { READ_BY, MADE_BY } role;

/* Bytes [begin, end) of the arena, or of one argument or result. */
typedef struct {
    int kind, index;
    int64_t begin, end;
    role role;
    bool written, may_alias; /* read by an op whose output may reuse the memory */
    int instruction;
} range;

static int compare(const void *a, const void *b)
{
    const range *x = a, *y = b;
    if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
    if (x->index != y->index) return x->index < y->index ? -1 : 1;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return x->end == y->end ? 0 : x->end > y->end ? -1 : 1; /* the longest first */
}

static void add_slot(const df_slot *slots, int slot, role role, bool written, bool may_alias, int i,
                     range *to, int *n)
{
    const df_slot *s = &slots[slot];
    int64_t bytes = df_dtypes[s->dtype].bytes;
    if (s->kind == DF_SLOT_CONSTANT) return;
    if (s->kind == DF_SLOT_DYNAMIC) { /* a buffer of unknown size */
        to[(*n)++] = (range){s->kind, slot, 0, 1, role, written, may_alias, i};
        return;
    }
    for (int d = 0; d < s->ndim; d++) {
        if (s->shape[d] < 0) return; /* an argument; its caller is responsible */
        bytes *= s->shape[d];        /* was checked for overflow */
    }
    if (bytes)
        to[(*n)++] = (range){s->kind, s->kind == DF_SLOT_ARENA ? 0 : s->index, s->offset,
                             s->offset + bytes, role, written, may_alias, i};
}

/* True if all bodies of an instruction compute a result in the memory of input k. */
static bool bodies_alias(const df_instruction *in, int k)
{
    for (int b = 0; b < in->n_bodies; b++) {
        const df_program *body = in->bodies[b];
        bool found = false;
        for (int i = 0; i < body->n_results; i++) found |= body->aliased_input[i] == k;
        if (!found) return false;
    }
    return in->n_bodies > 0;
}

/* Adds the ranges that instruction i accesses. */
static void collect(const df_program_parts *parts, int i, range *to, int *n)
{
    const df_instruction *in = &parts->instructions[i];
    df_join_position next = in->n_out ? df_join_begin(in->op, in->attrs, &parts->slots[in->out[0]])
                                      : (df_join_position){NULL, 0};
    for (int k = 0; k < in->n_in; k++) {
        bool written = df_writes_input(in, k);
        if (df_join_next(&next, &parts->slots[in->in[k]])) continue;
        if (k >= 32 || !(in->op->shape_only >> k & 1))
            add_slot(parts->slots, in->in[k], READ_BY, written,
                     df_may_alias(in->op, k) || bodies_alias(in, k), i, to, n);
    }
    for (int k = 0; k < in->n_out; k++)
        add_slot(parts->slots, in->out[k], MADE_BY, true, false, i, to, n);
}

/* True if two operands of one instruction may have exactly the same range: an output and an input,
 * if the op allows it, or two inputs of which at most one is written. */
static bool may_share(const range *a, const range *b)
{
    if (a->begin != b->begin || a->end != b->end) return false;
    if (a->role == READ_BY && b->role == READ_BY) return !(a->written && b->written);
    return a->role != b->role && (a->role == READ_BY ? a : b)->may_alias;
}

/* True if two operands of one instruction overlap in a way that is not allowed. `r` is sorted. */
static bool conflict_inside(const range *r, int n)
{
    const range *written = NULL, *any = NULL; /* the ranges with the largest end */
    for (int i = 0; i < n; i++) {
        if (any && (any->kind != r[i].kind || any->index != r[i].index)) written = any = NULL;
        if (written && r[i].begin < written->end && !may_share(written, &r[i])) return true;
        if (any && r[i].written && r[i].begin < any->end && !may_share(any, &r[i])) return true;
        if (!any || r[i].end > any->end || (r[i].end == any->end && any->may_alias)) any = &r[i];
        if (r[i].written && (!written || r[i].end > written->end)) written = &r[i];
    }
    return false;
}

/* The largest end of any range, and the largest end of the ranges of any other instruction. */
typedef struct {
    int64_t end[2];
    int instruction[2];
} reach;

static const reach nothing = {{INT64_MIN, INT64_MIN}, {-1, -1}};

static void extend(reach *to, int64_t end, int instruction)
{
    int k = end > to->end[0] || instruction == to->instruction[0] ? 0 : 1;
    if (end <= to->end[k]) return;
    if (k == 0 && instruction != to->instruction[0]) {
        to->end[1] = to->end[0];
        to->instruction[1] = to->instruction[0];
    }
    to->end[k] = end;
    to->instruction[k] = instruction;
}

/* Returns an instruction that accesses a range which another one writes, or -1. `r` is sorted. */
static int conflict_between(const range *r, int n)
{
    reach written = nothing, any = nothing;
    for (int i = 0; i < n; i++) {
        if (i && (r[i - 1].kind != r[i].kind || r[i - 1].index != r[i].index))
            written = any = nothing;
        const int in = r[i].instruction;
        if (r[i].begin < written.end[written.instruction[0] == in]) return in;
        if (r[i].written && r[i].begin < any.end[any.instruction[0] == in]) return in;
        extend(&any, r[i].end, in);
        if (r[i].written) extend(&written, r[i].end, in);
    }
    return -1;
}

static df_status fail_overlap(const df_program_parts *parts, int i, const char *what, int *failed,
                              df_error *err)
{
    *failed = i;
    return df_fail(err, DF_INVALID_ARGUMENT, "program: instruction %d, %s: %s", i,
                   parts->instructions[i].op->name, what);
}

/* Checks instructions [first, last] of one wave. */
static df_status check_wave(const df_program_parts *parts, int first, int last, range *r,
                            int *failed, df_error *err)
{
    int n = 0;
    for (int i = first; i <= last; i++) {
        range *own = r + n;
        int n_own = 0;
        collect(parts, i, own, &n_own);
        qsort(own, (size_t)n_own, sizeof *own, compare);
        if (conflict_inside(own, n_own))
            return fail_overlap(parts, i, "operands overlap", failed, err);
        n += n_own;
    }
    if (first == last) return DF_OK;
    qsort(r, (size_t)n, sizeof *r, compare);
    int i = conflict_between(r, n);
    return i < 0 ? DF_OK : fail_overlap(parts, i, "shares memory with another instruction of "
                                        "its wave, and one of them writes it", failed, err);
}

df_status df_program_check_memory(const df_program_parts *parts, int *failed, df_error *err)
{
    size_t n = 1;
    df_status status = DF_OK;
    for (int i = 0; i < parts->n_slots; i++) {
        const df_slot *s = &parts->slots[i];
        int64_t at = s->kind == DF_SLOT_CONSTANT ? (int64_t)(intptr_t)s->data : s->offset;
        if (s->kind != DF_SLOT_DYNAMIC && at % df_dtypes[s->dtype].bytes)
            return df_fail(err, DF_INVALID_ARGUMENT, "program: slot %d, %s, is not aligned", i,
                           df_dtypes[s->dtype].name);
    }
    for (int i = 0; i < parts->n_instructions; i++)
        n += (size_t)parts->instructions[i].n_in + (size_t)parts->instructions[i].n_out;
    range *r = malloc(n * sizeof *r);
    if (!r) return df_fail(err, DF_OUT_OF_MEMORY, "program: no memory");
    for (int first = 0, i = 0; i < parts->n_instructions && status == DF_OK; first = ++i) {
        const df_instruction *in = parts->instructions;
        while (in[i].wave && i + 1 < parts->n_instructions && in[i + 1].wave == in[i].wave) i++;
        status = check_wave(parts, first, i, r, failed, err);
    }
    free(r);
    return status;
}

/* Checks a workspace: aligned, inside the arena, and disjoint from the operands. */
df_status df_program_check_workspace(const df_slot *slots, const df_exec_instruction *s,
                                     int64_t bytes,
                                     int64_t arena_bytes, df_error *err)
{
    int64_t end;
    if (bytes == 0) return DF_OK;
    if (bytes < 0 || s->workspace < 0 || s->workspace % DF_ALIGNMENT ||
        !df_add_size(s->workspace, bytes, &end) || end > arena_bytes)
        return df_fail(err, DF_INVALID_ARGUMENT, "%s: needs %lld bytes of workspace, has offset "
                       "%lld in an arena of %lld bytes", s->op->name, (long long)bytes,
                       (long long)s->workspace, (long long)arena_bytes);
    for (int k = 0; k < s->n_in + s->n_out; k++) {
        range r;
        int n = 0;
        if (k < s->n_in && k < 32 && s->op->shape_only >> k & 1) continue;
        add_slot(slots, k < s->n_in ? s->in[k] : s->out[k - s->n_in], READ_BY, false, false, 0, &r,
                 &n);
        if (n && r.kind == DF_SLOT_ARENA && r.begin < end && s->workspace < r.end)
            return df_fail(err, DF_INVALID_ARGUMENT, "%s: operand %d overlaps the workspace",
                           s->op->name, k);
    }
    return DF_OK;
}

/* Lists the ranges that instruction i accesses, including its workspace. Returns their number. */
static int collect_instruction(const df_program *p, int i, range *to)
{
    const df_exec_instruction *s = &p->instructions[i];
    int n = 0;
    for (int k = 0; k < s->n_in; k++)
        if (k >= 32 || !(s->op->shape_only >> k & 1))
            add_slot(p->slots, s->in[k], READ_BY, df_exec_writes_input(p, s, k), false, i, to, &n);
    for (int k = 0; k < s->n_out; k++)
        add_slot(p->slots, s->out[k], MADE_BY, true, false, i, to, &n);
    if (s->workspace >= 0 && s->workspace_bytes)
        to[n++] = (range){DF_SLOT_ARENA, 0, s->workspace, s->workspace + s->workspace_bytes,
                          MADE_BY, true, false, i};
    return n;
}

df_status df_program_check_waves(const df_program *p, int *failed, df_error *err)
{
    range *r = NULL;
    for (int first = 0; first < p->n_instructions; first += p->instructions[first].n_wave) {
        const int end = first + p->instructions[first].n_wave;
        bool scratch = false;
        int n = 0;
        for (int i = first; i < end; i++) scratch |= p->instructions[i].workspace >= 0;
        if (!scratch || end - first == 1) continue;
        if (!r) r = malloc(((size_t)p->n_operands + (size_t)p->n_instructions) * sizeof *r);
        if (!r) return df_fail(err, DF_OUT_OF_MEMORY, "program: no memory");
        for (int i = first; i < end; i++) n += collect_instruction(p, i, r + n);
        qsort(r, (size_t)n, sizeof *r, compare);
        *failed = conflict_between(r, n);
        if (*failed < 0) continue;
        df_fail(err, DF_INVALID_ARGUMENT, "program: instruction %d, %s: a workspace of its wave "
                "overlaps memory that it accesses", *failed, p->instructions[*failed].op->name);
        break;
    }
    free(r);
    return *failed < 0 ? DF_OK : err->status;
}
