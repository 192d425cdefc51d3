/* Live ranges of the buffers that a run allocates or releases (df_donation in program.h): a result
 * from its first writer on, an argument up to its last reader. Called by df_program_new. */
#include "exec/internal.h"

#include <stdlib.h>

/* Of an argument or result: its size, and the first and last instruction with a slot in it. */
typedef struct {
    int64_t bytes;
    int first, last;
} span;

static void extend(span *spans, const df_slot *slot, int64_t bytes, int i)
{
    span *s = &spans[slot->index];
    if (s->bytes == 0) s->first = i;
    s->bytes = df_max(s->bytes, slot->offset + bytes);
    s->last = i;
}

static int by_instruction(const void *a, const void *b)
{
    const df_live_point *x = a, *y = b;
    return x->instruction != y->instruction ? (x->instruction > y->instruction) * 2 - 1
                                            : (x->index > y->index) - (x->index < y->index);
}

/* Lists the program points of spans of at least `least` bytes, in order, and clears `simple` on
 * their instructions. */
static int list_live_points(df_program *p, const span *spans, int n, int64_t least, bool first,
                            df_live_point *to)
{
    int count = 0;
    for (int k = 0; k < n; k++) {
        if (spans[k].bytes < least) continue;
        int i = first ? spans[k].first : spans[k].last;
        to[count++] = (df_live_point){.instruction = i, .index = k, .bytes = spans[k].bytes};
        p->instructions[i].simple = false;
    }
    qsort(to, (size_t)count, sizeof *to, by_instruction);
    return count;
}

bool df_program_find_donations(df_program *p, int64_t least)
{
    for (int i = 0; i < p->n_instructions; i++) p->instructions[i].simple = true;
    if (least <= 0 || p->unsized || p->n_bodies) return true;
    span *spans = calloc((size_t)p->n_args + (size_t)p->n_results + 1, sizeof *spans);
    p->begins = calloc((size_t)p->n_results + 1, sizeof *p->begins);
    p->ends = calloc((size_t)p->n_args + 1, sizeof *p->ends);
    if (!spans || !p->begins || !p->ends) {
        free(spans);
        return false;
    }
    for (int i = 0; i < p->n_instructions; i++) {
        const df_exec_instruction *s = &p->instructions[i];
        for (int k = 0; k < s->n_in + s->n_out; k++) {
            const df_slot *slot = &p->slots[k < s->n_in ? s->in[k] : s->out[k - s->n_in]];
            const int64_t bytes = df_slot_bytes(slot);
            if (slot->kind == DF_SLOT_ARG) extend(spans, slot, bytes, i);
            if (slot->kind == DF_SLOT_RESULT) extend(spans + p->n_args, slot, bytes, i);
        }
    }
    p->n_ends = list_live_points(p, spans, p->n_args, least, false, p->ends);
    p->n_begins = list_live_points(p, spans + p->n_args, p->n_results, least, true, p->begins);
    free(spans);
    return true;
}

bool df_program_allocates_result(const df_program *p, int result)
{
    for (int k = 0; k < p->n_begins; k++)
        if (p->begins[k].index == result) return true;
    return false;
}
