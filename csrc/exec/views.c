/* Decides which outputs may be views while a program is built: output 0 of a view op that is
 * resolved during a run may point into the memory of input 0. The last step of df_program_new.
 *
 * A buffer of an input may be shared for any time, unless an instruction writes it as an input
 * (`retains`). Memory without a buffer (of arguments, constants, results and the arena) is owned
 * elsewhere: an output may borrow it if nothing is written there until the last instruction that
 * reads the output has finished (`borrows`). The own memory of an arena output is then unused. */
#include "exec/internal.h"

#include <stdlib.h>

#define MAX_OPERANDS 256 /* scanned per output, which keeps the search linear */
#define MAX_DEPTH 8      /* of chains of views */

typedef struct {
    const df_program *p;
    bool *written; /* by slot: an instruction writes it as an input */
    int *viewed;   /* by slot: the slot that it may be a view of, or -1 */
    int *until;    /* by argument: the instruction after which a run may release its buffer */
} search;

static bool is_of_arena(const df_slot *s) { return s->kind == DF_SLOT_ARENA; }

/* True if a slot has bytes in the memory of `of`. A slot of unknown size reaches to the end. */
static bool overlaps(const df_slot *s, const df_slot *of)
{
    const int64_t a = df_slot_bytes(s), b = df_slot_bytes(of);
    if (s->kind != of->kind || (!is_of_arena(s) && s->index != of->index)) return false;
    return (b < 0 || s->offset < of->offset + b) && (a < 0 || of->offset < s->offset + a);
}

static bool writes_over(const df_program *p, const df_exec_instruction *s, const df_slot *of)
{
    for (int k = 0; k < s->n_out; k++)
        if (overlaps(&p->slots[s->out[k]], of)) return true;
    for (int k = 0; k < s->n_in; k++)
        if (overlaps(&p->slots[s->in[k]], of) && df_exec_writes_input(p, s, k)) return true;
    return is_of_arena(of) && s->workspace >= 0 &&
           s->workspace < of->offset + df_slot_bytes(of) &&
           of->offset < s->workspace + s->workspace_bytes;
}

/* True if the memory of a slot stays allocated and unmodified after instruction i until instruction
 * `last` and the rest of its wave have finished. */
static bool is_alive_at(const search *now, const df_slot *of, int i, int last)
{
    const df_program *p = now->p;
    int budget = MAX_OPERANDS;
    if (of->kind == DF_SLOT_CONSTANT) return true;
    if (of->kind == DF_SLOT_ARG && now->until[of->index] < last) return false;
    for (int j = i + 1, end = last; j <= end; j++) {
        const df_exec_instruction *s = &p->instructions[j];
        budget -= 1 + s->n_in + s->n_out;
        if (budget < 0 || writes_over(p, s, of)) return false;
        if (j == last) end = last + s->n_wave - 1;
    }
    return true;
}

/* True if slot y, a view of slot x written by instruction i, may point into memory of x. */
static bool may_borrow(const search *now, int i, int x, int y)
{
    const df_program *p = now->p;
    const df_slot *made = &p->slots[y];
    const bool is_dynamic = made->kind == DF_SLOT_DYNAMIC;
    const int last = is_dynamic ? made->last_use : p->last_read[y];
    int depth = 0;
    if (now->written[y] || last >= p->n_instructions || last <= i) return false;
    if (!is_dynamic && (made->kind != DF_SLOT_ARENA || p->shared[y])) return false;
    for (; x >= 0; x = now->viewed[x]) {
        const df_slot *s = &p->slots[x];
        if (++depth > MAX_DEPTH || (s->kind != DF_SLOT_DYNAMIC && !is_alive_at(now, s, i, last)))
            return false;
    }
    return true;
}

static void decide(search *now, int i)
{
    df_exec_instruction *s = &now->p->instructions[i];
    if (s->resolved < 0 || s->n_out != 1 || s->n_in < 1 || !(s->op->view || s->op->apply)) return;
    const int x = s->in[0], y = s->out[0];
    const df_slot *slots = now->p->slots;
    s->retains = slots[x].kind == DF_SLOT_DYNAMIC && slots[y].kind == DF_SLOT_DYNAMIC &&
                 !now->written[x] && !now->written[y];
    s->borrows = may_borrow(now, i, x, y);
    if (s->borrows) now->viewed[y] = x;
}

bool df_program_find_views(df_program *p)
{
    const size_t n_slots = (size_t)p->n_slots + 1;
    if (!p->n_resolved) return true;
    search now = {p, calloc(n_slots, sizeof *now.written), malloc(n_slots * sizeof *now.viewed),
                  malloc(((size_t)p->n_args + 1) * sizeof *now.until)};
    const bool done = now.written && now.viewed && now.until;
    for (int k = 0; k < p->n_slots && done; k++) now.viewed[k] = -1;
    for (int k = 0; k < p->n_args && done; k++) now.until[k] = p->n_instructions;
    for (int k = 0; k < p->n_ends && done; k++)
        now.until[p->ends[k].index] = p->ends[k].instruction;
    for (int i = 0; i < p->n_instructions && done; i++) {
        const df_exec_instruction *s = &p->instructions[i];
        for (int k = 0; k < s->n_in; k++)
            if (df_exec_writes_input(p, s, k)) now.written[s->in[k]] = true;
    }
    for (int i = 0; i < p->n_instructions && done; i++) decide(&now, i);
    free(now.written);
    free(now.viewed);
    free(now.until);
    return done;
}
